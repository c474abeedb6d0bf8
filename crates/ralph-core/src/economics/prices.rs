//! Describes what a million tokens of a model cost. The table is data: shipped, dated, and the user's to override.
//!
//! A model that no row fits is estimated by its family, and that is said. One without a family has no
//! price; nothing is assumed for it.

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
    /// For models that no row of `models` fits: estimates by family.
    #[serde(default, skip_serializing_if = "PriceTable::is_empty")]
    pub families: PriceTable,
}

named! {
    /// Tells what a price is worth.
    #[derive(Default)]
    pub enum PriceBasis {
        /// A row names the model.
        #[default]
        Listed = "listed",
        /// Only its family has one.
        Estimated = "estimated",
    }
}

/// The price that fits a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPrice {
    pub price: Price,
    pub basis: PriceBasis,
}

/// The cost of some tokens, by kind, and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PricedTokens {
    pub cost: CostByKind,
    pub basis: PriceBasis,
}

/// A model that no row of the table names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PriceGap {
    Unpriced(String),
    Estimated(String),
}

impl PriceGap {
    pub fn sentence(&self) -> String {
        match self {
            Self::Unpriced(model) => format!(
                "there is no price for {model}: unless its agent tells it, what it costs is not known; \
                 `economics.prices` sets one"
            ),
            Self::Estimated(model) => format!(
                "there is no price for {model}: its cost is estimated by its family; \
                 `economics.prices` sets one"
            ),
        }
    }
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
    /// A row of a family is `estimated`.
    pub basis: PriceBasis,
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
    /// the most exact one. Families are asked where no row fits.
    pub fn of(&self, model: &str) -> Option<FoundPrice> {
        let found = |table: Option<&PriceTable>, basis| {
            let price = *best(table?, model)?;
            Some(FoundPrice { price, basis })
        };
        let mut tables = self.tables().into_iter();
        let listed = tables.find_map(|(_, table)| found(table, PriceBasis::Listed));
        let file = self.file.as_ref().map(|file| &file.list.families);
        listed
            .or_else(|| found(file, PriceBasis::Estimated))
            .or_else(|| found(Some(&self.shipped.families), PriceBasis::Estimated))
    }

    pub fn cost(&self, model: Option<&str>, tokens: Tokens) -> Option<PricedTokens> {
        let FoundPrice { price, basis } = self.of(model?)?;
        let cost = price.cost(tokens);
        Some(PricedTokens { cost, basis })
    }

    /// The models of these that have no price of their own, each once.
    pub fn gaps<'a>(&self, models: impl IntoIterator<Item = &'a str>) -> Vec<PriceGap> {
        let models: BTreeSet<&str> = models.into_iter().collect();
        let gap = |model: &str| match self.of(model) {
            None => Some(PriceGap::Unpriced(model.to_owned())),
            Some(found) => match found.basis {
                PriceBasis::Estimated => Some(PriceGap::Estimated(model.to_owned())),
                PriceBasis::Listed => None,
            },
        };
        models.into_iter().filter_map(gap).collect()
    }

    pub fn rows(&self) -> Vec<PriceRow> {
        let mut rows: Vec<PriceRow> = Vec::new();
        let listed = self.tables().map(|of| (PriceBasis::Listed, of));
        let of_file = self.file.as_ref().map(|file| &file.list.families);
        let families = [
            (PriceSource::File, of_file),
            (PriceSource::Shipped, Some(&self.shipped.families)),
        ]
        .map(|of| (PriceBasis::Estimated, of));
        for (basis, (source, table)) in listed.into_iter().chain(families) {
            for (model, price) in table.into_iter().flatten() {
                // One that goes before it has the same name.
                if rows.iter().any(|row| row.model == *model) {
                    continue;
                }
                rows.push(PriceRow {
                    model: model.clone(),
                    own: source != PriceSource::Shipped,
                    source,
                    basis,
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
    /// Models that were named as unpriced or as estimated.
    named: BTreeSet<String>,
}

/// Tells whether what a call costs is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Metered {
    Priced,
    /// Its model has a price only by its family, and that is seen for the first time in this run.
    NewEstimated,
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
            named: BTreeSet::new(),
        }
    }

    /// Takes a call, or what one has grown by: what the agent says of it, else what the table makes.
    pub fn add(&mut self, call: &ModelCall) -> Metered {
        if let Some(told) = call.told {
            self.by_call = self.by_call.plus(told);
            return Metered::Priced;
        }
        if call.tokens.is_none() {
            return Metered::Priced;
        }
        let name = || call.model.clone().unwrap_or_default();
        let by_table = self.prices.cost(call.model.as_deref(), call.tokens);
        if let Some(PricedTokens { cost, basis }) = by_table {
            self.by_call = self.by_call.plus(cost.total());
            return match basis {
                PriceBasis::Estimated if self.named.insert(name()) => Metered::NewEstimated,
                PriceBasis::Estimated | PriceBasis::Listed => Metered::Priced,
            };
        }
        if self.named.insert(name()) {
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
