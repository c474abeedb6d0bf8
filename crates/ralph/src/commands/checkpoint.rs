//! `ralph checkpoint`: points of a loop that are kept in the journal, each hashed and chained to the
//! one before it.

pub(crate) mod create;
pub(crate) mod list;
mod restore;
mod show;
mod verify;

use ralph_core::checkpoint::{Checkpoint, Link, continuation};
use ralph_engine::store::{CheckpointFilter, Journal, LoopRow, RepositoryId};
use serde::Serialize;

use crate::{commands::logs::nothing_yet, error::CommandError, project::Project};

subcommands! {
    CheckpointCommand {
        /// Create a checkpoint of the loop now, even while it runs
        Create(create::Args => run; writes),
        /// List checkpoints, newest first
        List(list::Args => run in project; reads),
        /// Show a checkpoint and the prompt that a new agent would get
        Show(show::Args => run in project; reads),
        /// Verify the hash chain of a loop's checkpoints and report damage
        Verify(verify::Args => run in project; reads),
        /// Reset the branch to a checkpoint's commit; tasks completed since then are reopened
        Restore(restore::Args => run in project; writes),
    }
}

/// A checkpoint with its hash and its prompt; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct ShownCheckpoint {
    checkpoint: Checkpoint,
    hash: String,
    continuation: String,
}

impl ShownCheckpoint {
    fn new(checkpoint: Checkpoint, hash: String) -> Self {
        Self {
            continuation: continuation(&checkpoint),
            checkpoint,
            hash,
        }
    }
}

/// The journal of a project in which ralph ran.
async fn journal(project: &Project) -> Result<(Box<dyn Journal>, RepositoryId), CommandError> {
    let journal = project.journal().await?;
    journal.ok_or_else(|| nothing_yet(project))
}

/// The loop that was named by the beginning of its id, else the newest of this working tree.
async fn find_loop(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    named: Option<&str>,
) -> Result<LoopRow, CommandError> {
    let Some(prefix) = named else {
        let last = journal.last_loop(repository, &project.worktree()).await?;
        return last.ok_or_else(|| nothing_yet(project));
    };
    let found = journal.loops_like(repository, prefix).await?;
    only(found, || {
        let hint = "`ralph checkpoint list --all` lists the loops";
        let none = CommandError::user(format!("there is no loop {prefix:?}")).hint(hint);
        (none, format!("more than one loop begins with {prefix:?}"))
    })
}

/// The only one that was found; else the error for none, or the sentence for several.
fn only<T>(
    mut found: Vec<T>,
    errors: impl FnOnce() -> (CommandError, String),
) -> Result<T, CommandError> {
    match (found.pop(), found.is_empty()) {
        (Some(one), true) => Ok(one),
        (Some(_), false) => {
            Err(CommandError::user(errors().1).hint("use more characters of the id"))
        }
        (None, _) => Err(errors().0),
    }
}

/// The checkpoint that was named by the beginning or the end of its id, else the newest of the
/// newest loop.
async fn find(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    named: Option<&str>,
) -> Result<Link, CommandError> {
    let Some(part) = named else {
        let row = find_loop(project, journal, repository, None).await?;
        let newest = journal
            .checkpoints(repository, CheckpointFilter::Loop(&row.id), 1)
            .await?
            .pop();
        return newest.ok_or_else(|| {
            CommandError::user(format!("loop {} has no checkpoint", row.id))
                .hint("`ralph checkpoint create` makes one")
        });
    };
    let found = journal.checkpoints_like(repository, part).await?;
    only(found, || {
        let hint = "`ralph checkpoint list --all` lists them";
        let none = CommandError::user(format!("there is no checkpoint {part:?}")).hint(hint);
        (
            none,
            format!("more than one checkpoint begins or ends with {part:?}"),
        )
    })
}

/// The checkpoint of a row, unless it is damaged.
fn read(link: &Link) -> Result<Checkpoint, CommandError> {
    link.read().map_err(|damage| {
        CommandError::internal(damage)
            .hint("`ralph checkpoint verify` checks all checkpoints of its loop")
    })
}
