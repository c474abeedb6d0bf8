//! Loops: begun, paused, ended, listed; their events that are kept, and notes of `ralph monitor` about them.
//!
//! Notes are only added. They say what was done to a process from outside, and decide what people are told twice
//! and how often a loop is started again, nothing else.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    dollars::Dollars,
    economics::KeptForecast,
    event::KeptEvent,
    id::{CheckpointId, LoopId},
    termination::Stop,
    verify::CleanResult,
};
use serde::Serialize;

use super::{RepositoryId, Result};

/// Loops: begun, paused, ended, listed, with the forecast of each.
#[async_trait]
pub trait LoopStore: Send {
    /// Writes down a loop that begins.
    async fn begin_loop(&mut self, new: &NewLoop<'_>) -> Result<()>;

    /// Keeps what the verify commands said before any work.
    async fn set_baseline(&mut self, loop_id: &LoopId, baseline: &str) -> Result<()>;

    /// Keeps what was found in a fresh clone of the commit that it landed last.
    async fn set_clean_check(&mut self, loop_id: &LoopId, found: &CleanResult) -> Result<()>;

    /// Replaces what is kept of the configuration of a loop.
    async fn set_config(&mut self, loop_id: &LoopId, config: &str) -> Result<()>;

    /// Marks a loop as paused, or as going on.
    async fn set_paused(&mut self, loop_id: &LoopId, since: Option<Timestamp>) -> Result<()>;

    /// Ends a loop, together with the checkpoint of its stop.
    async fn end_loop(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
        stop: &Stop,
        at: Timestamp,
        checkpoint: Option<&Moment>,
    ) -> Result<()>;

    /// The newest loop of this worktree, ended or not.
    async fn last_loop(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<LoopRow>>;

    /// The newest loop of this worktree, if it has no end: its process is gone.
    async fn interrupted_loop(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<LoopRow>> {
        Ok(self
            .last_loop(repository, worktree)
            .await?
            .filter(|l| l.ended_at.is_none()))
    }

    /// Tells whether any loop is in the journal, of whichever repository.
    async fn has_loops(&mut self) -> Result<bool>;

    /// The newest loops of a repository, newest first.
    async fn loops(&mut self, repository: &RepositoryId, most: u32) -> Result<Vec<ListedLoop>>;

    /// One loop, with what its iterations come to.
    async fn listed_loop(&mut self, id: &LoopId) -> Result<Option<ListedLoop>>;

    /// The loops of a source in this worktree, oldest first.
    async fn loops_of(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        source: &str,
    ) -> Result<Vec<LoopRow>>;

    /// The loops whose id begins with this text; at most two, which is one too many.
    async fn loops_like(&mut self, repository: &RepositoryId, prefix: &str)
    -> Result<Vec<LoopRow>>;

    /// The newest loop of each working tree where that has no end, of all repositories, oldest first.
    async fn open_loops(&mut self) -> Result<Vec<LoopRow>>;

    /// One loop, over or not.
    async fn any_loop(&mut self, id: &LoopId) -> Result<Option<LoopRow>>;

    /// The loops that worked on a branch, oldest first.
    async fn loops_on(&mut self, repository: &RepositoryId, branch: &str) -> Result<Vec<LoopRow>>;

    /// The loop before this one in the same working tree and at the same tasks.
    async fn loop_before(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Option<LoopId>>;

    /// Keeps the forecast of a loop.
    async fn keep_forecast(&mut self, loop_id: &LoopId, kept: &KeptForecast) -> Result<()>;

    /// The forecast that was kept for a loop.
    async fn forecast_of(&mut self, loop_id: &LoopId) -> Result<Option<KeptForecast>>;
}

/// A loop that is about to begin.
#[derive(Debug, Clone)]
pub struct NewLoop<'a> {
    pub id: &'a LoopId,
    pub repository: &'a RepositoryId,
    pub worktree: &'a str,
    pub source: &'a str,
    /// Its goal.
    pub goal: &'a str,
    pub branch: &'a str,
    pub base_commit: &'a str,
    pub agent: &'a str,
    pub config: &'a str,
    pub at: Timestamp,
}

/// A loop; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoopRow {
    pub id: LoopId,
    #[serde(skip)]
    pub repository_id: String,
    pub worktree: String,
    pub source: String,
    pub goal: String,
    pub branch: String,
    #[serde(skip)]
    pub base_commit: String,
    #[serde(skip)]
    pub agent: String,
    #[serde(skip)]
    pub config: String,
    #[serde(skip)]
    pub baseline: Option<String>,
    pub started_at: String,
    #[serde(skip)]
    pub ended_at: Option<String>,
    #[serde(skip)]
    pub stop: Option<String>,
    /// Since when it pauses.
    pub paused_at: Option<String>,
    #[serde(skip)]
    pub clean_check: Option<String>,
}

/// A loop as a list shows it, with what its iterations come to.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedLoop {
    pub id: LoopId,
    pub worktree: String,
    pub source: String,
    pub goal: String,
    pub branch: String,
    pub agent: String,
    pub iterations: u64,
    /// Those that landed and were not taken back since.
    pub verified: u64,
    /// The same of those that no command verified.
    pub unverified: u64,
    /// None as long as no agent told any.
    pub cost: Option<Dollars>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub stop: Option<String>,
    pub paused_at: Option<String>,
    /// The project's name and the parent or the one task, as `status.json` has them; empty for a loop of
    /// an older ralph, which did not keep them.
    pub project_id: String,
    pub task_id: String,
    pub last_checkpoint_id: Option<CheckpointId>,
}

/// Notes about loops by `ralph monitor`, and events of loops that are kept.
#[async_trait]
pub trait NoteStore: Send {
    /// Adds a note about a loop.
    async fn add_note(
        &mut self,
        of: &LoopRow,
        kind: NoteKind,
        sentence: &str,
        at: Timestamp,
    ) -> Result<()>;

    /// The newest note about a loop.
    async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>>;

    /// Counts the restarts of loops in a working tree since a moment.
    async fn restarts(&mut self, worktree: &str, since: Timestamp) -> Result<u32>;

    /// Keeps events of a loop, in their order.
    async fn keep_events(&mut self, loop_id: &LoopId, events: &[KeptEvent]) -> Result<()>;

    /// The newest events of a loop that were kept, oldest of them first.
    async fn kept_events(&mut self, loop_id: &LoopId, most: u32) -> Result<Vec<KeptEvent>>;

    /// The events of one of its iterations, oldest first.
    async fn iteration_events(&mut self, loop_id: &LoopId, n: u64) -> Result<Vec<KeptEvent>>;
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
