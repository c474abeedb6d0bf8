//! Lists what runs that were killed left in a worktree, for a person who asks. Changes nothing, but for what the
//! person tells it to accept.
//!
//! Most of it is finished by the next run, and is only named here.

use std::path::{Path, PathBuf};

use ralph_core::id::IterationId;

use super::LoopError;
use crate::{
    atomic,
    git::{Guard, is_following},
    identity,
    lock::{Lock, LockUse},
    store::{DataDir, RepositoryId},
    workspace::has_leftover_layers,
};

/// Something that a run left that was killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Leftover {
    /// A snapshot of the git folder that is not of the one that is there, or can't be read.
    StaleGuard { path: PathBuf, why: String },
    /// A snapshot of the git folder: the next run puts back what was changed in it.
    Guard,
    /// The folder has not followed a commit that landed.
    Following,
    /// Layers that no run goes on with.
    Layers,
    /// An iteration without an end.
    Iteration { number: u64, task: String },
    /// A revert or a squash without an end.
    Rewrite { kind: &'static str },
    /// Half of a file that was being written.
    Half(PathBuf),
    /// A lock of git, of a process that may be gone.
    GitLock(PathBuf),
}

/// A worktree whose leftovers are looked for.
#[derive(Debug, Clone)]
pub struct WorktreeLook {
    pub root: PathBuf,
    pub data_dir: DataDir,
}

impl WorktreeLook {
    fn state_dir(&self) -> PathBuf {
        let name = identity::worktree_name(&self.root);
        self.data_dir.join("worktrees").join(name)
    }

    /// Lists what is left; nothing where a loop runs, as it is that loop's.
    pub async fn leftovers(&self) -> Result<Vec<Leftover>, LoopError> {
        if Lock::is_held(&self.data_dir, &self.root) {
            return Ok(Vec::new());
        }
        let mut found: Vec<Leftover> = self.guard().into_iter().collect();
        if is_following(&self.state_dir()) {
            found.push(Leftover::Following);
        }
        let (of_journal, iteration) = self.unfinished().await?;
        found.extend(of_journal);
        if has_leftover_layers(&self.data_dir, &self.root, iteration.as_ref()) {
            found.push(Leftover::Layers);
        }
        found.extend(self.halves().into_iter().map(Leftover::Half));
        found.extend(self.git_locks().into_iter().map(Leftover::GitLock));
        Ok(found)
    }

    fn guard(&self) -> Option<Leftover> {
        let state_dir = self.state_dir();
        let stale = |why: String| Leftover::StaleGuard {
            path: state_dir.clone(),
            why,
        };
        match Guard::load(&state_dir) {
            Ok(None) => None,
            Ok(Some(guard)) => Some(match guard.compare_places() {
                Ok(()) => Leftover::Guard,
                Err(error) => stale(error.to_string()),
            }),
            Err(error) => Some(stale(error.to_string())),
        }
    }

    async fn unfinished(&self) -> Result<(Vec<Leftover>, Option<IterationId>), LoopError> {
        let mut found = Vec::new();
        let Some(id) = identity::known_id(&self.root) else {
            return Ok((found, None));
        };
        if !self.data_dir.has_journal() {
            return Ok((found, None));
        }
        let repository = RepositoryId(id);
        let worktree = self.root.to_string_lossy().into_owned();
        let mut journal = self.data_dir.open_journal().await?;
        let interrupted = journal.interrupted_loop(&repository, &worktree).await?;
        let unfinished = match interrupted {
            Some(row) => journal.unfinished_iteration(&row.id).await?,
            None => None,
        };
        if let Some(iteration) = &unfinished {
            found.push(Leftover::Iteration {
                number: iteration.n,
                task: iteration.start.task.to_string(),
            });
        }
        let rewrite = journal.unfinished_rewrite(&repository, &worktree).await?;
        found.extend(rewrite.map(|row| Leftover::Rewrite {
            kind: row.kind.as_str(),
        }));
        journal.close().await?;
        Ok((found, unfinished.map(|iteration| iteration.start.id)))
    }

    /// The folders that ralph writes files of a person's or of its own into.
    fn folders(&self) -> [PathBuf; 3] {
        let ralph = self.root.join(".ralph");
        [self.root.clone(), ralph.join("tasks"), ralph]
    }

    fn halves(&self) -> Vec<PathBuf> {
        let folders = self.folders();
        folders
            .iter()
            .flat_map(|folder| atomic::left(folder))
            .collect()
    }

    fn git_locks(&self) -> Vec<PathBuf> {
        let Some(common) = identity::common_dir_of(&self.root) else {
            return Vec::new();
        };
        let names = ["index.lock", "HEAD.lock", "config.lock", "packed-refs.lock"];
        let paths = names.map(|name| common.join(name));
        paths.into_iter().filter(|path| path.exists()).collect()
    }

    /// Accepts the git folder that is there, where a snapshot is of another one, and takes halves of files away.
    /// Returns what was done, in sentences.
    pub fn fix(&self) -> Result<Vec<String>, LoopError> {
        let _lock = Lock::acquire(&self.data_dir, &self.root, LockUse::Command)?;
        let mut done = Vec::new();
        if let Some(Leftover::StaleGuard { path, .. }) = self.guard()
            && Guard::set_aside(&path)?
        {
            done.push(format!(
                "the git folder that is there is taken as the right one; the snapshot of the other is kept in {}",
                path.display()
            ));
        }
        for half in self.halves() {
            remove_half(&half)?;
            done.push(format!("{} is removed", half.display()));
        }
        Ok(done)
    }
}

fn remove_half(path: &Path) -> Result<(), LoopError> {
    std::fs::remove_file(path).map_err(|e| crate::error::file_error("remove", path, e))
}
