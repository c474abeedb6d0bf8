//! Asks the budgets before an iteration, and does what they say: goes on, waits, stops.
//!
//! What is spent is in the journal, by all loops that share it; what follows is decided in the core.

use std::time::Duration;

use ralph_core::{
    economics::{
        Alert, Budget, BudgetAction, BudgetPolicy, Scope, Spending, check_budget, reserve,
    },
    event::Event,
    task::TaskId,
    termination::Stop,
};

use super::{Driver, LoopError, wait::Waited};
use crate::{
    agent::CostLimit,
    store::{Whose, first_day},
};

/// Iterations that the reserve is judged by.
const RECENT: u32 = 50;

/// Whether another iteration may be begun.
pub(super) enum MaySpend {
    Yes,
    /// A person or a signal came in between: all is decided anew.
    AskAgain,
    No(Stop),
    /// Not at this task, whose own budget says so; at others.
    NotThis(Alert),
}

impl Driver {
    /// Asks all budgets whether an iteration at this task may be begun, and waits where they want that.
    pub(super) async fn may_spend(&mut self, task: &TaskId) -> Result<MaySpend, LoopError> {
        if self.config.budgets.is_empty() {
            return Ok(MaySpend::Yes);
        }
        let spendings = self.spendings(task).await?;
        self.tally.budget = tightest(&spendings);
        let costs = self.journal.last_costs(&self.repository, RECENT).await?;
        let first = u64::from(self.config.economics.throttle_seconds);
        let check = |spendings: &[Spending]| {
            check_budget(spendings, reserve(&costs), Duration::from_secs(first))
        };
        // What ends the loop goes first: no task is set aside that could not be begun anyway.
        let (own, shared): (Vec<_>, Vec<_>) = spendings
            .iter()
            .partition(|one| one.budget.scope == Scope::Task);
        if let BudgetAction::Deny { alert } = check(&shared) {
            return Ok(MaySpend::No(Stop::BudgetDenied(alert)));
        }
        if let BudgetAction::Deny { alert } = check(&own) {
            return Ok(MaySpend::NotThis(alert));
        }
        Ok(match check(&spendings) {
            BudgetAction::Allow => MaySpend::Yes,
            BudgetAction::AlertOnly { alert } => {
                self.alert(&alert);
                MaySpend::Yes
            }
            BudgetAction::Throttle { delay, alert } => {
                match self.wait_for_budget(delay, alert.sentence()).await {
                    Waited::Through => MaySpend::Yes,
                    Waited::Stopped | Waited::Called => MaySpend::AskAgain,
                }
            }
            BudgetAction::Deny { alert } => MaySpend::No(Stop::BudgetDenied(alert)),
        })
    }

    /// Sets a task aside that has no money left; a person can open it again.
    pub(super) async fn set_aside_unfunded(
        &mut self,
        task: &TaskId,
        alert: Alert,
    ) -> Result<(), LoopError> {
        self.block(task, alert.sentence()).await?;
        self.tally.unfunded = Some(alert);
        Ok(())
    }

    /// Where nothing is ready because a task is out of money, that is why.
    pub(super) fn for_want_of_money(&self, stop: Stop) -> Stop {
        match (stop, self.tally.unfunded) {
            (Stop::NothingReady, Some(alert)) => Stop::BudgetDenied(alert),
            (stop, _) => stop,
        }
    }

    async fn spendings(&mut self, task: &TaskId) -> Result<Vec<Spending>, LoopError> {
        let mut spendings = Vec::new();
        for budget in self.config.budgets.clone() {
            let whose = match budget.scope {
                Scope::Organisation => Whose::All,
                Scope::Project => Whose::Repository,
                Scope::Task => Whose::Task(task.as_str()),
                Scope::Loop => Whose::Loop(&self.loop_id),
            };
            let since = first_day(budget.per, self.clock.now());
            let spent = self
                .journal
                .spending(&self.repository, whose, since.as_deref());
            spendings.push(Spending {
                budget,
                spent: spent.await?.spent,
            });
        }
        Ok(spendings)
    }

    /// Says it once when a budget is nearly used up, and once when it is.
    fn alert(&mut self, alert: &Alert) {
        let seen: (Budget, bool) = (alert.budget, alert.spent_usd >= alert.budget.usd);
        if !self.tally.alerted.contains(&seen) {
            self.tally.alerted.push(seen);
            let message = alert.sentence();
            self.tell(&Event::Warning { message });
        }
    }
}

/// The budget that stops an agent first: a run of it ends there, not only the iteration.
fn tightest(spendings: &[Spending]) -> Option<CostLimit> {
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
            budget: Some(one.budget),
        })
}
