//! Refuses commands that speak for a person where an agent, or what it started, gives them.

use std::path::PathBuf;

use ralph_engine::{
    inside_run::{CommandPlace, InsideRun},
    settings::{Surroundings, find_project},
};

use crate::{
    cli::Global,
    error::CommandError,
    project::{Project, data_dir_of},
};

/// Fails inside a run of the data folder in force, or of a loop in this worktree. `words` names the command.
pub(crate) fn refuse(words: &str, global: &Global) -> Result<(), CommandError> {
    match sign(global)? {
        None => Ok(()),
        Some(why) => {
            let message = format!("`ralph {words}` is refused inside a run: {why}");
            Err(CommandError::user(message).hint(
                "only people can change what ralph does; an agent asks by <escalate>, suggests tasks in its closing \
                 block, and can read (`ralph status`, `ralph tasks list`)",
            ))
        }
    }
}

/// The sign by which this process is known to be inside a run, in words. Opens nothing but the settings.
pub(crate) fn sign(global: &Global) -> Result<Option<String>, CommandError> {
    let surroundings = global.surroundings()?;
    let data_dir = data_dir_of(&surroundings);
    let worktree = worktree(global, &surroundings);
    let place = CommandPlace {
        data_dir: data_dir.as_deref(),
        worktree: worktree.as_deref(),
    };
    Ok(place.inside_run().map(|inside| match inside {
        InsideRun::Kept => "an agent or a verify command of ralph's started it".to_owned(),
        InsideRun::BelowLoop { pid } => format!("the loop of process {pid} started it"),
        InsideRun::ReadOnlyData { path } => {
            format!("{} is read-only here, as in every run", path.display())
        }
        InsideRun::Hidden => {
            "the processes that started it can't be seen from here (/proc shows them)".to_owned()
        }
    }))
}

fn worktree(global: &Global, surroundings: &Surroundings) -> Option<PathBuf> {
    let opened = Project::look(global, Vec::new());
    let root = opened.map(|project| project.root().to_owned()).ok();
    root.or_else(|| Some(find_project(&surroundings.start).ok()?.root))
}
