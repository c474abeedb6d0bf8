//! What a run of the command has cost, and what is left of what it may.
//!
//! What agents tell counts, else what the table of prices makes of their calls. Whether the loop stops is decided in the core.

use ralph_core::{
    agent::{AgentReport, Ending},
    dollars::Dollars,
    economics::{Meter, Totals, account},
    iteration::{Action, StepDone},
};

use super::{Driver, notes::Turn};
use crate::{
    agent::{CostLimit, Costs, RunCost},
    store::Accounts,
};

impl Driver {
    /// The limit as it is for a run of an agent in this iteration.
    pub(super) fn cost_limit(&self, turn: &Turn) -> Option<CostLimit> {
        let earlier = Totals::sum(&self.accounts(turn).records).spent;
        let of_run = self.machine.limits().max_cost.map(|max| CostLimit {
            spent: self.machine.tally().spent,
            max,
            budget: None,
        });
        let nearest = of_run
            .into_iter()
            .chain(self.costs.nearest)
            .min_by_key(|limit| limit.max.without(limit.spent))?;
        Some(CostLimit {
            spent: nearest.spent.plus(earlier),
            ..nearest
        })
    }

    /// The same, with what the calls of a run are measured by.
    pub(super) fn run_cost(&self, turn: &Turn) -> Option<RunCost> {
        Some(RunCost {
            limit: self.cost_limit(turn)?,
            meter: Meter::new(self.prices.clone()),
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
        let CostLimit { spent, max, budget } = self.cost_limit(turn)?;
        (spent >= max).then_some(StepDone::OutOfBudget {
            spent_usd: spent,
            max_usd: max,
            budget,
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
        let notes = &turn.notes;
        let runs = notes.runs.iter().zip(&notes.calls);
        Accounts {
            records: runs
                .flat_map(|(run, calls)| {
                    let cost = run.usage.cost_usd.map(Dollars::told);
                    account((run.run, &run.agent), calls, cost, &self.prices)
                })
                .collect(),
            tool_calls: notes.tool_calls,
        }
    }

    /// What to say of a limit that this agent makes hard to keep.
    pub(super) fn untold_cost(&self) -> Option<String> {
        let max = self.machine.limits().max_cost?;
        let name = self.hands.main_name();
        match self.hands.agent().costs() {
            Costs::AsItGoes => None,
            Costs::AtTheEnd => Some(format!(
                "{name} says what it used only when it ends: the limit of {max} is looked at between its runs"
            )),
            Costs::Untold => Some(format!(
                "{name} does not say what it costs: the limit of {max} can't be kept"
            )),
        }
    }
}

fn told(cost_usd: Option<f64>) -> Dollars {
    cost_usd.map_or(Dollars::NOTHING, Dollars::told)
}
