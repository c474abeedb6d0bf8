//! Reverts and squashes. Nothing that happened is taken out: an iteration keeps its record and is marked.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{id::IterationId, task::TaskId};
use serde::{Deserialize, Serialize};

use super::{RepositoryId, Result};

/// Reverts and squashes: the intent, and the end in one transaction.
#[async_trait]
pub trait RewriteStore: Send {
    /// Writes down a rewrite that is about to be done.
    async fn begin_rewrite(&mut self, new: &NewRewrite<'_>) -> Result<()>;

    /// Ends a rewrite that was done: marks its iterations, and resets the history of reopened tasks.
    async fn end_rewrite(
        &mut self,
        repository: &RepositoryId,
        row: &RewriteRow,
        at: Timestamp,
    ) -> Result<()>;

    /// Ends a rewrite that changed nothing.
    async fn give_up_rewrite(&mut self, id: &str, at: Timestamp) -> Result<()>;

    /// The rewrite that a crash left without an end.
    async fn unfinished_rewrite(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<RewriteRow>>;

    /// The rewrites of a repository that were done, oldest first.
    async fn rewrites(&mut self, repository: &RepositoryId) -> Result<Vec<RewriteRow>>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteKind {
    Revert,
    Squash,
}

impl RewriteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revert => "revert",
            Self::Squash => "squash",
        }
    }

    /// The ref that keeps what the branch held before.
    pub fn reference(self, id: &str) -> String {
        match self {
            Self::Revert => format!("refs/ralph/reverted/{id}"),
            Self::Squash => format!("refs/ralph/squashed/{id}"),
        }
    }
}

/// The content of a rewrite; enough to end it after a crash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RewriteBody {
    /// The ids of the iterations whose commits go.
    pub iterations: Vec<IterationId>,
    /// Their numbers, for people.
    pub numbers: Vec<u64>,
    pub reopened: Vec<ReopenedTask>,
}

/// A task that is open again, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReopenedTask {
    pub source: String,
    pub task_id: TaskId,
    pub title: String,
}

#[derive(Debug, Clone)]
pub struct NewRewrite<'a> {
    pub id: &'a str,
    pub repository: &'a RepositoryId,
    pub worktree: &'a str,
    pub kind: RewriteKind,
    pub branch: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub made: Option<&'a str>,
    pub body: &'a RewriteBody,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RewriteRow {
    pub id: String,
    pub kind: RewriteKind,
    pub branch: String,
    pub from: String,
    pub to: String,
    pub made: Option<String>,
    pub body: RewriteBody,
}

impl RewriteRow {
    pub fn reference(&self) -> String {
        self.kind.reference(&self.id)
    }
}
