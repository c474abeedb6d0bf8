//! `ralph init`: sets a project up: ralph.yaml, `.ralph/`, the parent task. Checks the tasks first.
//! With a name, it makes the brief of an artefacts project instead.
//!
//! Exit 2 means that nothing was written. Never overwrites a ralph.yaml without being told to; a
//! second time it changes nothing.

mod artefacts;
mod parent;
mod prd;
mod write;

use std::{path::PathBuf, process::ExitCode};

use ralph_core::{
    board::Board,
    sanitize::terminal_safe,
    task::{
        TaskId,
        graph::{Graph, Problem},
    },
};
use ralph_engine::{
    settings::ProjectKind,
    source::{FindError, Source},
};

use crate::{
    error::CommandError,
    output,
    project::{Project, SourceUse},
    view::{Table, Tone, cell, figures::count, paint, places::Places},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Create the brief of a project with this name instead: .artefacts/NAME/spec.md
    #[arg(conflicts_with_all = ["parent", "search", "tasks", "prd", "force"])]
    name: Option<String>,

    /// Work only on the tasks below this one
    #[arg(long, value_name = "ID", conflicts_with = "search")]
    parent: Option<String>,

    /// Like --parent, for the task with this text in its title or description
    #[arg(long, value_name = "TERM")]
    search: Option<String>,

    /// The task file or folder to write into ralph.yaml
    #[arg(long, value_name = "SOURCE")]
    tasks: Option<PathBuf>,

    /// Write a PROMPT.md with instructions for every story, and a sample PRD.json if there are no tasks
    #[arg(long)]
    prd: bool,

    /// Overwrite an existing ralph.yaml
    #[arg(long)]
    force: bool,
}

/// The tasks of the project, read and without a fault.
struct Checked {
    source: Source,
    graph: Graph,
    parent: Option<TaskId>,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    if let Some(name) = &args.name {
        return artefacts::make(project, name);
    }
    if project.kind() == ProjectKind::Folder {
        let message = format!("{} is not in a git repository", project.root().display());
        return Err(CommandError::user(message).hint("run `git init` to create one"));
    }
    let mut checked = check(project, args)?;
    if args.prd {
        prd::refuse_others(checked.as_ref())?;
    }
    let tasks = checked.as_ref().map(|checked| &checked.source);
    write::config(project, args, tasks)?;
    write::folder(project)?;
    if args.prd {
        if checked.is_none() {
            prd::backlog(project)?;
            checked = check(project, args)?;
        }
        prd::instructions(project, checked.as_ref())?;
    }
    if let Some(checked) = &checked {
        if let Some(parent) = &checked.parent {
            let title = checked
                .graph
                .get(parent)
                .map(|task| task.text.title.as_str());
            write::parent(project, parent, title.unwrap_or_default())?;
        }
        return tell(project, checked);
    }
    output::print(&terminal_safe(&no_tasks(project)));
    Ok(ExitCode::SUCCESS)
}

/// Says how there will be tasks, by what is there.
fn no_tasks(project: &Project) -> String {
    let first = "`ralph tasks add TITLE` adds the first one";
    match project.find_source(None) {
        Err(error @ FindError::Offered { .. }) => {
            format!("\n{error}\n{}\n", error.hint("ralph run"))
        }
        Err(error @ FindError::Prose { .. }) => {
            format!("\n{error}; {first}, and {}\n", error.hint("ralph run"))
        }
        Ok(_)
        | Err(
            FindError::Nothing { .. }
            | FindError::NotThere { .. }
            | FindError::MadeByAgents { .. }
            | FindError::Several { .. }
            | FindError::Unreadable(_),
        ) => format!("\nno tasks yet; {first}\n"),
    }
}

/// Reads the tasks and finds the parent. `None`: there are no tasks, and none were asked for.
fn check(project: &Project, args: &Args) -> Result<Option<Checked>, CommandError> {
    let asked = args.parent.is_some() || args.search.is_some();
    let named = args.tasks.as_deref();
    let path = match project.find_source_or_none(named, "ralph init --tasks")? {
        Some(path) => path,
        None if !asked => return Ok(None),
        // Says that there is none, and what to do.
        None => project.source_path(named, SourceUse::Work("ralph init --tasks"))?,
    };
    let (source, graph, problems) = project.read_source(&path)?;
    if !problems.is_empty() {
        return Err(wrong(&source, &problems));
    }
    let parent = match (&args.parent, &args.search) {
        (Some(id), _) => Some(parent::by_id(&graph, &source, id)?),
        (None, Some(term)) => Some(parent::by_text(&graph, &source, term)?),
        (None, None) => project.scope(&graph)?.parent().cloned(),
    };
    Ok(Some(Checked {
        source,
        graph,
        parent,
    }))
}

fn wrong(source: &Source, problems: &[Problem]) -> CommandError {
    let mut places = Places::new(source);
    let lines: Vec<String> = problems
        .iter()
        .map(|problem| format!("  {}: {problem}", places.of(problem.place())))
        .collect();
    let many = count(problems.len(), "link between tasks", "links between tasks");
    let message = format!("{many} can't be followed:\n{}", lines.join("\n"));
    CommandError::user(message).hint("nothing was written; `ralph lint` says more")
}

/// Says what there is to do now. Exit 4: work is left, and none of it is ready.
fn tell(project: &Project, checked: &Checked) -> Result<ExitCode, CommandError> {
    let Checked {
        source,
        graph,
        parent,
    } = checked;
    let board = Board::new(graph.clone(), parent.as_ref())?;
    let counts = board.counts();
    let below = parent
        .as_ref()
        .map_or_else(String::new, |id| format!(" below {id}"));
    let tasks = count(counts.total, "task", "tasks");
    let mut text = format!("\n{tasks} in {}{below}, ", source.name());
    let next = board.next().and_then(|id| graph.get(id));
    let code = match next {
        Some(next) => {
            let (id, title) = (&next.id, &next.text.title);
            let first = format!(
                "{} ready; `ralph run` begins with {id}: {title}\n",
                counts.ready
            );
            text.push_str(&terminal_safe(&first));
            ExitCode::SUCCESS
        }
        None if board.all_complete() => {
            text.push_str("all complete\n");
            ExitCode::SUCCESS
        }
        None => {
            text.push_str(&paint(Tone::Careful, "none of them ready"));
            text.push_str(":\n");
            let mut table = Table::new(1, 2);
            for stuck in board.stuck() {
                table.row([
                    cell(Tone::Name, stuck.id.as_str()),
                    cell(Tone::Plain, stuck.by.join("; ")),
                ]);
            }
            text.push_str(&table.render(output::width()));
            ExitCode::from(4)
        }
    };
    output::print(&text);
    for note in &project.settings.resolved.not_in_force {
        output::print_warning(&note.to_string());
    }
    Ok(code)
}
