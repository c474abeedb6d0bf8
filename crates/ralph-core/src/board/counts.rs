//! The states of tasks, and how many tasks are in which.

use serde::Serialize;

use super::resolve::Resolution;
use crate::task::Status;

named! {
    /// The state of a task among the others, in the words of people and of JSON.
    pub enum TaskState {
        /// It can be taken now.
        Ready = "ready",
        /// It could be, but a person has to answer a question first.
        Asking = "question",
        /// Something that it depends on is not complete.
        Waiting = "waiting",
        Blocked = "blocked",
        Failed = "failed",
        Completed = "completed",
        Skipped = "skipped",
    }
}

/// Leaves in scope by state. Each is in exactly one of `completed`, `ready`, `asking`, `waiting`,
/// `blocked`, `failed` and `skipped`; `in_progress` says how many of the ready, asking and waiting
/// ones were begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub total: usize,
    pub completed: usize,
    pub ready: usize,
    /// They would be ready but for a question that is open.
    pub asking: usize,
    pub waiting: usize,
    pub blocked: usize,
    pub failed: usize,
    pub skipped: usize,
    pub in_progress: usize,
}

impl Counts {
    pub(super) fn add(&mut self, leaf: Resolution, is_asking: bool) {
        self.total += 1;
        self.in_progress += usize::from(leaf.status == Status::InProgress);
        let slot = match leaf.status {
            Status::Completed => &mut self.completed,
            Status::Blocked => &mut self.blocked,
            Status::Failed => &mut self.failed,
            Status::Skipped => &mut self.skipped,
            Status::Open | Status::InProgress if leaf.waits => &mut self.waiting,
            Status::Open | Status::InProgress if is_asking => &mut self.asking,
            Status::Open | Status::InProgress => &mut self.ready,
        };
        *slot += 1;
    }
}
