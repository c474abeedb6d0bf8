//! Describes what a loop looks like from outside: by its process, its `health.json` and the journal.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::health::HealthReport;

/// Describes what was seen of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sight {
    /// It works, and looks after its agent by itself.
    Well,
    /// The same, and it asks a person what to do about its agent.
    Asking,
    /// Its process lives and shows no sign of life.
    Hangs,
    /// Its process is gone, and the journal has no end of it.
    Gone,
    /// The journal says that it is over.
    Ended,
}

impl Sight {
    pub const ALL: [Self; 5] = [
        Self::Well,
        Self::Asking,
        Self::Hangs,
        Self::Gone,
        Self::Ended,
    ];
}

named! {
    /// The state of the process of a loop.
    pub enum ProcessState {
        Alive = "alive",
        /// It is there, and shows no sign of life.
        Hangs = "hangs",
        Gone = "gone",
    }
}

/// Returns how a process that is there does, by when it wrote last. One that has not written yet has only
/// begun.
pub fn process_state(
    report: Option<&HealthReport>,
    hang_after: Duration,
    now: Timestamp,
) -> ProcessState {
    let Some(report) = report else {
        return ProcessState::Alive;
    };
    let patience = SignedDuration::try_from(hang_after).unwrap_or(SignedDuration::MAX);
    let is_silent = now.duration_since(report.written_at) > patience;
    let may_be = report.quiet_until.is_some_and(|until| now <= until);
    if is_silent && !may_be {
        ProcessState::Hangs
    } else {
        ProcessState::Alive
    }
}

/// Returns what a loop that is not over looks like.
pub fn sight(process: ProcessState, report: Option<&HealthReport>) -> Sight {
    let asks = report.is_some_and(|report| report.answer_until.is_some());
    match (process, asks) {
        (ProcessState::Gone, _) => Sight::Gone,
        (ProcessState::Hangs, _) => Sight::Hangs,
        (ProcessState::Alive, true) => Sight::Asking,
        (ProcessState::Alive, false) => Sight::Well,
    }
}
