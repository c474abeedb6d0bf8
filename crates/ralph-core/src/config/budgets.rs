//! Describes what may be spent, and what models cost: the settings of `budgets` and `economics`.
//!
//! Only what is wanted; what is spent is in the journal.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::economics::PriceTable;

/// What models cost, and how spending is judged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EconomicsConfig {
    /// Prices that go before the shipped ones: a model's name, which may hold `*`, with the dollars
    /// for a million tokens by kind.
    pub prices: PriceTable,
    /// A file with prices that go before the shipped ones: YAML with `as_of`, a date, and `models`, which
    /// is as `prices`. A relative path is that of the repository.
    pub prices_file: Option<PathBuf>,
    /// True if agents are to start subagents from now on that the history knows nothing of: a
    /// forecast is then 15 times as high.
    pub multi_agent: bool,
    /// Seconds that a budget with `action: throttle` waits at 80 %; the wait doubles with each 4 %
    /// beyond, up to 15 minutes.
    pub throttle_seconds: u32,
}

impl Default for EconomicsConfig {
    fn default() -> Self {
        Self {
            prices: PriceTable::new(),
            prices_file: None,
            multi_agent: false,
            throttle_seconds: 30,
        }
    }
}
