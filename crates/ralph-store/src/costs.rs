//! Calls to models and their totals, in tokens and money.
//!
//! Totals grow in the transaction that ends an iteration, never by themselves, and answer all questions about
//! spending: none of these reads every call.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::{Caller, Per, TokenRecord, Totals},
    id::{IterationId, LoopId},
};
use std::collections::HashMap;

use super::{RepositoryId, Result};

/// Calls to models, and totals that are kept up to date with each iteration.
#[async_trait]
pub trait CostStore: Send {
    /// The model calls of one iteration.
    async fn token_records(&mut self, iteration: &IterationId) -> Result<Vec<TokenRecord>>;

    /// The totals of a repository by group, the highest cost first (days: the newest first), at most `most` of them;
    /// since a day, or of all time.
    async fn costs(
        &mut self,
        repository: &RepositoryId,
        by: SumBy,
        since: Option<&str>,
        most: u32,
    ) -> Result<Vec<CostRow>>;

    /// The totals within a scope since a day (`YYYY-MM-DD`), or of all time.
    async fn spending(
        &mut self,
        repository: &RepositoryId,
        whose: SpendingScope<'_>,
        since: Option<&str>,
    ) -> Result<Totals>;

    /// The totals of all repositories since a day, or of all time, by the path of their git folder; the highest
    /// first.
    async fn costs_by_repository(&mut self, since: Option<&str>) -> Result<Vec<CostRow>>;

    /// The costs of a loop by model, agent and caller, the highest first.
    async fn model_costs(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<LoopModelCost>>;

    /// The cost within a loop of each task that it completed.
    async fn finished_costs(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Vec<(String, Dollars)>>;

    /// The costs of the newest iterations of a repository, newest first; of those that cost anything.
    async fn last_costs(&mut self, repository: &RepositoryId, most: u32) -> Result<Vec<Dollars>>;

    /// The cost of each iteration of a loop, of those that cost anything.
    async fn spent_by_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<HashMap<IterationId, Dollars>>;

    /// The shares that this journal holds of a team's budgets, as it was last told; `None` where there is no team.
    async fn budget_holder(&mut self) -> Result<Option<BudgetHolder>>;

    /// Keeps what this journal was granted.
    async fn keep_budget_share(&mut self, share: &KeptShare, at: Timestamp) -> Result<()>;

    /// Writes the usage of a run and adds it to the totals, in one transaction.
    async fn record_side_run(&mut self, repository: &RepositoryId, run: &SideRun) -> Result<()>;

    /// The calls of all runs outside of loops, oldest run first, with the work that they were for.
    async fn side_records(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<(String, TokenRecord)>>;
}

/// The name under which a journal holds shares of a team's budgets, and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetHolder {
    /// Empty for a journal on the server itself, which has them there.
    pub name: String,
    pub shares: Vec<KeptShare>,
}

/// A share of a team's budget as a journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptShare {
    pub per: Per,
    /// As in `2026-11-18`, `2026-11`, `total`.
    pub period: String,
    pub granted: Dollars,
    /// The budget of the whole team.
    pub cap: Dollars,
}

/// The usage of an iteration.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TokenUsage {
    pub records: Vec<TokenRecord>,
    pub tool_calls: u64,
}

impl TokenUsage {
    pub(super) fn totals(&self) -> Totals {
        Totals {
            tool_calls: self.tool_calls,
            ..Totals::sum(&self.records)
        }
    }
}

/// The key that sums are made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SumBy {
    Task,
    Model,
    Loop,
    Day,
}

/// The scope that spending is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpendingScope<'a> {
    /// All that this journal knows of.
    All,
    Repository,
    Task(&'a str),
    Loop(&'a LoopId),
}

/// One line of a list of sums.
#[derive(Debug, Clone, PartialEq)]
pub struct CostRow {
    pub key: String,
    pub totals: Totals,
}

/// The cost of a model in a loop, by its caller.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopModelCost {
    pub model: Option<String>,
    pub agent: String,
    pub caller: Caller,
    pub totals: Totals,
}

/// The work that an agent was run for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SideWork {
    Plan,
    Interview,
}

impl SideWork {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Interview => "interview",
        }
    }

    /// Its name among tasks and loops: no id holds a blank.
    pub fn key(self) -> &'static str {
        match self {
            Self::Plan => "ralph plan",
            Self::Interview => "ralph interview",
        }
    }
}

/// One run of an agent outside of any loop.
#[derive(Debug, Clone, PartialEq)]
pub struct SideRun {
    pub work: SideWork,
    pub at: Timestamp,
    pub accounts: TokenUsage,
}

/// The day on which something counts: that of UTC.
pub fn day_of(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// The first day of the time that a budget is for; nothing where it is for all time.
pub fn first_day(per: Per, now: Timestamp) -> Option<String> {
    match per {
        Per::Day => Some(day_of(now)),
        Per::Month => Some(now.strftime("%Y-%m-01").to_string()),
        Per::Total => None,
    }
}

/// The name of the period that a moment is in: `2026-11-18`, `2026-11`, `total`. By UTC.
pub fn period_of(per: Per, at: Timestamp) -> String {
    match per {
        Per::Day => at.strftime("%Y-%m-%d").to_string(),
        Per::Month => at.strftime("%Y-%m").to_string(),
        Per::Total => "total".to_owned(),
    }
}
