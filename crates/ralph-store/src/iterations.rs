//! Iterations: what is written while one lasts, so that a crash loses nothing, and its record.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    gutter::Gutter,
    id::{IterationId, LoopId},
    iteration::{Lands, StepDone},
    record::IterationRecord,
    task::TaskId,
};
use serde::{Deserialize, Serialize};

use super::{RepositoryId, Result, TaskHistory, TokenUsage};

/// Iterations: their steps while they last, their records when they have ended.
#[async_trait]
pub trait IterationStore: Send {
    /// Begins an iteration together with the intent to start its agent. Returns its number.
    async fn begin_iteration(
        &mut self,
        repository: &RepositoryId,
        start: &IterationStart,
    ) -> Result<u64>;

    /// Appends steps, and a checkpoint where a phase ends with them, all or none.
    async fn append_steps(
        &mut self,
        repository: &RepositoryId,
        iteration: &IterationId,
        steps: &[Step],
        at: Timestamp,
        checkpoint: Option<&Moment>,
    ) -> Result<()>;

    /// Ends an iteration: steps not written yet, its record, what it comes to for its task, what it
    /// used, its suggestions, and the checkpoint.
    async fn end_iteration(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        end: IterationEnd<'_>,
    ) -> Result<()>;

    /// Ends an iteration of which nothing more can be said: its task is gone.
    async fn forget_iteration(&mut self, id: &IterationId, at: Timestamp) -> Result<()>;

    /// The iteration that a crash left without an end.
    async fn unfinished_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<UnfinishedIteration>>;

    /// The record of iteration `n`; of the last one that ended where no number is given.
    async fn record(
        &mut self,
        repository: &RepositoryId,
        n: Option<u64>,
    ) -> Result<Option<IterationRecord>>;

    /// Of these paths, those that a landed iteration added and that no loop had its tasks from.
    async fn made_by_agents(
        &mut self,
        repository: &RepositoryId,
        paths: &[String],
    ) -> Result<Vec<String>>;

    /// The records of one loop, oldest first.
    async fn records_of(&mut self, loop_id: &LoopId) -> Result<Vec<IterationRecord>>;

    /// The newest records of a loop, oldest of them first.
    async fn last_records_of(
        &mut self,
        loop_id: &LoopId,
        most: u32,
    ) -> Result<Vec<IterationRecord>>;

    /// The records of a worktree's newest iterations that have ended, of whichever loop, newest first.
    async fn last_records(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<IterationRecord>>;

    /// The records of a task's newest iterations that have ended, newest first.
    async fn task_records(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        most: usize,
    ) -> Result<Vec<IterationRecord>>;

    /// The number that the next iteration will have.
    async fn next_iteration(&mut self, repository: &RepositoryId) -> Result<u64>;

    /// The newest iterations, newest first.
    async fn last_iterations(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<IterationRow>>;

    /// The newest iterations at one task of a source, newest first.
    async fn iterations_at(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &str,
        most: u32,
    ) -> Result<Vec<IterationRow>>;

    /// The task that a loop completed last, if it did so within its newest iterations.
    async fn last_completed(&mut self, loop_id: &LoopId) -> Result<Option<String>>;

    /// Counts the tasks that a loop completed with verify commands behind them, and that were not reverted since.
    async fn verified_tasks(&mut self, loop_id: &LoopId) -> Result<u64>;

    /// The lowest and the highest number that an iteration has.
    async fn iteration_range(&mut self, repository: &RepositoryId) -> Result<Option<(u64, u64)>>;

    /// The newest iteration of a loop that has a record.
    async fn newest_record(&mut self, loop_id: &LoopId) -> Result<Option<u64>>;

    /// Iteration `n`, landed or not.
    async fn landing(&mut self, repository: &RepositoryId, n: u64) -> Result<Option<LandingRow>>;

    /// Every iteration that completed its task, oldest first.
    async fn landings(&mut self, repository: &RepositoryId) -> Result<Vec<LandingRow>>;

    /// Counts the commits of iterations that were reverted.
    async fn count_reverted(&mut self, repository: &RepositoryId) -> Result<usize>;
}

/// The facts that are known when an iteration begins; enough to go on with it after a crash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationStart {
    pub id: IterationId,
    pub loop_id: LoopId,
    pub task: TaskId,
    pub attempt: u32,
    pub base_commit: String,
    /// Untracked files that were there before the agent ran: never committed.
    pub untracked: Vec<String>,
    pub at: Timestamp,
    /// It is no attempt: it is to find out why this happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnose: Option<Gutter>,
    /// Which of its changes land: a step towards a goal does, done or not.
    #[serde(default, skip_serializing_if = "Lands::is_default")]
    pub lands: Lands,
}

/// A step of an iteration: done, or about to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Written before what can't be taken back: `agent` or `land`.
    Intent(String),
    Done(StepDone),
}

#[derive(Debug, Clone, PartialEq)]
pub struct UnfinishedIteration {
    pub n: u64,
    pub start: IterationStart,
    pub steps: Vec<Step>,
}

/// The end of an iteration: all that is written of it at once.
#[derive(Debug, Clone, Copy)]
pub struct IterationEnd<'a> {
    /// Steps that are not written yet.
    pub pending: &'a [Step],
    pub record: &'a IterationRecord,
    pub state: &'a TaskHistory,
    /// Where the loop stands now.
    pub checkpoint: Option<&'a Moment>,
    /// Its usage.
    pub accounts: &'a TokenUsage,
}

/// An iteration as a list shows it; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationRow {
    #[serde(rename = "iteration")]
    pub n: u64,
    pub loop_id: LoopId,
    pub task_id: String,
    /// `None` until the iteration has ended.
    pub title: Option<String>,
    pub attempt: u64,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub verdict: Option<String>,
    pub outcome: Option<String>,
    pub result_commit: Option<String>,
    /// Its commit was taken back since.
    pub reverted: bool,
}

/// An iteration and what became of its commit.
#[derive(Debug, Clone, PartialEq)]
pub struct LandingRow {
    pub id: IterationId,
    pub n: u64,
    pub task_id: String,
    pub title: Option<String>,
    pub verdict: Option<String>,
    pub result_commit: Option<String>,
    pub branch: String,
    pub source: String,
    pub worktree: String,
    pub reverted_by: Option<String>,
    pub squashed_by: Option<String>,
}
