//! A task as `list` and `show` have it: what its file says, and what follows from the others.
//!
//! The JSON form is a contract (docs/json.md).

use ralph_core::{
    board::{Blocker, Board, TaskState},
    task::{Status, Task},
};
use serde::Serialize;

use crate::view::{Tone, places::Position};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskView<'a> {
    #[serde(flatten)]
    pub(super) task: &'a Task,
    pub(super) kind: Kind,
    /// Its state among the others: a container's by its leaves, a leaf's by its containers.
    #[serde(rename = "standing")]
    pub(super) state: TaskState,
    pub(super) ready: bool,
    pub(super) blocked_by: Vec<BlockedBy>,
    #[serde(flatten)]
    pub(super) at: Position,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    Leaf,
    Container,
}

#[derive(Debug, Serialize)]
pub(crate) struct BlockedBy {
    id: String,
    pub(super) why: String,
}

impl<'a> TaskView<'a> {
    pub(super) fn new(task: &'a Task, board: &Board, at: Position) -> Self {
        let is_leaf = board.graph().is_leaf(&task.id);
        let blockers = board.blockers(&task.id);
        let state = board.state(&task.id).unwrap_or(TaskState::Waiting);
        Self {
            task,
            kind: if is_leaf { Kind::Leaf } else { Kind::Container },
            state,
            ready: is_leaf && state == TaskState::Ready,
            blocked_by: blockers.iter().map(BlockedBy::new).collect(),
            at,
        }
    }

    /// What a person calls it: begun work is ready, and said to be begun.
    pub(super) fn word(&self) -> &'static str {
        match (self.state, self.task.status) {
            (TaskState::Ready, Status::InProgress) if self.kind == Kind::Leaf => "in progress",
            (state, _) => state.as_str(),
        }
    }
}

pub(super) fn tone(state: TaskState) -> Tone {
    match state {
        TaskState::Completed => Tone::Good,
        TaskState::Ready => Tone::Heading,
        TaskState::Waiting => Tone::Plain,
        TaskState::Asking | TaskState::Blocked => Tone::Careful,
        TaskState::Failed => Tone::Bad,
        TaskState::Skipped => Tone::Faint,
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
