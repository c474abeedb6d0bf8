//! Tokens and what they cost, by kind. Each kind of each call is rounded once, to the millionth of a
//! dollar; all sums are of those, so that they agree however they are grouped.

use serde::{Deserialize, Serialize};

use super::{PriceBasis, PricedTokens, Prices};
use crate::{agent::Usage, dollars::Dollars};

/// Tokens of a call to a model, or of many. `input` is without what a cache gave or took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Tokens {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Tokens {
    pub fn total(self) -> u64 {
        self.context().saturating_add(self.output)
    }

    /// Returns what the model was given.
    pub fn context(self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Returns what one call can't exceed: more is nonsense, and sums of it would not fit.
    pub fn capped(self) -> Self {
        const MOST: u64 = 1_000_000_000_000;
        self.zip(Self::default(), |n, _| n.min(MOST))
    }

    pub fn is_none(self) -> bool {
        self.total() == 0
    }

    pub fn plus(self, other: Self) -> Self {
        self.zip(other, u64::saturating_add)
    }

    /// Returns what is left of these once `other` is taken away; never below nothing.
    pub fn without(self, other: Self) -> Self {
        self.zip(other, u64::saturating_sub)
    }

    /// Of what the model was given, the share that came out of a cache.
    pub fn cache_hit_rate(self) -> Option<f64> {
        let given = self.context();
        (given > 0).then(|| self.cache_read as f64 / given as f64)
    }

    fn zip(self, other: Self, f: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input: f(self.input, other.input),
            output: f(self.output, other.output),
            cache_read: f(self.cache_read, other.cache_read),
            cache_write: f(self.cache_write, other.cache_write),
        }
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            input: usage.input_tokens,
            output: usage.output_tokens,
            cache_read: usage.cache_read_tokens,
            cache_write: usage.cache_write_tokens,
        }
    }
}

/// Describes what tokens cost by the table of prices.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CostByKind {
    pub input: Dollars,
    pub output: Dollars,
    pub cache_read: Dollars,
    pub cache_write: Dollars,
}

impl CostByKind {
    pub fn total(self) -> Dollars {
        self.input
            .plus(self.output)
            .plus(self.cache_read)
            .plus(self.cache_write)
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.plus(other.input),
            output: self.output.plus(other.output),
            cache_read: self.cache_read.plus(other.cache_read),
            cache_write: self.cache_write.plus(other.cache_write),
        }
    }
}

/// Calls of one run that are kept one by one; those beyond are summed up by model and caller.
pub const MAX_CALLS: usize = 2_000;

named! {
    /// The one who asked the model.
    #[derive(Default, PartialOrd, Ord)]
    pub enum Caller {
        #[default]
        Agent = "agent",
        Subagent = "subagent",
        /// No agent that the stream names: the agent told it only as part of a sum.
        Rest = "rest",
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelCall {
    pub model: Option<String>,
    pub caller: Caller,
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Tells what the agent says that this call cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Dollars>,
}

/// The calls of a run in their order, in bounded memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelCalls {
    first: Vec<ModelCall>,
    /// The sums of those beyond, by model and caller.
    sums: Vec<ModelCall>,
}

/// Models and callers that are summed up one by one; what others used beyond is told of no model.
const MAX_SUMS: usize = 100;

impl ModelCalls {
    pub fn push(&mut self, call: ModelCall) {
        if self.first.len() < MAX_CALLS {
            return self.first.push(call);
        }
        let mut same = self.sums.iter().position(|sum| sum.is_like(&call));
        if same.is_none() && self.sums.len() == MAX_SUMS {
            same = Some(MAX_SUMS - 1);
            let last = &mut self.sums[MAX_SUMS - 1];
            (last.model, last.caller) = (None, Caller::Rest);
        }
        match same {
            Some(at) => self.sums[at].add(&call),
            None => self.sums.push(call),
        }
    }

    pub fn into_all(mut self) -> Vec<ModelCall> {
        self.first.append(&mut self.sums);
        self.first
    }
}

impl ModelCall {
    fn is_like(&self, other: &Self) -> bool {
        self.model == other.model && self.caller == other.caller
    }

    fn add(&mut self, other: &Self) {
        self.tokens = self.tokens.plus(other.tokens);
        self.told = match (self.told, other.told) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or_default().plus(b.unwrap_or_default())),
        };
    }
}

