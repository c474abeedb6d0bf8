//! `ralph tasks list`: one line a task.

use std::{path::PathBuf, process::ExitCode};

use ralph_core::{
    select::Plan,
    task::{Status, graph::Graph},
};
use serde::Serialize;

use super::seen::{Kind, Seen};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    view::{
        paint::Tone,
        places::Places,
        table::{Table, cell},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the only one there is
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
    let found = Status::ALL.into_iter().find(|s| s.as_str() == plain);
    found.ok_or_else(|| {
        let words: Vec<&str> = Status::ALL.iter().map(|s| s.as_str()).collect();
        format!("expected one of {}", words.join(", "))
    })
}

#[derive(Debug, Serialize)]
struct Listed<'a> {
    source: &'a str,
    tasks: Vec<Seen<'a>>,
}

/// Blockers that a line names.
const MOST_BLOCKERS: usize = 3;

pub(super) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let (source, graph, problems) = project.source(args.source.as_deref())?;
    let plan = Plan::of_all(&graph);
    let mut places = Places::new(&source);
    let tasks: Vec<Seen<'_>> = graph
        .tasks()
        .iter()
        .map(|task| Seen::new(task, &graph, &plan, places.of(task.place)))
        .filter(|seen| !args.ready || seen.ready)
        .filter(|seen| {
            let counts_as = plan.status(&seen.task.id).unwrap_or(seen.task.status);
            args.status.is_none_or(|wanted| wanted == counts_as)
        })
        .collect();
    if args.json {
        output::print_json(&Listed {
            source: source.name(),
            tasks,
        })?;
    } else {
        output::print(&render(&tasks, &graph, &plan));
    }
    if !problems.is_empty() {
        let many = problems.len();
        output::print_warning(&format!(
            "{many} of the links between tasks can't be followed; `ralph lint` lists them"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn render(tasks: &[Seen<'_>], graph: &Graph, plan: &Plan) -> String {
    if tasks.is_empty() {
        return "no tasks\n".to_owned();
    }
    let mut table = Table::new(2, 0);
    for seen in tasks {
        let (state, title) = match seen.kind {
            Kind::Leaf => (seen.word().to_owned(), seen.task.text.title.clone()),
            Kind::Container => {
                let title = format!("{} {}", seen.task.text.title, progress(seen, graph, plan));
                ("container".to_owned(), title)
            }
        };
        let tone = match seen.kind {
            Kind::Leaf => seen.standing.tone(),
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

/// How many leaves of a container are completed.
fn progress(seen: &Seen<'_>, graph: &Graph, plan: &Plan) -> String {
    let leaves = graph
        .descendants(&seen.task.id)
        .filter(|task| graph.is_leaf(&task.id));
    let (mut done, mut all) = (0, 0);
    for leaf in leaves {
        all += 1;
        done += usize::from(plan.status(&leaf.id) == Some(Status::Completed));
    }
    format!("({done}/{all})")
}

fn why(seen: &Seen<'_>) -> String {
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
