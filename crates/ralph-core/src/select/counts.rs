//! How many tasks stand how. Adds up only; what a task counts as is decided in `standing`.

use serde::Serialize;

use crate::task::Status;

/// Leaves in scope by where they stand. Each is in exactly one of `completed`, `ready`, `waiting`,
/// `blocked`, `failed` and `skipped`; `in_progress` says how many of the ready and waiting ones
/// somebody has begun.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub total: usize,
    pub completed: usize,
    pub ready: usize,
    pub waiting: usize,
    pub blocked: usize,
    pub failed: usize,
    pub skipped: usize,
    pub in_progress: usize,
}

impl Counts {
    pub(super) fn add(&mut self, seen: Seen) {
        self.total += 1;
        *self.slot(seen) += 1;
        if seen.status == Status::InProgress {
            self.in_progress += 1;
        }
    }

    pub(super) fn remove(&mut self, seen: Seen) {
        self.total -= 1;
        *self.slot(seen) -= 1;
        if seen.status == Status::InProgress {
            self.in_progress -= 1;
        }
    }

    fn slot(&mut self, seen: Seen) -> &mut usize {
        match (seen.status, seen.gate) {
            (Status::Completed, _) => &mut self.completed,
            (Status::Blocked, _) => &mut self.blocked,
            (Status::Failed, _) => &mut self.failed,
            (Status::Skipped, _) => &mut self.skipped,
            (Status::Open | Status::InProgress, Gate::Open) => &mut self.ready,
            (Status::Open | Status::InProgress, Gate::Closed) => &mut self.waiting,
        }
    }
}

/// What a leaf is counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) status: Status,
    pub(super) gate: Gate,
}

impl Seen {
    pub(super) fn is_ready(self) -> bool {
        self.status.is_workable() && self.gate == Gate::Open
    }
}

/// Whether all that a task waits for is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gate {
    Open,
    Closed,
}