/// The calls of a run, bounded, with what is missing to the run's own sum as one more.
pub fn complete(calls: Vec<ModelCall>, sum: Tokens, model: Option<&str>) -> Vec<ModelCall> {
    let seen = calls
        .iter()
        .fold(Tokens::default(), |sum, call| sum.plus(call.tokens));
    let mut all = ModelCalls::default();
    for call in calls {
        all.push(call);
    }
    let mut calls = all.into_all();
    let rest = sum.without(seen);
    if !rest.is_none() {
        calls.push(ModelCall {
            model: model.map(str::to_owned),
            caller: Caller::Rest,
            tokens: rest,
            told: None,
        });
    }
    calls
}

/// More is a mistake in the unit, and sums of it would not fit.
const MOST: Dollars = Dollars::whole(Dollars::MAX);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// Which run of an agent within the iteration.
    pub run: u32,
    pub agent: String,
    pub model: Option<String>,
    pub caller: Caller,
    pub tokens: Tokens,
    /// By the table of prices; nothing for a model that it does not know.
    pub cost: Option<CostByKind>,
    /// Tells what the price behind `cost` is worth.
    #[serde(default)]
    pub basis: PriceBasis,
    /// Tells what the agent says.
    pub told: Option<Dollars>,
}

impl TokenRecord {
    /// Returns what counts as spent: what the agent says, else what the table makes of it.
    pub fn spent(&self) -> Dollars {
        self.told
            .or_else(|| self.cost.map(CostByKind::total))
            .unwrap_or(Dollars::NOTHING)
    }
}

/// The records of a run, whose agent says that it cost `told`.
///
/// The agent's own figure is preferred. Where it tells one for a whole run, its calls share it by
/// what they cost by the table, to the millionth: the parts are an estimate, their sum is what was
/// told.
pub fn account(
    (run, agent): (u32, &str),
    calls: &[ModelCall],
    told: Option<Dollars>,
    prices: &Prices,
) -> Vec<TokenRecord> {
    let mut records: Vec<TokenRecord> = calls
        .iter()
        .map(|call| {
            let tokens = call.tokens.capped();
            let priced = prices.cost(call.model.as_deref(), tokens);
            TokenRecord {
                run,
                agent: agent.to_owned(),
                model: call.model.clone(),
                caller: call.caller,
                tokens,
                cost: priced.map(|PricedTokens { cost, .. }| cost),
                basis: priced.map_or(PriceBasis::Listed, |priced| priced.basis),
                told: call.told.map(|told| told.min(MOST)),
            }
        })
        .collect();
    let Some(told) = told.map(|told| told.min(MOST)) else {
        return records;
    };
    if records.is_empty() && told > Dollars::NOTHING {
        // Money without tokens is money all the same.
        records.push(TokenRecord {
            run,
            agent: agent.to_owned(),
            model: None,
            caller: Caller::Rest,
            tokens: Tokens::default(),
            cost: None,
            basis: PriceBasis::Listed,
            told: None,
        });
    }
    let by_call = records.iter().filter_map(|r| r.told);
    let known = by_call.fold(Dollars::NOTHING, Dollars::plus);
    share(told.without(known), &mut records);
    records
}

/// Gives what is told of no call to those of which nothing is told, else to all.
fn share(left: Dollars, records: &mut [TokenRecord]) {
    let untold = records.iter().any(|r| r.told.is_none());
    let mut takers: Vec<&mut TokenRecord> = records
        .iter_mut()
        .filter(|r| !untold || r.told.is_none())
        .collect();
    let priced = takers.iter().all(|r| r.cost.is_some());
    let weights: Vec<u64> = takers
        .iter()
        .map(|r| match r.cost.filter(|_| priced) {
            Some(cost) => cost.total().millionths(),
            None => r.tokens.total(),
        })
        .collect();
    for (record, part) in takers.iter_mut().zip(left.split(&weights)) {
        record.told = Some(record.told.unwrap_or_default().plus(part));
    }
}

/// An amount that was spent, and how much of it is known. The JSON form is a contract (docs/json.md).
///
/// Shown as `$1.20`; as `~$1.20` where a part is estimated, as `$1.20 + ?` where the cost of some calls
/// is not known, and as `?` where none is: what is not known is never shown as nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KnownCost {
    pub spent_usd: Dollars,
    /// The part of it that is by the price of a family of models.
    pub estimated_usd: Dollars,
    /// Tokens whose cost is not in it, as nothing tells it.
    pub unknown_tokens: u64,
}

