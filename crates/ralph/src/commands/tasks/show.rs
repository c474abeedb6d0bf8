//! `ralph tasks show ID`: all that a task's file, the others and the journal say of it.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    board::{Board, TaskHistory},
    sanitize::{one_line, terminal_safe},
    task::{Task, TaskId, graph::Graph},
};
use ralph_engine::{source::Source, store::IterationRow};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::view::{Kind, TaskView};
use crate::{
    board,
    commands::logs::verdict,
    error::CommandError,
    output,
    project::{self, Project},
    view::{
        Table, Tone, cell,
        figures::{ago_text, short_commit},
        paint,
        places::Places,
    },
};

/// Iterations that are shown of a task.
const MOST_ITERATIONS: u32 = 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The id of the task
    id: String,

    /// The task file or folder; without it, the one chosen before, or found
    source: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

/// A task with its surroundings; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Whole<'a> {
    #[serde(flatten)]
    view: TaskView<'a>,
    children: Vec<String>,
    dependants: Vec<String>,
    history: History,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct History {
    /// Charged attempts since the task was opened.
    attempts: u32,
    last_verdict: Option<String>,
    question: Option<String>,
    blocked: Option<String>,
    kept_ref: Option<String>,
    #[serde(serialize_with = "past")]
    iterations: Vec<IterationRow>,
}

/// Serializes the iterations of one task.
fn past<S: Serializer>(rows: &[IterationRow], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(rows.iter().map(|row| {
        json!({
            "iteration": row.n, "attempt": row.attempt, "startedAt": row.started_at,
            "endedAt": row.ended_at, "verdict": row.verdict, "outcome": row.outcome,
            "resultCommit": row.result_commit, "reverted": row.reverted,
        })
    }))
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let found = FoundTask::read(project, args.source.as_deref(), &args.id);
    let found = project::block_on(found)?;
    let whole = found.whole()?;
    output::show(args.json, &whole, || render(&whole))
}

/// One task among the others.
pub(crate) struct FoundTask {
    source: Source,
    board: Board,
    id: TaskId,
    iterations: Vec<IterationRow>,
}

impl FoundTask {
    pub(crate) async fn read(
        project: &Project,
        named: Option<&Path>,
        id: &str,
    ) -> Result<Self, CommandError> {
        let (source, graph, _) = project.source(named, "ralph tasks show ID")?;
        let id = find(&graph, &source, id)?.id.clone();
        let mut journal = project.journal().await?;
        let board = board::read(project, journal.as_mut(), &source, graph, None).await?;
        let iterations = match &mut journal {
            Some((journal, repository)) => {
                journal
                    .iterations_at(repository, source.name(), id.as_str(), MOST_ITERATIONS)
                    .await?
            }
            None => Vec::new(),
        };
        Ok(Self {
            source,
            board,
            id,
            iterations,
        })
    }

    pub(crate) fn whole(&self) -> Result<Whole<'_>, CommandError> {
        let graph = self.board.graph();
        let task = find(graph, &self.source, self.id.as_str())?;
        let at = Places::new(&self.source).of(task.place);
        let ids =
            |tasks: &mut dyn Iterator<Item = &Task>| tasks.map(|t| t.id.to_string()).collect();
        Ok(Whole {
            view: TaskView::new(task, &self.board, at),
            children: ids(&mut graph.children(&task.id)),
            dependants: ids(&mut graph.dependants(&task.id)),
            history: History::new(self.board.history(&task.id), self.iterations.clone()),
        })
    }
}

impl History {
    fn new(history: Option<&TaskHistory>, iterations: Vec<IterationRow>) -> Self {
        let history = history.cloned().unwrap_or_default();
        Self {
            attempts: history.attempts,
            last_verdict: history.last_verdict,
            question: history.question,
            blocked: history.blocked,
            kept_ref: history.kept_ref,
            iterations,
        }
    }
}

fn find<'g>(graph: &'g Graph, source: &Source, id: &str) -> Result<&'g Task, CommandError> {
    let found = TaskId::parse(id).ok().and_then(|id| graph.get(&id));
    found.ok_or_else(|| {
        let message = format!(
            "there is no task {} in {}",
            one_line(id, 120),
            source.name()
        );
        let hint = match graph.did_you_mean(id) {
            Some(near) => format!("did you mean {near}?"),
            None => "`ralph tasks list` shows all of them".to_owned(),
        };
        CommandError::user(message).hint(hint)
    })
}

