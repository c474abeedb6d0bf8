//! Asks the budgets before an iteration, and does what they say: goes on, waits, stops.
//!
//! What is spent is in the journal, by all loops that share it; what follows is decided in the core.

use std::time::Duration;

use ralph_core::{
    economics::{
        Alert, AlertLevel, Budget, BudgetAction, Reserve, Scope, Spending, check_budget, reserve,
    },
    event::Event,
    task::TaskId,
};

use super::{LoopError, LoopRunner};
use crate::iteration::WaitEnd;
use crate::side_budget::{WorkedAt, spendings, tightest};
use crate::team::TeamSpendings;

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
        if self.settings.config.budgets.is_empty() && self.costs.team.is_none() {
            return Ok(BudgetDecision::Yes);
        }
        let costs = self
            .journal
            .last_costs(&self.place.repository, RECENT)
            .await?;
        let mut spendings = self.spendings_at(task).await?;
        self.alert(&spendings, task);
        // Of few iterations the most that one has cost is what is known.
        let most = costs.iter().max().copied().map(Reserve);
        let team = self.team_spendings(reserve(&costs).or(most)).await?;
        self.alert(&team.told, task);
        spendings.extend(team.own);
        self.costs.nearest = tightest(&spendings);
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
            BudgetAction::Allow | BudgetAction::AlertOnly { .. } => BudgetDecision::Yes,
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

    /// Looks at the budgets after an iteration, which may be the last one: each says what is left of it.
    pub(super) async fn alert_after(&mut self, task: &TaskId) -> Result<(), LoopError> {
        if self.settings.config.budgets.is_empty() {
            return Ok(());
        }
        let spendings = self.spendings_at(task).await?;
        self.alert(&spendings, task);
        Ok(())
    }

    /// Asks the server of a team for what the next iteration may cost.
    async fn team_spendings(&mut self, need: Option<Reserve>) -> Result<TeamSpendings, LoopError> {
        let now = self.output.clock.now();
        Ok(match &mut self.costs.team {
            Some(team) => {
                let repository = &self.place.repository;
                team.ask(&mut *self.journal, repository, need, now).await?
            }
            None => TeamSpendings::default(),
        })
    }

    /// Lets other machines have what this one was granted and has not spent. What can't be given back stays granted.
    pub(super) async fn give_back_budget(&mut self) {
        let now = self.output.clock.now();
        if let Some(team) = &mut self.costs.team {
            let repository = &self.place.repository;
            let _ = team.give_back(&mut *self.journal, repository, now).await;
        }
    }

    async fn spendings_at(&mut self, task: &TaskId) -> Result<Vec<Spending>, LoopError> {
        let (repository, budgets) = (&self.place.repository, &self.settings.config.budgets);
        let now = self.output.clock.now();
        let at_work = Some(WorkedAt {
            task: task.as_str(),
            loop_id: &self.loop_id,
        });
        Ok(spendings(&mut *self.journal, repository, budgets, now, at_work).await?)
    }

    /// Says it once when a budget is nearly used up, and once when it is. Each budget speaks for itself.
    fn alert(&mut self, spendings: &[Spending], task: &TaskId) {
        let percent = self.settings.config.notify.budget_alert_percent;
        for spending in spendings {
            let Some((level, alert)) = spending.alert(percent) else {
                continue;
            };
            let budget = spending.budget;
            let task = budget.is_of_task().then(|| task.to_string());
            let told = ToldAlert {
                budget,
                task: task.clone(),
                level,
            };
            if self.costs.alerted.contains(&told) {
                continue;
            }
            self.costs.alerted.push(told);
            self.tell(&Event::BudgetAlert {
                budget,
                task,
                spent_usd: spending.spent,
                left_usd: spending.left(),
                sentence: alert.sentence(),
            });
        }
    }
}

/// An alert that people were told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToldAlert {
    budget: Budget,
    /// Each task has a budget of its own.
    task: Option<String>,
    level: AlertLevel,
}
