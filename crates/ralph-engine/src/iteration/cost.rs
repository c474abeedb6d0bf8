//! The cost that an iteration may have, and has had by the prices of its loop.

use ralph_core::{
    agent::{AgentReport, Ending},
    dollars::Dollars,
    economics::{Meter, Prices, Totals, account},
    iteration::{Action, StepDone},
    job::IterationLog,
};

use super::IterationContext;
use crate::{
    agent::{CostLimit, RunCost},
    store::TokenUsage,
};

/// The limit as it is for the next run of an agent in this iteration.
pub(super) fn cost_limit(context: &IterationContext<'_>) -> Option<CostLimit> {
    let limit = context.job.limits.cost?;
    let earlier = Totals::sum(&accounts(&context.log, &context.job.prices).records).spent;
    Some(CostLimit {
        spent: limit.spent.plus(earlier),
        max: limit.max,
        budget: limit.budget,
    })
}

/// The same, with the meter that the calls of a run are measured by.
pub(super) fn run_cost(context: &IterationContext<'_>) -> Option<RunCost> {
    Some(RunCost {
        limit: cost_limit(context)?,
        meter: Meter::new(context.job.prices.clone()),
    })
}

pub(super) fn budget_left(context: &IterationContext<'_>) -> Option<Dollars> {
    let limit = cost_limit(context)?;
    Some(limit.max.without(limit.spent))
}

/// Instead of an action that would lead to another run: there is no money for it.
pub(super) fn out_of_budget(context: &IterationContext<'_>, action: &Action) -> Option<StepDone> {
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
    let CostLimit { spent, max, budget } = cost_limit(context)?;
    (spent >= max).then_some(StepDone::OutOfBudget {
        spent_usd: spent,
        max_usd: max,
        budget,
    })
}

/// An agent that was told the amount stops by itself: that is ralph's limit, and no error of the agent.
pub(super) fn stopped_by_its_cost(context: &IterationContext<'_>, report: &mut AgentReport) {
    let own = report.usage.told();
    let reached = cost_limit(context).and_then(|limit| limit.reached(own));
    // The sum of an agent that was cut off comes last, and is the better one.
    if let (Ending::Budget { .. } | Ending::OverBudget { .. }, Some(over)) =
        (&report.ending, reached)
    {
        report.ending = over;
    }
}

/// Returns what an iteration used, by these prices.
pub(crate) fn accounts(log: &IterationLog, prices: &Prices) -> TokenUsage {
    let runs = log.runs.iter().zip(&log.calls);
    TokenUsage {
        records: runs
            .flat_map(|(run, calls)| {
                let cost = run.usage.cost_usd.map(Dollars::told);
                account((run.run, &run.agent), calls, cost, prices)
            })
            .collect(),
        tool_calls: log.tool_calls,
    }
}