impl KnownCost {
    pub fn plus(self, other: Self) -> Self {
        Self {
            spent_usd: self.spent_usd.plus(other.spent_usd),
            estimated_usd: self.estimated_usd.plus(other.estimated_usd),
            unknown_tokens: self.unknown_tokens + other.unknown_tokens,
        }
    }

    /// Returns true if nothing at all is known of it.
    pub fn is_unknown(&self) -> bool {
        self.spent_usd == Dollars::NOTHING && self.unknown_tokens > 0
    }

    /// With the amount as `amount` writes it.
    pub fn with(&self, amount: impl FnOnce(Dollars) -> String) -> String {
        if self.is_unknown() {
            return "?".to_owned();
        }
        let about = match self.estimated_usd {
            Dollars::NOTHING => "",
            _ => "~",
        };
        let rest = match self.unknown_tokens {
            0 => "",
            _ => " + ?",
        };
        format!("{about}{}{rest}", amount(self.spent_usd))
    }
}

impl std::fmt::Display for KnownCost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.with(|amount| amount.to_string()))
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Totals {
    pub calls: u64,
    pub tool_calls: u64,
    pub tokens: Tokens,
    /// By the table of prices.
    pub cost: CostByKind,
    /// Tokens of models without a price, which `cost` does not hold.
    pub unpriced_tokens: u64,
    /// Tokens that `cost` holds by the price of their model's family.
    pub estimated_tokens: u64,
    /// Tokens of calls whose cost neither the table nor the agent tells, which `spent` does not hold.
    pub unknown_tokens: u64,
    /// Tells what agents said, of the calls of which they said anything.
    pub told: Dollars,
    /// Tells what the table makes of those same calls.
    pub told_by_table: Dollars,
    /// Tells what counts: what agents said, else what the table makes of it.
    pub spent: Dollars,
    /// The part of `spent` that is by the price of a family.
    pub estimated: Dollars,
}

impl Totals {
    pub fn of(record: &TokenRecord) -> Self {
        let table = record.cost.unwrap_or_default();
        let is_told = record.told.is_some();
        let is_estimated = record.cost.is_some() && record.basis == PriceBasis::Estimated;
        let tokens = record.tokens.total();
        let only_if = |holds: bool| if holds { tokens } else { 0 };
        Self {
            calls: 1,
            tool_calls: 0,
            tokens: record.tokens,
            cost: table,
            unpriced_tokens: only_if(record.cost.is_none()),
            estimated_tokens: only_if(is_estimated),
            unknown_tokens: only_if(record.cost.is_none() && !is_told),
            told: record.told.unwrap_or_default(),
            told_by_table: if is_told {
                table.total()
            } else {
                Dollars::NOTHING
            },
            spent: record.spent(),
            estimated: if is_estimated && !is_told {
                record.spent()
            } else {
                Dollars::NOTHING
            },
        }
    }

    pub fn sum<'a>(records: impl IntoIterator<Item = &'a TokenRecord>) -> Self {
        records
            .into_iter()
            .fold(Self::default(), |sum, record| sum.plus(Self::of(record)))
    }

    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls + other.calls,
            tool_calls: self.tool_calls + other.tool_calls,
            tokens: self.tokens.plus(other.tokens),
            cost: self.cost.plus(other.cost),
            unpriced_tokens: self.unpriced_tokens + other.unpriced_tokens,
            estimated_tokens: self.estimated_tokens + other.estimated_tokens,
            unknown_tokens: self.unknown_tokens + other.unknown_tokens,
            told: self.told.plus(other.told),
            told_by_table: self.told_by_table.plus(other.told_by_table),
            spent: self.spent.plus(other.spent),
            estimated: self.estimated.plus(other.estimated),
        }
    }

    /// The sum that was spent, with what is known of it.
    pub fn known_cost(&self) -> KnownCost {
        KnownCost {
            spent_usd: self.spent,
            estimated_usd: self.estimated,
            unknown_tokens: self.unknown_tokens,
        }
    }

    /// Returns what agents said less what the table makes of the same calls, in dollars.
    pub fn difference_usd(&self) -> f64 {
        let (told, table) = (self.told.millionths(), self.told_by_table.millionths());
        (told as f64 - table as f64) / 1e6
    }

    pub fn tokens_per_tool_call(&self) -> Option<f64> {
        (self.tool_calls > 0).then(|| self.tokens.total() as f64 / self.tool_calls as f64)
    }
}
