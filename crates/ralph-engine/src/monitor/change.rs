//! The changes that a look made, for those who read along.

use jiff::Timestamp;
use ralph_core::{id::LoopId, named, notification::Occasion};
use serde::Serialize;

/// One line of `ralph monitor`; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    pub event: ChangeKind,
    pub loop_id: LoopId,
    pub worktree: String,
    pub pid: Option<u32>,
    /// One sentence.
    pub sentence: String,
    /// The hint for a person.
    pub hint: Option<String>,
    pub at: Timestamp,
    /// As what a person who is away is told of it.
    #[serde(skip)]
    pub tell: Option<Occasion>,
    /// The errors of what could not be done or noted.
    #[serde(skip)]
    pub trouble: Option<String>,
}

named! {
    pub enum ChangeKind {
        /// A loop was seen for the first time.
        Watching = "watching",
        /// A loop asks a person what to do about its agent.
        NeedsPerson = "needs_person",
        /// A loop hangs, and was asked.
        Hangs = "hangs",
        /// A person is told that it hangs.
        Escalated = "escalated",
        /// It was told to end.
        Terminating = "terminating",
        /// It did not, and was killed.
        Killed = "killed",
        /// It is dead, with all that it had started.
        Terminated = "terminated",
        /// Its process is gone, for an unknown reason.
        Gone = "gone",
        Restarted = "restarted",
        /// It works again.
        Recovered = "recovered",
        /// It is over, as the journal says.
        Ended = "ended",
    }
}
