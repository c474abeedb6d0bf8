//! Loops inside the session of an agent: begun, counted, ended, listed.
//!
//! Hooks of the agent tell of them, and may tell twice. What is told of an iteration counts once. They say nothing
//! about tasks, and no command goes on with one.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    id::LoopId,
    session_loop::{SessionEndReason, SessionOutcome},
};

use super::{RepositoryId, Result, TokenUsage};

/// The name of all their work among tasks: no id holds a blank.
pub(super) const SESSION_WORK: &str = "session loop";

/// Loops that hooks of an agent keep going.
#[async_trait]
pub trait SessionStore: Send {
    async fn begin_session_loop(&mut self, new: &NewSessionLoop<'_>) -> Result<()>;

    async fn session_loop(&mut self, id: &LoopId) -> Result<Option<SessionLoopRow>>;

    /// The newest loop of an agent's session that has no end.
    async fn open_session_loop(
        &mut self,
        agent: &str,
        session: &str,
    ) -> Result<Option<SessionLoopRow>>;

    /// Writes an iteration down and adds its calls to all sums, in one transaction. Returns false, and changes
    /// nothing, if it is there already.
    async fn record_session_iteration(
        &mut self,
        of: &SessionLoopRow,
        iteration: &SessionIteration,
    ) -> Result<bool>;

    /// Ends a loop. Returns false if it has ended already.
    async fn end_session_loop(
        &mut self,
        id: &LoopId,
        reason: SessionEndReason,
        at: Timestamp,
    ) -> Result<bool>;

    /// The newest loops of a repository, newest first.
    async fn session_loops(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<SessionLoopRow>>;
}

/// A loop that is about to begin in a session.
#[derive(Debug, Clone, Copy)]
pub struct NewSessionLoop<'a> {
    pub id: &'a LoopId,
    pub repository: &'a RepositoryId,
    pub worktree: &'a str,
    pub agent: &'a str,
    pub session: &'a str,
    pub prompt: &'a str,
    /// 0 for no limit.
    pub max_iterations: u64,
    pub completion_promise: Option<&'a str>,
    /// The configuration by which its promise is verified, as JSON.
    pub config: Option<&'a str>,
    pub at: Timestamp,
}

/// A loop in a session, with what its iterations come to.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionLoopRow {
    pub id: LoopId,
    pub repository_id: String,
    pub worktree: String,
    pub agent: String,
    pub session: String,
    pub prompt: String,
    pub max_iterations: u64,
    pub completion_promise: Option<String>,
    pub config: Option<String>,
    pub iterations: u64,
    /// Iterations that ended with an error of the agent.
    pub errors: u64,
    pub tokens: u64,
    pub spent: Dollars,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub reason: Option<String>,
}

/// One iteration of a loop in a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionIteration {
    pub n: u64,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub outcome: SessionOutcome,
    pub error: Option<String>,
    pub accounts: TokenUsage,
}
