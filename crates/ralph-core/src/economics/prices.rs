//! Describes what a million tokens of a model cost. The table is data: shipped, dated, and the user's to override.
//!
//! A model that no row fits has no price; nothing is assumed for it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CostByKind, ModelCall, Tokens};
use crate::dollars::Dollars;

const SHIPPED: &str = include_str!("prices.yaml");

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub Dollars);

schema_of!(Rate, { "type": "number", "minimum": 0, "maximum": Dollars::MAX });

/// What a million tokens of a model cost, by kind, in dollars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// What the model reads.
    pub input: Rate,
    /// What it writes, and what it thinks.
    pub output: Rate,
    /// What comes out of a cache; as `input` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<Rate>,
    /// What goes into a cache; as `input` where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<Rate>,
}

impl Price {
    pub fn cost(&self, tokens: Tokens) -> CostByKind {
        let cost = |n: u64, rate: Rate| rate.0.for_millionths(n);
        CostByKind {
            input: cost(tokens.input, self.input),
            output: cost(tokens.output, self.output),
            cache_read: cost(tokens.cache_read, self.cache_read.unwrap_or(self.input)),
            cache_write: cost(tokens.cache_write, self.cache_write.unwrap_or(self.input)),
        }
    }
}

/// A table as it is written down: names of models, which may hold `*`.
pub type PriceTable = BTreeMap<String, Price>;

/// A whole list of prices, as the shipped one is written, and a user's own file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceList {
    /// The day that they are as of.
    pub as_of: String,
    pub models: PriceTable,
}

/// Why a list of prices can't be read, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct BadPriceList {
    pub line: u64,
    pub column: u64,
    pub message: String,
}

impl PriceList {
    pub fn parse(text: &str) -> Result<Self, BadPriceList> {
        let options = serde_saphyr::options! { with_snippet: false };
        serde_saphyr::from_str_with_options(text, options).map_err(|error: serde_saphyr::Error| {
            let place = error.location();
            let message = error.without_snippet().to_string();
            // The place stands in front; in the parser's words it would stand there twice.
            let end = message.find(" at line ").unwrap_or(message.len());
            BadPriceList {
                line: place.map_or(1, |place| place.line()),
                column: place.map_or(1, |place| place.column()),
                message: message[..end].to_owned(),
            }
        })
    }
}

/// A list of prices that the user named, with where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceFile {
    pub path: String,
    pub list: PriceList,
}

/// The prices in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prices {
    shipped: PriceList,
    file: Option<PriceFile>,
    own: PriceTable,
}

/// Where a price is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceSource {
    /// `economics.prices`.
    Config,
    /// The file of `economics.prices_file`.
    File,
    Shipped,
}

/// One row of the prices in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceRow {
    pub model: String,
    /// The user's own.
    pub own: bool,
    pub source: PriceSource,
    pub input: Rate,
    pub output: Rate,
    pub cache_read: Rate,
    pub cache_write: Rate,
}

impl Prices {
    /// The shipped table, with the user's own rows before it.
    pub fn with(own: &PriceTable) -> Self {
        Self {
            // A test reads it: what is shipped can be read.
            shipped: PriceList::parse(SHIPPED).unwrap_or_default(),
            file: None,
            own: own.clone(),
        }
    }

    /// With the rows of a file between the two.
    #[must_use]
    pub fn and_file(self, file: Option<PriceFile>) -> Self {
        Self { file, ..self }
    }

    /// Returns what day the shipped prices are as of.
    pub fn as_of(&self) -> &str {
        &self.shipped.as_of
    }

    pub fn file(&self) -> Option<&PriceFile> {
        self.file.as_ref()
    }

    /// All rows by where they are from, those that go first first.
    fn tables(&self) -> [(PriceSource, Option<&PriceTable>); 3] {
        let file = self.file.as_ref().map(|file| &file.list.models);
        [
            (PriceSource::Config, Some(&self.own)),
            (PriceSource::File, file),
            (PriceSource::Shipped, Some(&self.shipped.models)),
        ]
    }

    /// The price of a model. The user's rows go first, then those of the file; among those that fit,
    /// the most exact one.
    pub fn of(&self, model: &str) -> Option<&Price> {
        let mut tables = self.tables().into_iter().filter_map(|(_, table)| table);
        tables.find_map(|table| best(table, model))
    }

    pub fn cost(&self, model: Option<&str>, tokens: Tokens) -> Option<CostByKind> {
        Some(self.of(model?)?.cost(tokens))
    }

    pub fn rows(&self) -> Vec<PriceRow> {
        let mut rows: Vec<PriceRow> = Vec::new();
        for (source, table) in self.tables() {
            for (model, price) in table.into_iter().flatten() {
                // One that goes before it has the same name.
                if rows.iter().any(|row| row.model == *model) {
                    continue;
                }
                rows.push(PriceRow {
                    model: model.clone(),
                    own: source != PriceSource::Shipped,
                    source,
                    input: price.input,
                    output: price.output,
                    cache_read: price.cache_read.unwrap_or(price.input),
                    cache_write: price.cache_write.unwrap_or(price.input),
                });
            }
        }
        rows
    }
}

fn best<'a>(table: &'a PriceTable, model: &str) -> Option<&'a Price> {
    let (full, plain) = names(model);
    let letters = |pattern: &str| pattern.chars().filter(|c| *c != '*').count();
    table
        .iter()
        .filter(|(pattern, _)| {
            let pattern = pattern.to_lowercase();
            fits(&pattern, &full) || fits(&pattern, &plain)
        })
        .max_by_key(|(pattern, _)| letters(pattern))
        .map(|(_, price)| price)
}

/// As it is written, and without who serves it and how large its window is: `anthropic/x[1m]` is `x`.
fn names(model: &str) -> (String, String) {
    let full = model.trim().to_lowercase();
    let plain = full.rsplit('/').next().unwrap_or(&full);
    let plain = plain.split('[').next().unwrap_or(plain).to_owned();
    (full, plain)
}

/// Returns true if a name fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut left) = name.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

/// Adds up what a run of an agent has cost so far, call by call, while it still runs.
///
/// Only an estimate to stop by: what the agent says at its end is what is recorded. A model without
/// a price costs nothing here, and is named.
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
