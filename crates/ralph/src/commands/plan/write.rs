//! Writes the tasks of a plan, and names the one that they are below.

use ralph_core::{
    plan::Surrounding,
    task::{TaskId, format::Format},
};
use ralph_engine::source::{Source, write_atomically};

use super::{Args, Proposal, Wish};
use crate::{
    commands::import::Target,
    error::CommandError,
    output,
    project::Project,
    view::{Tone, paint},
};
use std::path::Path;

/// The tasks that the new file would stand beside: those of the folder that it goes into, without
/// the file that it would replace.
pub(super) fn surrounding(project: &Project, args: &Args) -> Result<Surrounding, CommandError> {
    let configured_verify = !project.config().verification.commands.is_empty();
    let folder = project.root().join(&project.config().tasks.path);
    let named = args.output.as_ref();
    let named = named.map(|path| project.surroundings.start.join(path));
    let goes_there = named
        .as_ref()
        .is_none_or(|path| path.parent() == Some(&folder));
    let mut tasks = Vec::new();
    if args.to == Format::Native && goes_there && folder.is_dir() {
        let read = Source::read(&folder, project.root()).map_err(|error| {
            CommandError::user(error)
                .hint("the new tasks would stand beside these: correct them first")
        })?;
        let (source, all) = read;
        let replaced = source
            .files()
            .iter()
            .position(|file| Some(&file.path) == named.as_ref());
        tasks = all;
        tasks.retain(|task| Some(task.place.file as usize) != replaced);
    }
    Ok(Surrounding {
        tasks,
        configured_verify,
    })
}

/// The task that all others are below, where the format has one.
pub(super) fn parent(proposal: &Proposal) -> Option<&TaskId> {
    let parents = proposal.checked.tasks.iter();
    parents
        .filter_map(|task| task.links.parent_id.as_ref())
        .next()
}

pub(super) fn write(wish: &Wish<'_>, path: &Path, proposal: &Proposal) -> Result<(), CommandError> {
    let project = wish.project;
    Target::write(project, path, &proposal.checked.text, wish.overwrite)?;
    let shown = project.shown(path);
    say(wish, "wrote", &shown);
    let is_native = wish.args.to == Format::Native;
    if is_native {
        write_parent(wish, proposal)?;
    }
    if !wish.args.json {
        // In the folder they may wait for tasks of its other files.
        let source = if is_native && wish.args.output.is_none() {
            project.config().tasks.path.display().to_string()
        } else {
            shown
        };
        output::print(&format!("\n`ralph run {source}` works on them\n"));
    }
    Ok(())
}

/// `.ralph/parent-task-id`, unless it names another task and nobody said that it may be changed.
fn write_parent(wish: &Wish<'_>, proposal: &Proposal) -> Result<(), CommandError> {
    let project = wish.project;
    let Some(parent) = parent(proposal) else {
        return Ok(());
    };
    let file = project.parent_file();
    let was = std::fs::read_to_string(&file).unwrap_or_default();
    let was = was.trim();
    let shown = project.shown(&file);
    if !was.is_empty() && was != parent.as_str() && !wish.args.force {
        output::print_warning(&format!(
            "{shown} names {was} and is kept; `ralph init --parent {parent}` makes the new tasks the ones to work on"
        ));
        return Ok(());
    }
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)
            .map_err(|error| CommandError::user(format!("can't make {shown}: {error}")))?;
    }
    write_atomically(&file, format!("{parent}\n").as_bytes()).map_err(CommandError::user)?;
    say(wish, "wrote", &format!("{shown}  {parent}"));
    Ok(())
}

fn say(wish: &Wish<'_>, done: &str, what: &str) {
    if !wish.args.json {
        output::print(&format!("{}  {what}\n", paint(Tone::Good, done)));
    }
}
