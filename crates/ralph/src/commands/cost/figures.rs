//! Sums of tokens and money as JSON has them: a contract (docs/json.md).

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, CostByKind, KnownCost, Tokens, Totals},
};
use serde::Serialize;

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Figures {
    /// The cost that counts: as agents reported it, else from the price table.
    pub(crate) spent_usd: Dollars,
    pub(crate) calls: u64,
    pub(crate) tokens: Tokens,
    /// By the table of prices.
    pub(crate) cost_usd: CostByKind,
    /// The part of `spentUsd` that is by the price of a family of models.
    pub(crate) estimated_usd: Dollars,
    /// Tokens whose cost nothing tells, which `spentUsd` does not hold.
    pub(crate) unknown_tokens: u64,
    /// Tokens of models without a price, which `costUsd` does not hold.
    pub(crate) unpriced_tokens: u64,
    /// Tokens that `costUsd` holds by the price of a family of models.
    pub(crate) estimated_tokens: u64,
    /// The cost reported by agents, and that of the same calls from the price table.
    pub(crate) told_usd: Dollars,
    pub(crate) told_by_table_usd: Dollars,
    pub(crate) difference_usd: f64,
}

impl From<Totals> for Figures {
    fn from(totals: Totals) -> Self {
        Self {
            spent_usd: totals.spent,
            calls: totals.calls,
            tokens: totals.tokens,
            cost_usd: totals.cost,
            estimated_usd: totals.estimated,
            unknown_tokens: totals.unknown_tokens,
            unpriced_tokens: totals.unpriced_tokens,
            estimated_tokens: totals.estimated_tokens,
            told_usd: totals.told,
            told_by_table_usd: totals.told_by_table,
            difference_usd: totals.difference_usd(),
        }
    }
}

impl Figures {
    /// The spent amount for people, with what is known of it.
    pub(crate) fn spent(&self) -> KnownCost {
        KnownCost {
            spent_usd: self.spent_usd,
            estimated_usd: self.estimated_usd,
            unknown_tokens: self.unknown_tokens,
        }
    }

    /// The cost of each kind of tokens for people: none where there are no tokens of it.
    pub(crate) fn kinds(&self) -> [(&'static str, u64, Option<KnownCost>); 4] {
        let (tokens, cost) = (self.tokens, self.cost_usd);
        [
            ("input", tokens.input, cost.input),
            ("output", tokens.output, cost.output),
            ("cache read", tokens.cache_read, cost.cache_read),
            ("cache write", tokens.cache_write, cost.cache_write),
        ]
        .map(|(name, tokens, usd)| {
            let is_estimated = self.estimated_tokens > 0;
            let cost = KnownCost {
                spent_usd: usd,
                estimated_usd: if is_estimated { usd } else { Dollars::NOTHING },
                unknown_tokens: self.unpriced_tokens.min(tokens),
            };
            (name, tokens, (tokens > 0).then_some(cost))
        })
    }
}

/// The sums of loops, and how well their tokens were used.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct LoopUse {
    #[serde(flatten)]
    pub(crate) total: Figures,
    pub(crate) tool_calls: u64,
    pub(crate) tokens_per_tool_call: Option<f64>,
    pub(crate) cache_hit_rate: Option<f64>,
}

impl From<Totals> for LoopUse {
    fn from(totals: Totals) -> Self {
        Self {
            total: totals.into(),
            tool_calls: totals.tool_calls,
            tokens_per_tool_call: totals.tokens_per_tool_call(),
            cache_hit_rate: totals.tokens.cache_hit_rate(),
        }
    }
}

impl LoopUse {
    /// All that was spent, for each task that commands stood behind.
    pub(crate) fn cost_per_verified_task(&self, tasks: usize) -> Option<f64> {
        let spent = self.total.spent_usd;
        (tasks > 0 && spent > Dollars::NOTHING).then(|| spent.usd() / tasks as f64)
    }
}

/// The name shown for calls to an unnamed model.
pub(crate) const NO_MODEL: &str = "unknown model";

/// The caller of a model, in words.
pub(crate) fn asked_by(caller: Caller) -> &'static str {
    match caller {
        Caller::Agent => "the agent itself",
        Caller::Subagent => "subagents",
        Caller::Rest => "reported only as a total",
    }
}
