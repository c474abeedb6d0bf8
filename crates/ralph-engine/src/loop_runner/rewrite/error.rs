//! Why history is not rewritten, each by name and with a way out.

use ralph_core::id::CheckpointId;

use super::super::LoopError;
use crate::{
    git::{GitError, RepoProblem},
    lock::LockError,
    source::SourceError,
    store::JournalError,
};

#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    #[error("ralph has not run here yet")]
    NeverRan,
    #[error("there is no iteration {n}")]
    NoSuchIteration { n: u64 },
    #[error("iteration {n} landed nothing: {verdict}")]
    LandedNothing { n: u64, verdict: String },
    #[error("iteration {n} is reverted already; its commit is kept under {reference}")]
    AlreadyReverted { n: u64, reference: String },
    #[error("iteration {n} is part of the squash {commit} and can't be taken back by itself")]
    Squashed {
        n: u64,
        commit: String,
        reference: String,
    },
    #[error("iteration {n} landed on branch {branch}, but HEAD is on {found}")]
    OtherBranch {
        n: u64,
        branch: String,
        found: String,
    },
    #[error("the commit of iteration {n}, {commit}, is not on branch {branch} any more")]
    NotOnBranch {
        n: u64,
        commit: String,
        branch: String,
    },
    #[error("checkpoint {id} is of branch {branch}, but HEAD is on {found}")]
    CheckpointElsewhere {
        id: CheckpointId,
        branch: String,
        found: String,
    },
    #[error("the commit of checkpoint {id}, {commit}, is not in the history of {branch} any more")]
    CheckpointGone {
        id: CheckpointId,
        commit: String,
        branch: String,
    },
    #[error("iteration {n} has no end: ralph was killed in it")]
    Unfinished { n: u64 },
    #[error("the working tree has changes that are not committed: {}", paths.join(", "))]
    Dirty { paths: Vec<String> },
    #[error("commits that are not ralph's would go: {}", commits.join("; "))]
    OthersCommits { commits: Vec<String> },
    #[error("files that git does not know are in the way: {}", paths.join(", "))]
    InTheWay { paths: Vec<String> },
    #[error("branch {branch} has no commit of ralph's")]
    NothingOfRalphs { branch: String },
    #[error("commits that are not ralph's lie between ralph's: {}", commits.join("; "))]
    InBetween { commits: Vec<String> },
    #[error("a commit after ralph's is a merge or signed, and can't be carried over: {commit}")]
    CantCarry { commit: String },
    #[error("the squashed tree {found} is not the one of the branch, {expected}")]
    OtherTree { expected: String, found: String },
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Repository(#[from] RepoProblem),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Source(#[from] SourceError),
    /// What a killed loop left could not be put back.
    #[error(transparent)]
    Leftover(Box<LoopError>),
}

impl From<LoopError> for RewriteError {
    fn from(error: LoopError) -> Self {
        Self::Leftover(Box::new(error))
    }
}

impl RewriteError {
    /// A way out, where there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NeverRan => Some("`ralph run` starts the loop".into()),
            Self::NoSuchIteration { .. } | Self::LandedNothing { .. } => {
                Some("`ralph logs --list` shows the iterations and what landed".into())
            }
            Self::AlreadyReverted { reference, .. } => {
                Some(format!("`git log {reference}` shows what was dropped"))
            }
            Self::Squashed { reference, .. } => Some(format!(
                "`git revert` undoes the whole squash; the single commits are kept under {reference}"
            )),
            Self::OtherBranch { branch, .. } | Self::CheckpointElsewhere { branch, .. } => {
                Some(format!("`git switch {branch}` first"))
            }
            Self::NotOnBranch { .. } => Some(
                "it was rebased, amended or reset away; `git revert` undoes what is there".into(),
            ),
            Self::CheckpointGone { commit, .. } => Some(format!(
                "it was reverted, squashed, rebased or reset away; `git switch --detach {commit}` shows it as long as a ref keeps it"
            )),
            Self::Unfinished { .. } => Some("`ralph run --once` brings it to its end first".into()),
            Self::Dirty { .. } => Some("commit it, or put it aside with `git stash`".into()),
            Self::OthersCommits { .. } => {
                Some("`--force` drops them too; all stay reachable by a ref".into())
            }
            Self::InTheWay { .. } => Some("move them away, or remove them".into()),
            Self::InBetween { .. } => {
                Some("put them before or after ralph's with `git rebase -i`".into())
            }
            Self::CantCarry { .. } => Some("squash before it, or without it".into()),
            Self::Lock(LockError::Held { .. }) => {
                Some("`ralph stop` ends the loop that runs there; then ask again".into())
            }
            Self::Git(error) => error.hint(),
            Self::Repository(problem) => problem.hint(),
            Self::NothingOfRalphs { .. }
            | Self::OtherTree { .. }
            | Self::Lock(LockError::Io { .. })
            | Self::Journal(_)
            | Self::Source(_)
            | Self::Leftover(_) => None,
        }
    }

    /// Returns whether ralph itself failed, rather than refused.
    pub fn is_internal(&self) -> bool {
        matches!(
            self,
            Self::OtherTree { .. } | Self::Lock(LockError::Io { .. }) | Self::Journal(_)
        )
    }
}
