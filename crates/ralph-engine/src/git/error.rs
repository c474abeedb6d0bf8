//! What can go wrong between ralph and git.
//!
//! Names the command, the path or the branch; holds no outcome that a loop expects, such as a moved
//! branch while landing.

use std::io;
use std::path::{Path, PathBuf};

use super::{LockOwner, Oid};
use crate::disk_fault::DiskFault;

#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("no git program found on the PATH")]
    NoGit,
    #[error("{} is not in a git repository", path.display())]
    NotARepository { path: PathBuf },
    #[error("{} is a bare repository, without files to work on", path.display())]
    Bare { path: PathBuf },
    #[error("the repository uses {what}, which ralph does not support yet")]
    Unsupported { what: String },
    #[error("{} was replaced: {found}", path.display())]
    ReplacedGitDir { path: PathBuf, found: String },
    #[error("could not start `{command}`: {source}")]
    Start { command: String, source: io::Error },
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        command: String,
        status: String,
        stderr: String,
    },
    #[error("`{command}` did not end within {seconds} s and was stopped")]
    TimedOut { command: String, seconds: u64 },
    #[error("`{command}` answered something unexpected: {answer}")]
    Unexpected { command: String, answer: String },
    #[error("could not {what} {}: {source}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is locked by {owner}", path.display())]
    Locked { path: PathBuf, owner: LockOwner },
    #[error("'{name}' cannot be the name of a branch or ref")]
    BadRefName { name: String },
    #[error("branch {branch} is checked out in another worktree, {}", worktree.display())]
    BranchElsewhere { branch: String, worktree: PathBuf },
    #[error(
        "can't switch to branch {branch}: what is not committed would be overwritten: {}",
        paths.join(", ")
    )]
    InTheWay { branch: String, paths: Vec<String> },
    #[error("{name} moved while ralph worked on it: expected {expected}, found {found}")]
    RefMoved {
        name: String,
        expected: String,
        found: String,
    },
    #[error("git does not know who commits: {reason}")]
    NoIdentity { reason: String },
    #[error("HEAD has no commit yet")]
    NoCommit,
    #[error("the stash {0} is gone")]
    StashGone(Oid),
}

impl GitError {
    /// Tells whether files that an agent wrote can be the reason: without them it does not come again. A disk that
    /// is full or fails is no reason to throw an agent's work away.
    pub(crate) fn is_of_files(&self) -> bool {
        if DiskFault::of(self).is_some() {
            return false;
        }
        match self {
            Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Unexpected { .. }
            | Self::Io { .. } => true,
            Self::NoGit
            | Self::NotARepository { .. }
            | Self::Bare { .. }
            | Self::Unsupported { .. }
            | Self::ReplacedGitDir { .. }
            | Self::Start { .. }
            | Self::Locked { .. }
            | Self::BadRefName { .. }
            | Self::BranchElsewhere { .. }
            | Self::InTheWay { .. }
            | Self::RefMoved { .. }
            | Self::NoIdentity { .. }
            | Self::NoCommit
            | Self::StashGone(_) => false,
        }
    }

    /// A way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoGit => Some("install git, or put it on the PATH".into()),
            Self::NotARepository { path } => {
                Some(format!("make one with `git init {}`", path.display()))
            }
            Self::Bare { .. } => Some("run ralph in a clone or a worktree of it".into()),
            Self::ReplacedGitDir { .. } => {
                Some(
                    "look at what replaced it and put the original back; if the one that is there is right, \
                     `ralph doctor --fix` accepts it"
                        .into(),
                )
            }
            Self::Locked { path, .. } => Some(format!(
                "wait for it to end, or remove {} if nothing uses it",
                path.display()
            )),
            Self::BranchElsewhere { .. } => {
                Some("run ralph there, or work on another branch with `--branch NAME`".into())
            }
            Self::InTheWay { branch, .. } => Some(format!(
                "commit it, put it aside (`git stash -u`) or move it away; `git switch {branch}` goes there; \
                 `--branch NAME` works on another branch"
            )),
            Self::NoCommit => Some("make a first commit".into()),
            Self::Failed { stderr, .. } if stderr.contains("dubious ownership") => Some(
                "the repository belongs to another user: see `git help config`, safe.directory"
                    .into(),
            ),
            Self::Unsupported { .. }
            | Self::Start { .. }
            | Self::Failed { .. }
            | Self::TimedOut { .. }
            | Self::Unexpected { .. }
            | Self::Io { .. }
            | Self::BadRefName { .. }
            | Self::RefMoved { .. }
            | Self::NoIdentity { .. }
            | Self::StashGone(_) => None,
        }
    }

    pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}
