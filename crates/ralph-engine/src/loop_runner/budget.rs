//! Asks the budgets before an iteration, and does what they say: goes on, waits, stops.
//!
//! What is spent is in the journal, by all loops that share it; what follows is decided in the core.

use std::time::Duration;

use ralph_core::{
    economics::{Alert, Budget, BudgetAction, Scope, Spending, check_budget, reserve},
    event::Event,
    task::TaskId,
};

use super::{LoopError, LoopRunner};
use crate::iteration::WaitEnd;
use crate::side_budget::{WorkedAt, spendings, tightest};

/// Iterations that the reserve is judged by.
const RECENT: u32 = 50;

/// The decision of the budgets on another iteration.
pub(super) enum BudgetDecision {
    Yes,
    /// A person or a signal came in between, or the task was set aside: all is decided again.
    AskAgain,
    No(Alert),
}

impl LoopRunner {
    /// Asks all budgets whether an iteration at this task may be begun, and waits where they want that.
    pub(super) async fn ask_budgets(&mut self, task: &TaskId) -> Result<BudgetDecision, LoopError> {
        if self.settings.config.budgets.is_empty() {
            return Ok(BudgetDecision::Yes);
        }
        let (repository, budgets) = (&self.place.repository, &self.settings.config.budgets);
        let now = self.output.clock.now();
        let at_work = Some(WorkedAt {
            task: task.as_str(),
            loop_id: &self.loop_id,
        });
        let spendings = spendings(&mut *self.journal, repository, budgets, now, at_work).await?;
        self.costs.nearest = tightest(&spendings);
        let costs = self
            .journal
            .last_costs(&self.place.repository, RECENT)
            .await?;
        let first = u64::from(self.settings.config.economics.throttle_seconds);
        let check = |spendings: &[Spending]| {
            check_budget(spendings, reserve(&costs), Duration::from_secs(first))
        };
        // What ends the loop goes first: no task is set aside that could not be begun anyway.
        let (own, shared): (Vec<_>, Vec<_>) = spendings
            .iter()
            .partition(|one| one.budget.scope == Scope::Task);
        if let BudgetAction::Deny { alert } = check(&shared) {
            return Ok(BudgetDecision::No(alert));
        }
        if let BudgetAction::Deny { alert } = check(&own) {
            self.set_aside_unfunded(task, alert).await?;
            return Ok(BudgetDecision::AskAgain);
        }
        Ok(match check(&spendings) {
            BudgetAction::Allow => BudgetDecision::Yes,
            BudgetAction::AlertOnly { alert } => {
                self.alert(&alert);
                BudgetDecision::Yes
            }
            BudgetAction::Throttle { delay, alert } => {
                match self.wait_for_budget(delay, alert.sentence()).await {
                    WaitEnd::Through => BudgetDecision::Yes,
                    WaitEnd::Stopped | WaitEnd::Called => BudgetDecision::AskAgain,
                }
            }
            BudgetAction::Deny { alert } => BudgetDecision::No(alert),
        })
    }

    /// Sets a task aside that has no money left; a person can open it again.
    async fn set_aside_unfunded(&mut self, task: &TaskId, alert: Alert) -> Result<(), LoopError> {
        self.block(task, alert.sentence()).await?;
        self.machine.tally_mut().unfunded = Some(alert);
        Ok(())
    }

    /// Says it once when a budget is nearly used up, and once when it is.
    fn alert(&mut self, alert: &Alert) {
        let seen: (Budget, bool) = (alert.budget, alert.spent_usd >= alert.budget.usd);
        if !self.machine.tally().alerted.contains(&seen) {
            self.machine.tally_mut().alerted.push(seen);
            let message = alert.sentence();
            self.tell(&Event::Warning { message });
        }
    }
}
