//! What a run of an agent may cost, and when an agent says what it does.
//!
//! Knows no prices: the value of a call is the core's [`Meter`] to say.

use ralph_core::{
    agent::Ending,
    dollars::Dollars,
    economics::{Budget, Meter},
};

/// When it can be known what a run of an agent costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Costs {
    /// After each answer of its model.
    AsItGoes,
    /// When it ends: it tells its tokens only as a sum.
    AtTheEnd,
    Untold,
}

/// What may be spent in all, and what others have spent of it already.
#[derive(Debug, Clone, Copy)]
pub struct CostLimit {
    pub spent: Dollars,
    pub max: Dollars,
    /// The budget that says so; none where the command does.
    pub budget: Option<Budget>,
}

/// What one run may cost, and what its calls are measured by.
#[derive(Debug, Clone)]
pub struct RunCost {
    pub limit: CostLimit,
    pub meter: Meter,
}

impl CostLimit {
    /// Returns how a run ends that has come to `own` so far, if that is too much.
    pub fn reached(self, own: Dollars) -> Option<Ending> {
        let spent_usd = self.spent.plus(own);
        (spent_usd >= self.max).then_some(Ending::OverBudget {
            spent_usd,
            max_usd: self.max,
            budget: self.budget,
        })
    }
}
