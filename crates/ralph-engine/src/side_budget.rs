//! The budget of work outside of a loop: a plan, an interview.
//!
//! Asks the budgets of the project and the organisation, and records what was used. Decides nothing
//! that the core decides, and waits for nothing: a person is there.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    agent::AgentReport,
    dollars::Dollars,
    economics::{
        Budget, BudgetAction, BudgetPolicy, Meter, Prices, Scope, Spending, Totals, account,
        check_budget,
    },
    id::LoopId,
};

use crate::{
    agent::{CostLimit, RunCost},
    store::{
        Journal, JournalError, RepositoryId, SideRun, SideWork, SpendingScope, TokenUsage,
        first_day,
    },
    team::TeamBudgets,
};

pub struct SideBudget {
    pub journal: Box<dyn Journal>,
    pub repository: RepositoryId,
    pub prices: Prices,
    pub budgets: Vec<Budget>,
    /// The cost that the whole work may have, beside the budgets.
    pub max: Option<Dollars>,
    pub work: SideWork,
    /// The budgets of a team, where there is one.
    team: Option<TeamBudgets>,
    limit: Option<CostLimit>,
    /// Of the runs so far.
    spent: Dollars,
    runs: u32,
}

impl SideBudget {
    pub fn new(
        journal: Box<dyn Journal>,
        repository: RepositoryId,
        prices: Prices,
        budgets: &[Budget],
        max: Option<Dollars>,
        work: SideWork,
    ) -> Self {
        let of_all = |budget: &&Budget| match budget.scope {
            Scope::Organisation | Scope::Project => true,
            Scope::Task | Scope::Loop => false,
        };
        Self {
            journal,
            repository,
            prices,
            budgets: budgets.iter().filter(of_all).copied().collect(),
            max,
            work,
            team: None,
            limit: None,
            spent: Dollars::NOTHING,
            runs: 0,
        }
    }

    /// Has the budgets of a team asked too.
    #[must_use]
    pub fn with_team(mut self, team: Option<TeamBudgets>) -> Self {
        self.team = team;
        self
    }

    /// Asks the budgets as they stand now whether an agent may be started, and sets the limit of its run by them.
    pub async fn ask_budgets(&mut self, now: Timestamp) -> Result<BudgetAction, JournalError> {
        let journal = &mut *self.journal;
        let mut spendings = spendings(journal, &self.repository, &self.budgets, now, None).await?;
        if let Some(team) = &mut self.team {
            let team = team.ask(journal, &self.repository, None, now).await?;
            spendings.extend(team.own);
        }
        let of_work = self.max.map(|max| CostLimit {
            spent: self.spent,
            max,
            budget: None,
        });
        self.limit = of_work
            .into_iter()
            .chain(tightest(&spendings))
            .min_by_key(|limit| limit.max.without(limit.spent));
        Ok(check_budget(&spendings, None, Duration::ZERO))
    }

    /// Returns what the next run may cost, as it was when the budgets were asked.
    pub fn run_cost(&self) -> Option<RunCost> {
        Some(RunCost {
            limit: self.limit?,
            meter: Meter::new(self.prices.clone()),
        })
    }

    /// Returns what is left for the next run.
    pub fn left(&self) -> Option<Dollars> {
        let limit = self.limit?;
        Some(limit.max.without(limit.spent))
    }

    /// Writes down what a run used, however it ended.
    pub async fn record(
        &mut self,
        agent: &str,
        report: &AgentReport,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        self.runs += 1;
        let told = report.usage.cost_usd.map(Dollars::told);
        let records = account((self.runs, agent), &report.calls, told, &self.prices);
        self.spent = self.spent.plus(Totals::sum(&records).spent);
        let run = SideRun {
            work: self.work,
            at,
            accounts: TokenUsage {
                records,
                tool_calls: report.tool_calls,
            },
        };
        self.journal.record_side_run(&self.repository, &run).await
    }
}

/// The task that is worked at, and the loop that does it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorkedAt<'a> {
    pub(crate) task: &'a str,
    pub(crate) loop_id: &'a LoopId,
}

/// Returns what is spent of each budget; of a task and a loop only where one is worked at.
pub(crate) async fn spendings(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    budgets: &[Budget],
    now: Timestamp,
    at_work: Option<WorkedAt<'_>>,
) -> Result<Vec<Spending>, JournalError> {
    let mut spendings = Vec::new();
    for budget in budgets {
        let whose = match (budget.scope, at_work) {
            (Scope::Organisation, _) => SpendingScope::All,
            (Scope::Project, _) => SpendingScope::Repository,
            (Scope::Task, Some(at)) => SpendingScope::Task(at.task),
            (Scope::Loop, Some(at)) => SpendingScope::Loop(at.loop_id),
            (Scope::Task | Scope::Loop, None) => continue,
        };
        let since = first_day(budget.per, now);
        let spent = journal.spending(repository, whose, since.as_deref());
        spendings.push(Spending {
            budget: *budget,
            spent: spent.await?.spent,
            share_of: None,
        });
    }
    Ok(spendings)
}

/// The budget that stops an agent first: a run of it ends there, not only the iteration.
pub(crate) fn tightest(spendings: &[Spending]) -> Option<CostLimit> {
    spendings
        .iter()
        .filter(|one| match one.budget.action {
            BudgetPolicy::Deny | BudgetPolicy::Throttle => true,
            BudgetPolicy::AlertOnly => false,
        })
        .min_by_key(|one| one.left())
        .map(|one| CostLimit {
            spent: one.spent,
            max: one.budget.usd,
            // Of a share, the budget that it is one of.
            budget: Some(Budget {
                usd: one.share_of.unwrap_or(one.budget.usd),
                ..one.budget
            }),
        })
}
