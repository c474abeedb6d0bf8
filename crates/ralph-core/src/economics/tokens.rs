//! Tokens and what they cost, by kind. Each kind of each call is rounded once, to the millionth of a
//! dollar; all sums are of those, so that they agree however they are grouped.

use serde::{Deserialize, Serialize};

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
