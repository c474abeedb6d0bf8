//! Describes what a team's store has of all machines of a tenant, and what a loop on any of them is told.
//!
//! Plain data. Where it comes from is in `postgres`.

use jiff::Timestamp;
use ralph_core::{command::CommandReport, dollars::Dollars, id::LoopId};
use serde::Deserialize;

/// A journal that syncs, and the machine that it is on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TeamMachine {
    /// The journal; empty for the one that is on the server itself.
    pub origin: String,
    pub name: String,
    pub first_seen: Option<Timestamp>,
    /// When it sent something for the last time.
    pub last_seen: Option<Timestamp>,
    /// The lead of the server's clock over its own.
    pub server_ahead_ms: Option<i64>,
    pub open_loops: u64,
    pub open_questions: u64,
    pub spent: Dollars,
}

/// Loops to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamLoops {
    /// Those that have not ended alone.
    pub open: bool,
    /// Those whose id begins with this.
    pub like: Option<String>,
    /// Those that began then or later.
    pub since: Option<Timestamp>,
    pub most: u32,
}

/// A loop of the team's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TeamLoop {
    pub id: LoopId,
    pub origin: String,
    /// The name of its machine; none for a journal on the server itself.
    pub machine: Option<String>,
    pub last_seen: Option<Timestamp>,
    pub repository_id: String,
    /// The git folder of its repository.
    pub common_dir: String,
    pub worktree: String,
    pub source: String,
    pub goal: String,
    pub branch: String,
    pub agent: String,
    pub iterations: u64,
    pub verified: u64,
    pub spent: Option<Dollars>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub started_at: String,
    pub ended_at: Option<String>,
    /// Why it ended, as JSON.
    pub stop: Option<String>,
    pub paused_at: Option<String>,
}

/// The thing that costs are summed up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TeamCostBy {
    Machine,
    Repository,
    Loop,
    Model,
    Day,
}

/// Costs to sum up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamCosts {
    pub by: TeamCostBy,
    /// Of that day and later ones; of all days without it.
    pub since: Option<String>,
    pub most: u32,
}

/// Sums, and the sum over all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamSums {
    pub rows: Vec<TeamSum>,
    pub total: TeamSum,
}

/// The sum of what was spent on one thing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct TeamSum {
    /// The origin, repository, loop, model or day.
    pub key: String,
    /// Its name, for people.
    pub name: Option<String>,
    pub calls: u64,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub spent: Dollars,
    /// The part of it that is by the price of a family.
    pub estimated: Dollars,
    /// Tokens whose cost is not known.
    pub unknown_tokens: u64,
}

/// Questions to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamQuestions {
    /// Those that were answered too.
    pub all: bool,
    pub since: Option<Timestamp>,
    /// The one with this number, or those about this task.
    pub named: Option<String>,
    pub most: u32,
}

/// A question of the team's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TeamQuestion {
    /// Its number in its journal.
    pub id: u64,
    pub origin: String,
    pub machine: Option<String>,
    pub last_seen: Option<Timestamp>,
    pub repository_id: String,
    pub common_dir: String,
    /// The working tree and the loop that it came from, where the iteration is known.
    pub worktree: Option<String>,
    pub loop_id: Option<LoopId>,
    pub source: String,
    pub task_id: String,
    pub iteration: u64,
    pub asked_by: String,
    pub question: String,
    /// The block of the agent, as JSON.
    pub body: Option<String>,
    pub asked_at: String,
    /// The answer, as JSON.
    pub answer: Option<String>,
    pub answered_at: Option<String>,
}

/// Checkpoints to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamCheckpoints {
    /// Those of this loop.
    pub loop_id: Option<LoopId>,
    pub since: Option<Timestamp>,
    pub most: u32,
}

/// A checkpoint of the team's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TeamCheckpoint {
    pub id: String,
    pub origin: String,
    pub machine: Option<String>,
    pub repository_id: String,
    pub loop_id: LoopId,
    pub n: u64,
    pub iteration: Option<u64>,
    pub phase: String,
    pub at: String,
    pub hash: String,
    pub tip_commit: String,
}

/// A command to a loop on some machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamOrder {
    pub origin: String,
    pub repository_id: String,
    pub worktree: String,
    /// The tasks of its loop.
    pub source: String,
    /// The person.
    pub who: String,
    /// The command, as JSON.
    pub body: String,
    pub at: Timestamp,
}

/// The id of a command: one for a machine that syncs, or one in the queue of a journal on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderId {
    Synced(String),
    Direct(i64),
}

/// The way that a command has come so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OrderStanding {
    /// The machine has not asked for it yet.
    Waiting,
    /// It is in the queue of the loop.
    Taken,
    Done(CommandReport),
}

/// A budget of the tenant's.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TeamBudgetRow {
    /// `day`, `month` or `total`.
    pub per: String,
    pub usd: Dollars,
    pub set_by: String,
    pub set_at: Timestamp,
    /// The amount that machines hold of the period.
    pub taken: Dollars,
}