fn render(whole: &Whole<'_>) -> String {
    let view = &whole.view;
    let task = view.task;
    let mut text = format!(
        "{} {}\n",
        paint(Tone::Name, task.id.as_str()),
        paint(Tone::Heading, &one_line(&task.text.title, 500))
    );
    text.push_str(&fields(whole).render(output::width()));
    if !task.text.description.trim().is_empty() {
        text.push('\n');
        let description = terminal_safe(task.text.description.trim()).into_owned();
        description
            .lines()
            .for_each(|line| text.push_str(&format!("{line}\n")));
    }
    list(&mut text, "acceptance", &task.text.acceptance);
    let verify: Vec<String> = task.verify.iter().map(ToString::to_string).collect();
    list(&mut text, "verify", &verify);
    list(&mut text, "files", &task.text.files);
    let blockers: Vec<String> = view.blocked_by.iter().map(|b| b.why.clone()).collect();
    list(&mut text, "blocked by", &blockers);
    if let Some(notes) = task.text.notes.as_deref().filter(|n| !n.trim().is_empty()) {
        let lines: Vec<String> = notes.lines().map(str::to_owned).collect();
        list(&mut text, "notes", &lines);
    }
    text.push_str(&render_history(&whole.history));
    text
}

fn fields(whole: &Whole<'_>) -> Table {
    let view = &whole.view;
    let task = view.task;
    let ids = |ids: &[TaskId]| {
        let ids: Vec<&str> = ids.iter().map(TaskId::as_str).collect();
        ids.join(", ")
    };
    let status = match view.kind {
        Kind::Leaf => format!("{} ({})", task.status, view.word()),
        Kind::Container => format!("container, {}", view.state.as_str()),
    };
    let number = |n: Option<i64>| n.map_or_else(String::new, |n| n.to_string());
    let attempts = match task.attempts.max {
        Some(max) => format!("{} of {max}", whole.history.attempts),
        None if whole.history.attempts > 0 => whole.history.attempts.to_string(),
        None => String::new(),
    };
    let time = |at: Option<jiff::Timestamp>| at.map_or_else(String::new, |at| at.to_string());
    let rows = [
        ("status", status),
        ("place", view.at.to_string()),
        ("priority", number(task.priority)),
        (
            "parent",
            task.links
                .parent_id
                .as_ref()
                .map_or_else(String::new, TaskId::to_string),
        ),
        ("depends on", ids(&task.links.depends_on)),
        ("needed by", whole.dependants.join(", ")),
        ("contains", whole.children.join(", ")),
        ("labels", task.labels.join(", ")),
        ("area", task.area.clone().unwrap_or_default()),
        ("attempts", attempts),
        ("created", time(task.created_at)),
        ("updated", time(task.updated_at)),
    ];
    let mut table = Table::new(1, 0);
    for (name, value) in rows {
        if !value.is_empty() {
            table.row([cell(Tone::Faint, name), cell(Tone::Plain, value)]);
        }
    }
    table
}

fn list(text: &mut String, name: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    text.push_str(&format!("\n{}\n", paint(Tone::Faint, name)));
    for line in lines {
        text.push_str(&format!("  - {}\n", one_line(line, usize::MAX)));
    }
}

fn render_history(history: &History) -> String {
    let mut text = String::new();
    if let Some(question) = &history.question {
        list(
            &mut text,
            "question for a person",
            std::slice::from_ref(question),
        );
    }
    if let Some(blocked) = &history.blocked {
        list(&mut text, "blocked", std::slice::from_ref(blocked));
    }
    if history.iterations.is_empty() {
        return text;
    }
    let now = Project::now();
    let mut table = Table::new(2, 2);
    for past in &history.iterations {
        table.row([
            cell(Tone::Plain, format!("iteration {}", past.n)),
            cell(Tone::Plain, format!("attempt {}", past.attempt)),
            cell(Tone::Plain, verdict(past)),
            cell(
                Tone::Faint,
                past.result_commit.as_deref().map_or("", short_commit),
            ),
            cell(Tone::Faint, ago_text(&past.started_at, now)),
        ]);
    }
    text.push_str(&format!("\n{}\n", paint(Tone::Faint, "history")));
    text.push_str(&table.render(output::width()));
    text
}
