//! What a run of the command has cost, and what is left of what it may.
//!
//! Counts what agents tell and estimates nothing. Whether the loop stops is decided in the core.

use ralph_core::{
    agent::{AgentReport, Ending},
    dollars::Dollars,
    economics::{Prices, account},
    iteration::{Action, StepDone},
};

use super::{Driver, RunTally, notes::Turn};
use crate::{
    agent::{CostLimit, Costs},
    store::Accounts,
};

impl Driver {
    /// The limit as it is for a run of an agent in this iteration.
    pub(super) fn cost_limit(&self, turn: &Turn) -> Option<CostLimit> {
        let earlier = told(turn.notes.usage().cost_usd);
        let of_run = self.limits.max_cost.map(|max| CostLimit {
            spent: self.tally.spent(),
            max,
        });
        let nearest = of_run
            .into_iter()
            .chain(self.tally.budget)
            .min_by_key(|limit| limit.max.without(limit.spent))?;
        Some(CostLimit {
            spent: nearest.spent.plus(earlier),
            max: nearest.max,
        })
    }

    pub(super) fn budget_left(&self, turn: &Turn) -> Option<Dollars> {
        let limit = self.cost_limit(turn)?;
        Some(limit.max.without(limit.spent))
    }

    /// Instead of an action that would lead to another run: there is no money for it.
    pub(super) fn out_of_budget(&self, turn: &Turn, action: &Action) -> Option<StepDone> {
        match action {
            Action::Bundle { .. } | Action::Wait { .. } => {}
            Action::StartAgent { .. }
            | Action::Inspect
            | Action::Verify
            | Action::Land
            | Action::Keep { .. }
            | Action::Record { .. }
            | Action::Done => return None,
        }
        let CostLimit { spent, max } = self.cost_limit(turn)?;
        (spent >= max).then_some(StepDone::OutOfBudget {
            spent_usd: spent,
            max_usd: max,
        })
    }

    /// An agent that was told the amount stops by itself: that is ralph's limit, and no error of its.
    pub(super) fn stopped_by_its_cost(&self, turn: &Turn, report: &mut AgentReport) {
        let own = told(report.usage.cost_usd);
        let reached = self.cost_limit(turn).and_then(|limit| limit.reached(own));
        // The sum of an agent that was cut off comes last, and is the better one.
        if let (Ending::Budget { .. } | Ending::OverBudget { .. }, Some(over)) =
            (&report.ending, reached)
        {
            report.ending = over;
        }
    }

    /// What an iteration used, by the prices of this loop.
    pub(super) fn accounts(&self, turn: &Turn) -> Accounts {
        let prices = Prices::with(&self.config.economics.prices);
        let notes = &turn.notes;
        let runs = notes.runs.iter().zip(&notes.calls);
        Accounts {
            records: runs
                .flat_map(|(run, calls)| {
                    let cost = run.usage.cost_usd.map(Dollars::told);
                    account((run.run, &run.agent), calls, cost, &prices)
                })
                .collect(),
            tool_calls: notes.tool_calls,
        }
    }

    /// What to say of a limit that this agent makes hard to keep.
    pub(super) fn untold_cost(&self) -> Option<String> {
        let max = self.limits.max_cost?;
        let name = self.hands.main_name();
        match self.hands.agent().costs() {
            Costs::AsItGoes => None,
            Costs::AtTheEnd => Some(format!(
                "{name} says what it costs only when it ends: it is told to stop by itself at {max}, and may go over it by an answer"
            )),
            Costs::Untold => Some(format!(
                "{name} does not say what it costs: the limit of {max} can't be kept"
            )),
        }
    }
}

impl RunTally {
    /// Of the iterations that have ended.
    pub(super) fn spent(&self) -> Dollars {
        told(self.usage.cost_usd)
    }
}

fn told(cost_usd: Option<f64>) -> Dollars {
    cost_usd.map_or(Dollars::NOTHING, Dollars::told)
}
