//! Finishes what a killed ralph left in a worktree, before any other command looks at it: the folder that was to
//! follow a commit, layers that no one goes on with, and placeholders.
//!
//! Says nothing and starts no agent. An iteration that was interrupted is brought to its end by the next run.

use std::path::{Path, PathBuf};

use ralph_core::id::IterationId;

use super::LoopError;
use crate::{
    git::{GitEnvironment, Guard, Repo, is_following},
    identity,
    lock::{Lock, LockUse},
    process::{has_placeholders, sweep_placeholders},
    sandbox::sweep_homes,
    store::{DataDir, RepositoryId},
    workspace::{PLACEHOLDERS, has_leftover_layers, sweep_layers},
};

/// Deletes what is left of programs whose ralph was killed: their homes and containers, of whatever worktree.
pub fn tidy_programs(data_dir: &Path) {
    sweep_homes(data_dir);
}

/// A worktree that a command was started in.
#[derive(Debug, Clone)]
pub struct UntidyWorktree {
    root: PathBuf,
    data_dir: DataDir,
    state_dir: PathBuf,
    follows: bool,
    has_placeholders: bool,
}

impl UntidyWorktree {
    /// Looks whether anything is left in a worktree: cheap, as every command asks.
    pub fn find(root: &Path, data_dir: &DataDir) -> Option<Self> {
        let state_dir = data_dir
            .join("worktrees")
            .join(identity::worktree_name(root));
        let follows = is_following(&state_dir);
        let has_placeholders = has_placeholders(&state_dir.join(PLACEHOLDERS));
        let is_untidy = follows || has_placeholders || has_leftover_layers(data_dir, root, None);
        is_untidy.then(|| Self {
            root: root.to_owned(),
            data_dir: data_dir.clone(),
            state_dir,
            follows,
            has_placeholders,
        })
    }

    /// Finishes it, unless a loop works here: then it is that loop's.
    pub async fn tidy(&self, git_environment: &GitEnvironment) -> Result<(), LoopError> {
        if self.has_placeholders {
            sweep_placeholders(&self.state_dir.join(PLACEHOLDERS));
            if !self.follows && !has_leftover_layers(&self.data_dir, &self.root, None) {
                return Ok(());
            }
        }
        let unfinished = self.unfinished_iteration().await?;
        let unfinished = unfinished.as_ref();
        if !self.follows && !has_leftover_layers(&self.data_dir, &self.root, unfinished) {
            return Ok(());
        }
        let Ok(_lock) = Lock::acquire(&self.data_dir, &self.root, LockUse::Command) else {
            return Ok(());
        };
        // In the user's own folder an agent was at work: what it left is put back by the next run first.
        if self.follows && !Guard::is_in_force(&self.state_dir) {
            let repo = Repo::open(&self.root, &self.state_dir, git_environment).await?;
            repo.finish_following().await?;
        }
        sweep_layers(&self.data_dir, &self.root, unfinished);
        Ok(())
    }

    /// The iteration that the next run brings to its end.
    async fn unfinished_iteration(&self) -> Result<Option<IterationId>, LoopError> {
        let Some(id) = identity::known_id(&self.root) else {
            return Ok(None);
        };
        if !self.data_dir.has_journal() {
            return Ok(None);
        }
        let mut journal = self.data_dir.open_journal().await?;
        let worktree = self.root.to_string_lossy().into_owned();
        let repository = RepositoryId(id);
        let interrupted = journal.interrupted_loop(&repository, &worktree);
        let unfinished = match interrupted.await? {
            Some(row) => journal.unfinished_iteration(&row.id).await?,
            None => None,
        };
        journal.close().await?;
        Ok(unfinished.map(|iteration| iteration.start.id))
    }
}
