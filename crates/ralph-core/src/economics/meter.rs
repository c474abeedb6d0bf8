//! Describes what a run of an agent has cost so far, call by call, while it still runs.
//!
//! Only an estimate to stop by: what the agent says at its end is what is recorded. Never makes a price
//! up: a model without one costs nothing here, and is named.

use std::collections::BTreeSet;

use super::{CostByKind, ModelCall, Prices};
use crate::dollars::Dollars;

#[derive(Debug, Clone)]
pub struct Meter {
    prices: Prices,
    by_call: Dollars,
    told: Dollars,
    unpriced: BTreeSet<String>,
}

/// Tells whether what a call costs is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Metered {
    Priced,
    /// Its model has no price, and that is seen for the first time in this run.
    NewUnpriced,
    Unpriced,
}

impl Meter {
    pub fn new(prices: Prices) -> Self {
        Self {
            prices,
            by_call: Dollars::NOTHING,
            told: Dollars::NOTHING,
            unpriced: BTreeSet::new(),
        }
    }

    /// Takes a call, or what one has grown by: what the agent says of it, else what the table makes.
    pub fn add(&mut self, call: &ModelCall) -> Metered {
        let by_table = || self.prices.cost(call.model.as_deref(), call.tokens);
        let cost = call.told.or_else(|| by_table().map(CostByKind::total));
        if let Some(cost) = cost {
            self.by_call = self.by_call.plus(cost);
            return Metered::Priced;
        }
        if call.tokens.is_none() {
            return Metered::Priced;
        }
        let name = call.model.clone().unwrap_or_default();
        if self.unpriced.insert(name) {
            Metered::NewUnpriced
        } else {
            Metered::Unpriced
        }
    }

    /// Notes what the agent says that the whole run has cost up to now.
    pub fn tell(&mut self, so_far: Dollars) {
        self.told = so_far;
    }

    /// The larger of what the agent says and what its calls come to.
    pub fn spent(&self) -> Dollars {
        self.told.max(self.by_call)
    }
}
