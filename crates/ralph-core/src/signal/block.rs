//! The closing block that every prompt asks for: YAML between `<ralph>` and `</ralph>` at the end
//! of the final message. All parts are optional; a broken block is noted and costs nothing else.

use serde::{Deserialize, Deserializer, Serialize};

/// Most entries kept of each list, and most characters of each entry.
const MAX_ENTRIES: usize = 20;
const MAX_CHARS: usize = 2_000;

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClosingBlock {
    #[serde(deserialize_with = "text")]
    pub summary: Option<String>,
    #[serde(deserialize_with = "texts")]
    pub learnings: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub decisions: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub assumptions: Vec<String>,
    #[serde(deserialize_with = "texts")]
    pub constraints: Vec<String>,
    #[serde(deserialize_with = "items")]
    pub blocked: Vec<BlockedItem>,
    #[serde(deserialize_with = "items")]
    pub follow_ups: Vec<FollowUp>,
    #[serde(deserialize_with = "text")]
    pub phase: Option<String>,
    #[serde(deserialize_with = "text")]
    pub handoff: Option<String>,
    #[serde(deserialize_with = "text")]
    pub next: Option<String>,
    /// Why the block could not be read, where there was one.
    pub broken: Option<String>,
}

/// A task that can't be taken, or what an agent said that it could not do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockedItem {
    pub item: String,
    pub reason: String,
}

/// A task that an agent suggests. It is offered to a person, never started by itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowUp {
    pub title: String,
    pub description: String,
}

/// Takes the closing block out of a message: what is left, and what the block said.
pub(super) fn split(message: &str) -> (String, ClosingBlock) {
    const OPEN: &str = "<ralph>";
    const CLOSE: &str = "</ralph>";
    let Some(start) = message.rfind(OPEN) else {
        return (message.to_owned(), ClosingBlock::default());
    };
    let body = start + OPEN.len();
    let (end, after) = match message[body..].find(CLOSE) {
        Some(i) => (body + i, body + i + CLOSE.len()),
        None => (message.len(), message.len()),
    };
    let rest = format!("{}{}", &message[..start], &message[after..]);
    (rest, parse(&message[body..end]))
}

fn parse(yaml: &str) -> ClosingBlock {
    let body = unfenced(yaml);
    if body.trim().is_empty() {
        return ClosingBlock::default();
    }
    match serde_saphyr::from_str::<ClosingBlock>(&body) {
        Ok(block) => ClosingBlock {
            broken: None,
            ..block
        },
        Err(error) => ClosingBlock {
            broken: Some(
                error
                    .to_string()
                    .lines()
                    .next()
                    .unwrap_or_default()
                    .to_owned(),
            ),
            ..ClosingBlock::default()
        },
    }
}

/// Agents like to put a fence around YAML.
fn unfenced(yaml: &str) -> String {
    yaml.lines()
        .filter(|line| !line.trim_start().starts_with("```"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Loose {
    Many(Vec<serde_json::Value>),
    One(serde_json::Value),
}

fn loose<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<serde_json::Value>, D::Error> {
    Ok(match Loose::deserialize(deserializer)? {
        Loose::Many(values) => values.into_iter().take(MAX_ENTRIES).collect(),
        Loose::One(serde_json::Value::Null) => Vec::new(),
        Loose::One(value) => vec![value],
    })
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    Ok(loose(deserializer)?
        .iter()
        .map(plain)
        .filter(|s| !s.is_empty())
        .collect())
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let joined = loose(deserializer)?
        .iter()
        .map(plain)
        .collect::<Vec<_>>()
        .join("\n");
    Ok((!joined.is_empty()).then_some(joined))
}

fn plain(value: &serde_json::Value) -> String {
    let text = match value {
        serde_json::Value::String(text) => text.trim().to_owned(),
        serde_json::Value::Null => String::new(),
        other => other.to_string(),
    };
    text.chars().take(MAX_CHARS).collect()
}

/// An entry that may be written as a text alone or as a map of two.
trait BlockEntry {
    const KEYS: [&'static [&'static str]; 2];
    fn make(first: String, second: String) -> Self;
}

impl BlockEntry for BlockedItem {
    const KEYS: [&'static [&'static str]; 2] = [&["item", "task", "what"], &["reason", "why"]];
    fn make(item: String, reason: String) -> Self {
        Self { item, reason }
    }
}

impl BlockEntry for FollowUp {
    const KEYS: [&'static [&'static str]; 2] = [
        &["title", "name", "task"],
        &["description", "why", "details"],
    ];
    fn make(title: String, description: String) -> Self {
        Self { title, description }
    }
}

fn items<'de, T: BlockEntry, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let field = |map: &serde_json::Map<String, serde_json::Value>, keys: &[&str]| {
        keys.iter()
            .find_map(|k| map.get(*k))
            .map(plain)
            .unwrap_or_default()
    };
    Ok(loose(deserializer)?
        .iter()
        .map(|value| match value {
            serde_json::Value::Object(map) => {
                T::make(field(map, T::KEYS[0]), field(map, T::KEYS[1]))
            }
            other => T::make(plain(other), String::new()),
        })
        .collect())
}
