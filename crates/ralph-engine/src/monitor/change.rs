//! The changes that a look made, for those who read along.

use jiff::Timestamp;
use ralph_core::{id::LoopId, notification::Occasion};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// A loop was seen for the first time.
    Watching,
    /// A loop asks a person what to do about its agent.
    NeedsPerson,
    /// A loop hangs, and was asked.
    Hangs,
    /// A person is told that it hangs.
    Escalated,
    /// It was told to end.
    Terminating,
    /// It did not, and was killed.
    Killed,
    /// It is dead, with all that it had started.
    Terminated,
    /// Its process is gone, for an unknown reason.
    Gone,
    Restarted,
    /// It works again.
    Recovered,
    /// It is over, as the journal says.
    Ended,
}

impl ChangeKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Watching => "watching",
            Self::NeedsPerson => "needs_person",
            Self::Hangs => "hangs",
            Self::Escalated => "escalated",
            Self::Terminating => "terminating",
            Self::Killed => "killed",
            Self::Terminated => "terminated",
            Self::Gone => "gone",
            Self::Restarted => "restarted",
            Self::Recovered => "recovered",
            Self::Ended => "ended",
        }
    }
}
