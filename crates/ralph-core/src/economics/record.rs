//! Describes what a call to a model came to in tokens and money: what the journal keeps of it.
//!
//! The agent's own figure is preferred. Where it tells one for a whole run, its calls share it by what
//! they cost by the table, to the millionth: the parts are an estimate, their sum is what was told.

use serde::{Deserialize, Serialize};

use super::{Caller, CostByKind, ModelCall, Prices, Tokens};
use crate::dollars::Dollars;

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
pub fn account(
    (run, agent): (u32, &str),
    calls: &[ModelCall],
    told: Option<Dollars>,
    prices: &Prices,
) -> Vec<TokenRecord> {
    let mut records: Vec<TokenRecord> = calls
        .iter()
        .map(|call| TokenRecord {
            run,
            agent: agent.to_owned(),
            model: call.model.clone(),
            caller: call.caller,
            tokens: call.tokens.capped(),
            cost: prices.cost(call.model.as_deref(), call.tokens.capped()),
            told: call.told.map(|told| told.min(MOST)),
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
