//! Checks what runs that were killed left in this worktree, and repairs what no run does by itself.

use ralph_engine::loop_runner::{Leftover, WorktreeLook};

use super::Check;
use crate::{
    commands::run::explain,
    error::CommandError,
    project::{Project, block_on},
};

const NAME: &str = "leftovers";

pub(super) fn checks(project: &Project) -> Vec<Check> {
    let Ok(look) = worktree(project) else {
        return Vec::new();
    };
    let found = block_on(async { look.leftovers().await.map_err(explain) });
    match found {
        Ok(found) if found.is_empty() => {
            vec![Check::ok(NAME, "nothing is left of runs that were killed")]
        }
        Ok(found) => found.iter().map(|one| judge(one, project)).collect(),
        Err(error) => vec![Check::problem(NAME, error.sentences().join(": "))],
    }
}

/// Repairs what can be, and says what was done.
pub(super) fn fix(project: &Project) -> Result<Vec<Check>, CommandError> {
    let done = worktree(project)?.fix().map_err(explain)?;
    Ok(done
        .into_iter()
        .map(|sentence| Check::note("fixed", sentence))
        .collect())
}

fn worktree(project: &Project) -> Result<WorktreeLook, CommandError> {
    Ok(WorktreeLook {
        root: project.git_root()?,
        data_dir: project.data_dir()?,
    })
}

fn judge(one: &Leftover, project: &Project) -> Check {
    let next_run = "the next `ralph run` brings it to its end";
    match one {
        Leftover::StaleGuard { path, why } => Check::problem(
            NAME,
            format!("the snapshot of the git folder in {} does not fit: {why}", path.display()),
        )
        .hint("put the right git folder back; if the one that is there is right, `ralph doctor --fix` accepts it"),
        Leftover::Guard => Check::note(NAME, "a run in your own folder was killed")
            .hint("the next `ralph run` puts back what was changed in the git folder"),
        Leftover::Following => Check::warning(NAME, "your folder has not followed a commit that landed")
            .hint("another git program may hold the index; any ralph command tries again"),
        Leftover::Layers => Check::warning(NAME, "there are layers of runs that were killed")
            .hint("any ralph command removes them once nothing uses them"),
        Leftover::Iteration { number, task } => {
            Check::note(NAME, format!("iteration {number} at {task} was interrupted")).hint(next_run)
        }
        Leftover::Rewrite { kind } => {
            Check::note(NAME, format!("a {kind} was interrupted")).hint(next_run)
        }
        Leftover::Half(path) => Check::warning(
            NAME,
            format!("{} is half of a file that was being written", project.shown(path)),
        )
        .hint("`ralph doctor --fix` removes it; so does the next `ralph run`"),
        Leftover::GitLock(path) => Check::warning(NAME, format!("{} is there", project.shown(path)))
            .hint("if no git program runs here, one was killed: remove the file"),
    }
}
