//! Describes what many calls come to, in one line of figures.

use serde::{Deserialize, Serialize};

use super::{CostByKind, TokenRecord, Tokens};
use crate::dollars::Dollars;

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
    /// Tells what agents said, of the calls of which they said anything.
    pub told: Dollars,
    /// Tells what the table makes of those same calls.
    pub told_by_table: Dollars,
    /// Tells what counts: what agents said, else what the table makes of it.
    pub spent: Dollars,
}

impl Totals {
    pub fn of(record: &TokenRecord) -> Self {
        let table = record.cost.unwrap_or_default();
        let is_told = record.told.is_some();
        Self {
            calls: 1,
            tool_calls: 0,
            tokens: record.tokens,
            cost: table,
            unpriced_tokens: match record.cost {
                Some(_) => 0,
                None => record.tokens.total(),
            },
            told: record.told.unwrap_or_default(),
            told_by_table: if is_told {
                table.total()
            } else {
                Dollars::NOTHING
            },
            spent: record.spent(),
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
            told: self.told.plus(other.told),
            told_by_table: self.told_by_table.plus(other.told_by_table),
            spent: self.spent.plus(other.spent),
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
