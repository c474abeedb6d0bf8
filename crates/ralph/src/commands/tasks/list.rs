//! `ralph tasks list`: one line a task.

use std::{path::PathBuf, process::ExitCode};

use ralph_core::{board::Board, sanitize::one_line, task::Status};
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

fn parse_status(text: &str) -> Result<Status, String> {
    let plain = text.to_ascii_lowercase().replace(['-', ' '], "_");
    Status::from_word(&plain).ok_or_else(|| format!("expected one of {}", Status::WORDS.join(", ")))
}

#[derive(Debug, Serialize)]
struct Listed<'a> {
    source: &'a str,
    /// Says for each file without the usual shape what was taken for its tasks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reading: Vec<String>,
    /// Things that were read by their nearest meaning, or not at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    tasks: Vec<TaskView<'a>>,
}

/// Warnings about the task files that are shown.
const MOST_WARNINGS: usize = 5;

/// Blockers that a line names.
const MOST_BLOCKERS: usize = 3;

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let (source, graph, problems) = project.source(args.source.as_deref(), "ralph tasks list")?;
    let board = project::block_on(async {
        let mut journal = project.journal().await?;
        board::read(project, journal.as_mut(), &source, graph, None).await
    })?;
    let mut places = Places::new(&source);
    let tasks: Vec<TaskView<'_>> = board
        .graph()
        .tasks()
        .iter()
        .map(|task| TaskView::new(task, &board, places.of(task.place)))
        .filter(|seen| !args.ready || seen.ready)
        .filter(|seen| {
            let counts_as = board.status(&seen.task.id).unwrap_or(seen.task.status);
            args.status.is_none_or(|wanted| wanted == counts_as)
        })
        .collect();
    let listed = Listed {
        source: source.name(),
        reading: source.readings(),
        warnings: source.warning_sentences().collect(),
        tasks,
    };
    output::show(args.json, &listed, || {
        let mut text = render(&listed.tasks, &board);
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
    if !problems.is_empty() {
        let many = problems.len();
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
