//! The cost of a run of an agent: its calls to models, its limit, and when an agent says what they cost.
//!
//! Knows no prices: the value of a call is the core's [`Meter`] to say.

use ralph_core::{
    agent::{Ending, Usage},
    dollars::Dollars,
    economics::{Budget, Meter, ModelCall, ModelCalls, Tokens},
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

/// All calls of a run, of which each is handed out once while it goes on.
#[derive(Debug, Default)]
pub(super) struct CallLog {
    calls: ModelCalls,
    new: Vec<ModelCall>,
}

impl CallLog {
    pub(super) fn push(&mut self, call: ModelCall) {
        self.new.push(call.clone());
        self.calls.push(call);
    }

    /// Returns those that were not handed out yet.
    pub(super) fn take_new(&mut self) -> Vec<ModelCall> {
        std::mem::take(&mut self.new)
    }

    pub(super) fn into_all(self) -> Vec<ModelCall> {
        self.calls.into_all()
    }
}

/// Adds the tokens of a call to the sums of a run.
pub(super) fn add_tokens(sum: &mut Usage, more: Tokens) {
    sum.input_tokens += more.input;
    sum.output_tokens += more.output;
    sum.cache_read_tokens += more.cache_read;
    sum.cache_write_tokens += more.cache_write;
}
