//! Whether a repository is in a state that ralph may work in; if not, which and what to do.
//!
//! Touches nothing but stale lock files.

use std::fmt;
use std::path::Path;

use super::lock::clear_stale;
use super::refs::{HeadFile, branch_ref, lock_of, read_branch, read_head};
use super::{GitError, Oid, Repo};

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub oid: Oid,
    pub branch: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RepoProblem {
    #[error("a {0} is in progress in this repository")]
    InProgress(Operation),
    #[error("branch {branch} has no commit yet")]
    UnbornHead { branch: String },
    #[error("HEAD is detached at {oid}, so there is no branch to work on")]
    DetachedHead { oid: Oid },
    #[error("git does not know who commits: {reason}")]
    NoIdentity { reason: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RepoProblem {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::InProgress(operation) => Some(operation.way_out().to_owned()),
            Self::UnbornHead { .. } => Some(
                "make a first commit: `git add -A && git commit -m start`, or `git commit \
                 --allow-empty -m start`"
                    .into(),
            ),
            Self::DetachedHead { .. } => Some("switch to a branch: `git switch <branch>`".into()),
            Self::NoIdentity { .. } => Some(
                "say it with `git config --global user.name \"Your Name\"` and `git config --global \
                 user.email you@example.com`"
                    .into(),
            ),
            Self::Git(error) => error.hint(),
        }
    }
}

/// Something that git has begun and a person has to finish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    Merge,
    Rebase,
    CherryPick,
    Revert,
    Bisect,
    ApplyMail,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
            Self::ApplyMail => "mail being applied (git am)",
        })
    }
}

impl Operation {
    fn way_out(self) -> &'static str {
        match self {
            Self::Merge => "finish it, or give it up with `git merge --abort`",
            Self::Rebase => "finish it, or give it up with `git rebase --abort`",
            Self::CherryPick => "finish it, or give it up with `git cherry-pick --abort`",
            Self::Revert => "finish it, or give it up with `git revert --abort`",
            Self::Bisect => "finish it with `git bisect reset`",
            Self::ApplyMail => "finish it, or give it up with `git am --abort`",
        }
    }
}

/// What git leaves in its folder while an operation is in progress; the first that is there names it.
const MARKERS: &[(&str, Operation)] = &[
    ("rebase-merge", Operation::Rebase),
    ("rebase-apply/applying", Operation::ApplyMail),
    ("rebase-apply", Operation::Rebase),
    ("MERGE_HEAD", Operation::Merge),
    ("CHERRY_PICK_HEAD", Operation::CherryPick),
    ("REVERT_HEAD", Operation::Revert),
    ("BISECT_LOG", Operation::Bisect),
    ("sequencer", Operation::CherryPick),
];

pub(super) fn operation_in(git_dir: &Path) -> Option<Operation> {
    MARKERS
        .iter()
        .find(|(marker, _)| git_dir.join(marker).exists())
        .map(|(_, operation)| *operation)
}

impl Repo {
    pub async fn preflight(&self) -> Result<Head, RepoProblem> {
        if let Some(operation) = operation_in(&self.git_dir) {
            return Err(RepoProblem::InProgress(operation));
        }
        let branch = match read_head(&self.git_dir)? {
            HeadFile::Branch(branch) => branch,
            HeadFile::Detached(oid) => return Err(RepoProblem::DetachedHead { oid }),
            HeadFile::Other(answer) => {
                return Err(GitError::Unexpected {
                    command: "read HEAD".into(),
                    answer,
                }
                .into());
            }
        };
        self.clear_locks(&branch).await?;
        let oid =
            read_branch(&self.common_dir, &branch)?.ok_or_else(|| RepoProblem::UnbornHead {
                branch: branch.clone(),
            })?;
        self.identity().await.map_err(|error| match error {
            GitError::NoIdentity { reason } => RepoProblem::NoIdentity { reason },
            other => RepoProblem::Git(other),
        })?;
        Ok(Head { oid, branch })
    }

    async fn clear_locks(&self, branch: &str) -> Result<(), GitError> {
        let locked = [
            self.real_index(),
            self.git_dir.join("HEAD"),
            self.common_dir.join(branch_ref(branch)),
            self.common_dir.join("packed-refs"),
        ];
        for path in locked {
            clear_stale(&lock_of(&path), &self.folders()).await?;
        }
        Ok(())
    }
}
