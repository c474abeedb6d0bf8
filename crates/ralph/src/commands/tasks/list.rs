//! `ralph tasks list`: one line a task.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    board::Board,
    sanitize::one_line,
    task::{Status, graph::Problem},
};
use ralph_engine::source::Source;
use serde::Serialize;

use super::view::{self, Kind, TaskView};
use crate::{
    board,
    error::CommandError,
    output,
    project::{self, Project},
    view::{Table, Tone, cell, paint, places::Places},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the one chosen before, or found
    source: Option<PathBuf>,

    /// Only tasks whose status is this
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    status: Option<Status>,

    /// Only tasks that could be started now
    #[arg(long)]
    ready: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn parse_status(text: &str) -> Result<Status, String> {
    let plain = text.to_ascii_lowercase().replace(['-', ' '], "_");
    Status::from_word(&plain).ok_or_else(|| format!("expected one of {}", Status::WORDS.join(", ")))
}

/// Which tasks to list.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TaskFilter {
    pub(crate) status: Option<Status>,
    pub(crate) ready: bool,
}

/// The tasks of a source, with where each stands.
pub(crate) struct TaskList {
    source: Source,
    board: Board,
    problems: Vec<Problem>,
}

/// The tasks that are listed; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct Listed<'a> {
    source: &'a str,
    /// Says for each file without the usual shape what was taken for its tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
    /// Things that were read by their nearest meaning, or not at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    pub(crate) tasks: Vec<TaskView<'a>>,
}

/// Warnings about the task files that are shown.
const MOST_WARNINGS: usize = 5;

/// Blockers that a line names.
const MOST_BLOCKERS: usize = 3;

impl TaskList {
    pub(crate) async fn read(
        project: &Project,
        named: Option<&Path>,
    ) -> Result<Self, CommandError> {
        let (source, graph, problems) = project.source(named, "ralph tasks list")?;
        let mut journal = project.journal().await?;
        let board = board::read(project, journal.as_mut(), &source, graph, None).await?;
        Ok(Self {
            source,
            board,
            problems,
        })
    }

    pub(crate) fn listed(&self, filter: TaskFilter) -> Listed<'_> {
        let Self { source, board, .. } = self;
        let mut places = Places::new(source);
        let tasks = board.graph().tasks().iter();
        let tasks = tasks
            .map(|task| TaskView::new(task, board, places.of(task.place)))
            .filter(|seen| !filter.ready || seen.ready)
            .filter(|seen| {
                let counts_as = board.status(&seen.task.id).unwrap_or(seen.task.status);
                filter.status.is_none_or(|wanted| wanted == counts_as)
            });
        Listed {
            source: source.name(),
            reading: source.readings(),
            warnings: source.warning_sentences().collect(),
            tasks: tasks.collect(),
        }
    }
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let list = project::block_on(TaskList::read(project, args.source.as_deref()))?;
    let listed = list.listed(TaskFilter {
        status: args.status,
        ready: args.ready,
    });
    output::show(args.json, &listed, || {
        let mut text = render(&listed.tasks, &list.board);
        for reading in &listed.reading {
            let reading = paint(Tone::Faint, &one_line(reading, usize::MAX));
            text.push_str(&format!("{reading}\n"));
        }
        text
    })?;
    if !args.json {
        for warning in listed.warnings.iter().take(MOST_WARNINGS) {
            output::print_warning(&one_line(warning, usize::MAX));
        }
        let more = listed.warnings.len().saturating_sub(MOST_WARNINGS);
        if more > 0 {
            output::print_warning(&format!("{more} more; `ralph lint` lists them"));
        }
    }
    if !list.problems.is_empty() {
        let many = list.problems.len();
        output::print_warning(&format!(
            "{many} of the links between tasks can't be followed; `ralph lint` lists them"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(tasks: &[TaskView<'_>], board: &Board) -> String {
    if tasks.is_empty() {
        return "no tasks\n".to_owned();
    }
    let mut table = Table::new(2, 0);
    for seen in tasks {
        let (state, title) = match seen.kind {
            Kind::Leaf => (seen.word().to_owned(), seen.task.text.title.clone()),
            Kind::Container => {
                let below = board.counts_below(&seen.task.id);
                let (title, done) = (&seen.task.text.title, below.completed);
                (
                    "container".to_owned(),
                    format!("{title} ({done}/{})", below.total),
                )
            }
        };
        let tone = match seen.kind {
            Kind::Leaf => view::tone(seen.state),
            Kind::Container => Tone::Faint,
        };
        table.row([
            cell(Tone::Name, seen.task.id.as_str()),
            cell(tone, state),
            cell(Tone::Plain, title),
            cell(Tone::Faint, why(seen)),
        ]);
    }
    table.render(output::width())
}

fn why(seen: &TaskView<'_>) -> String {
    // The word beside it says already what a task is by itself.
    let itself = format!("it is {}", seen.task.status);
    let others = seen.blocked_by.iter().filter(|b| b.why != itself);
    let mut words: Vec<&str> = others.map(|b| b.why.as_str()).collect();
    let more = words.len().saturating_sub(MOST_BLOCKERS);
    words.truncate(MOST_BLOCKERS);
    let mut text = words.join("; ");
    if more > 0 {
        text.push_str(&format!("; {more} more"));
    }
    text
}
