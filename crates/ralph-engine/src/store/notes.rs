//! Notes of `ralph monitor` about loops.
//!
//! Notes are only added. They say what was done to a process from outside, and decide what people are told twice
//! and how often a loop is started again, nothing else.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::id::LoopId;
use serde::Serialize;

use super::{OpenLoop, Result};

/// Notes about loops by `ralph monitor`.
#[async_trait]
pub trait NoteStore: Send {
    /// Adds a note about a loop.
    async fn add_note(
        &mut self,
        of: &OpenLoop,
        kind: NoteKind,
        sentence: &str,
        at: Timestamp,
    ) -> Result<()>;

    /// The newest note about a loop.
    async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>>;

    /// Counts the restarts of loops in a working tree since a moment.
    async fn restarts(&mut self, worktree: &str, since: Timestamp) -> Result<u32>;
}

/// The kind of a note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Asked,
    Escalated,
    Terminating,
    Killed,
    Terminated,
    Gone,
    Restarted,
    GivenUp,
    Recovered,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Escalated => "escalated",
            Self::Terminating => "terminating",
            Self::Killed => "killed",
            Self::Terminated => "terminated",
            Self::Gone => "gone",
            Self::Restarted => "restarted",
            Self::GivenUp => "given_up",
            Self::Recovered => "recovered",
        }
    }
}

/// A note as it was written; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoopNote {
    pub kind: String,
    pub sentence: String,
    pub at: String,
}
