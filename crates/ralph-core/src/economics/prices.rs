//! What a million tokens of a model cost. The table is data: shipped, dated, and the user's to override.
//!
//! A model that no row fits has no price; nothing is assumed for it.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{CostByKind, Tokens};
use crate::dollars::Dollars;

const SHIPPED: &str = include_str!("prices.yaml");

/// Dollars for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(pub Dollars);

impl JsonSchema for Rate {
    fn schema_name() -> Cow<'static, str> {
        "Rate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "number", "minimum": 0, "maximum": Dollars::MAX })
    }
}

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shipped {
    as_of: String,
    models: PriceTable,
}

/// The prices in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices {
    as_of: String,
    shipped: PriceTable,
    own: PriceTable,
}

/// One row of the prices in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PriceRow {
    pub model: String,
    /// The user's own.
    pub own: bool,
    pub input: Rate,
    pub output: Rate,
    pub cache_read: Rate,
    pub cache_write: Rate,
}

impl Prices {
    /// The shipped table, with the user's own rows before it.
    pub fn with(own: &PriceTable) -> Self {
        // A test reads it: what is shipped can be read.
        let shipped: Shipped = serde_saphyr::from_str(SHIPPED).unwrap_or(Shipped {
            as_of: String::new(),
            models: PriceTable::new(),
        });
        Self {
            as_of: shipped.as_of,
            shipped: shipped.models,
            own: own.clone(),
        }
    }

    /// What day the shipped prices are as of.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// The price of a model. The user's rows go first; among those that fit, the most exact one.
    pub fn of(&self, model: &str) -> Option<&Price> {
        best(&self.own, model).or_else(|| best(&self.shipped, model))
    }

    pub fn cost(&self, model: Option<&str>, tokens: Tokens) -> Option<CostByKind> {
        Some(self.of(model?)?.cost(tokens))
    }

    pub fn rows(&self) -> Vec<PriceRow> {
        let row = |own: bool| {
            move |(model, price): (&String, &Price)| PriceRow {
                model: model.clone(),
                own,
                input: price.input,
                output: price.output,
                cache_read: price.cache_read.unwrap_or(price.input),
                cache_write: price.cache_write.unwrap_or(price.input),
            }
        };
        let hidden = |model: &String| self.own.contains_key(model);
        let shipped = self.shipped.iter().filter(|(model, _)| !hidden(model));
        let own = self.own.iter().map(row(true));
        own.chain(shipped.map(row(false))).collect()
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

/// Whether a name fits a pattern in which `*` stands for anything.
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
