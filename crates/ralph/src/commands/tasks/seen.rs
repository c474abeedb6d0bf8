//! A task as `list` and `show` have it: what its file says, and what follows from the others.
//!
//! The JSON form is a contract (docs/json.md).

use ralph_core::{
    select::{Blocker, Plan},
    task::{Status, Task, graph::Graph},
};
use serde::Serialize;

use crate::view::{paint::Tone, places::Position};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Seen<'a> {
    #[serde(flatten)]
    pub(super) task: &'a Task,
    pub(super) kind: Kind,
    /// Where it stands among the others: a container by its leaves, a leaf by its containers.
    pub(super) standing: Standing,
    pub(super) ready: bool,
    pub(super) blocked_by: Vec<BlockedBy>,
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Leaf,
    Container,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Standing {
    Completed,
    Ready,
    Waiting,
    Blocked,
    Failed,
    Skipped,
}

#[derive(Debug, Serialize)]
pub(super) struct BlockedBy {
    id: String,
    pub(super) why: String,
}

impl<'a> Seen<'a> {
    pub(super) fn new(task: &'a Task, graph: &Graph, plan: &Plan, at: Position) -> Self {
        let is_leaf = graph.is_leaf(&task.id);
        let blockers = plan.blockers(&task.id);
        let status = plan.status(&task.id).unwrap_or(task.status);
        let ready = is_leaf && status.is_workable() && blockers.is_empty();
        Self {
            task,
            kind: if is_leaf { Kind::Leaf } else { Kind::Container },
            standing: Standing::new(status, &blockers),
            ready,
            blocked_by: blockers.iter().map(BlockedBy::new).collect(),
            file: at.file,
            line: at.line,
            column: at.column,
        }
    }

    /// What a person calls it: begun work is ready, and said to be begun.
    pub(super) fn word(&self) -> &'static str {
        match (self.standing, self.task.status) {
            (Standing::Ready, Status::InProgress) if self.kind == Kind::Leaf => "in progress",
            (standing, _) => standing.as_str(),
        }
    }
}

impl Standing {
    fn new(status: Status, blockers: &[Blocker]) -> Self {
        match status {
            Status::Completed => Self::Completed,
            Status::Blocked => Self::Blocked,
            Status::Failed => Self::Failed,
            Status::Skipped => Self::Skipped,
            Status::Open | Status::InProgress if blockers.is_empty() => Self::Ready,
            Status::Open | Status::InProgress => Self::Waiting,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
        }
    }

    pub(super) fn tone(self) -> Tone {
        match self {
            Self::Completed => Tone::Good,
            Self::Ready => Tone::Heading,
            Self::Waiting => Tone::Plain,
            Self::Blocked => Tone::Careful,
            Self::Failed => Tone::Bad,
            Self::Skipped => Tone::Faint,
        }
    }
}

impl BlockedBy {
    fn new(blocker: &Blocker) -> Self {
        Self {
            id: blocker.id.to_string(),
            why: blocker.to_string(),
        }
    }
}
