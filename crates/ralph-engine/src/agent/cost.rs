//! What a run of an agent may cost, and when an agent says what it does.
//!
//! Knows no prices: an agent that tells nothing costs nothing here.

use ralph_core::{agent::Ending, dollars::Dollars};

/// When an agent says what its run costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Costs {
    /// After each answer of its model.
    AsItGoes,
    /// When it ends; it stops by itself at an amount that it is told.
    AtTheEnd,
    Untold,
}

/// What may be spent in all, and what others have spent of it already.
#[derive(Debug, Clone, Copy)]
pub struct CostLimit {
    pub spent: Dollars,
    pub max: Dollars,
}

impl CostLimit {
    /// How a run ends that has come to `own` so far, if that is too much.
    pub fn reached(self, own: Dollars) -> Option<Ending> {
        let spent_usd = self.spent.plus(own);
        (spent_usd >= self.max).then_some(Ending::OverBudget {
            spent_usd,
            max_usd: self.max,
        })
    }
}
