//! The repository before an agent that was to read only, and the changes that the agent made.
//!
//! Looks at tracked files, at those that git neither tracks nor ignores, at HEAD and at the git
//! folder. Puts back only where nothing of a person's can be lost by it: where no tracked file had
//! uncommitted changes.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
};

use crate::{
    git::{GitError, Guard, Repo, ResetSpec, Status, Tampered},
    plain_file::FileStamp,
};

/// The changes of an agent, and whether they are undone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// As a person names them, in order.
    pub what: Vec<String>,
    pub remains: Remains,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Remains {
    /// All is as it was.
    #[default]
    Nothing,
    /// Something is not, because a person's work would be at stake.
    Something,
}

pub(super) struct Before {
    status: Status,
    guard: Guard,
    /// Files that git could not give back.
    stamps: BTreeMap<PathBuf, Option<FileStamp>>,
}

impl Before {
    pub(super) async fn look(repo: &Repo) -> Result<Self, GitError> {
        let status = repo.status().await?;
        let guard = Guard::take(repo)?;
        let stamps = uncommitted(&status)
            .map(|path| (path.to_owned(), stamp(repo.root(), path)))
            .collect();
        Ok(Self {
            status,
            guard,
            stamps,
        })
    }

    /// Looks again, and puts back what can be.
    pub(super) async fn compare(self, repo: &Repo) -> Result<Changes, GitError> {
        let tampered = self.guard.restore_changed()?;
        let named = |tampered: &Tampered| tampered.path.display().to_string();
        let mut what: Vec<String> = tampered.iter().map(named).collect();
        let now = repo.status().await?;
        let paths = self.changed_paths(repo.root(), &now);
        let moved = now.head != self.status.head;
        if moved {
            what.push(format!("commits on top of {}", self.status.head.short()));
        }
        what.extend(paths.iter().map(|path| path.display().to_string()));
        let remains = if paths.is_empty() && !moved {
            Remains::Nothing
        } else {
            self.put_back(repo, &paths).await?
        };
        self.guard.release()?;
        Ok(Changes { what, remains })
    }

    /// Paths that are not as they were.
    fn changed_paths(&self, root: &Path, now: &Status) -> BTreeSet<PathBuf> {
        let before: HashSet<&Path> = uncommitted(&self.status).collect();
        let new = uncommitted(now).filter(|path| !before.contains(path));
        let mut changed: BTreeSet<PathBuf> = new.map(Path::to_owned).collect();
        let touched = self
            .stamps
            .iter()
            .filter(|(path, was)| stamp(root, path) != **was);
        changed.extend(touched.map(|(path, _)| path.clone()));
        changed
    }

    async fn put_back(&self, repo: &Repo, paths: &BTreeSet<PathBuf>) -> Result<Remains, GitError> {
        // What was not committed, git can't give back, and resetting could lose it.
        let at_stake = !self.status.changed.is_empty()
            || paths.iter().any(|path| self.stamps.contains_key(path));
        let Some(branch) = self.status.branch.as_deref().filter(|_| !at_stake) else {
            return Ok(Remains::Something);
        };
        let keep: HashSet<PathBuf> = self.status.untracked.iter().cloned().collect();
        let spec = ResetSpec {
            branch,
            base: &self.status.head,
            keep_untracked: &keep,
            own_paths: &[],
        };
        repo.reset_to(&spec).await?;
        Ok(Remains::Nothing)
    }
}

/// Tracked paths that differ from HEAD, and those that git neither tracks nor ignores.
fn uncommitted(status: &Status) -> impl Iterator<Item = &Path> {
    let changed = status.changed.iter().map(|entry| entry.path.as_path());
    changed.chain(status.untracked.iter().map(PathBuf::as_path))
}

fn stamp(root: &Path, path: &Path) -> Option<FileStamp> {
    let found = std::fs::symlink_metadata(root.join(path)).ok()?;
    Some(FileStamp::new(&found))
}
