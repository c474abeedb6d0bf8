//! A value as a layer wrote it, each part with its place.
//!
//! Knows YAML, and nothing of ralph's keys.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, Spanned};

use super::layer::{ConfigProblem, Position};

/// A value with its place; values of the environment and of flags have none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ConfigNode {
    pub(super) at: Option<Position>,
    pub(super) kind: ConfigNodeKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum ConfigNodeKind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<ConfigNode>),
    Map(Vec<MapEntry>),
}

/// A key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MapEntry {
    pub(super) key: String,
    pub(super) at: Option<Position>,
    pub(super) value: ConfigNode,
}

/// Reads one YAML document; an empty one is null.
pub(super) fn parse_yaml(text: &str) -> Result<ConfigNode, (Option<Position>, ConfigProblem)> {
    let options = serde_saphyr::options! {
        // `on` and `yes` stay texts: only the type of a key says what may stand for true.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<ConfigNodeKind>>(text, options)
        .map(ConfigNode::from)
        .map_err(|error| {
            let at = error.location().and_then(position);
            (at, problem(&error))
        })
}

fn problem(error: &serde_saphyr::Error) -> ConfigProblem {
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
            ConfigProblem::DuplicateKey {
                key: key.to_string(),
            }
        }
        serde_saphyr::Error::MultipleDocuments { .. } => ConfigProblem::Syntax {
            message: "expected one YAML document, found a second (`---`)".to_owned(),
        },
        other => {
            // The place is said by the caller; saying it again in the parser's words only confuses.
            let text = other.to_string();
            let message = match text.find(" at line ") {
                Some(end) => &text[..end],
                None => &text,
            };
            ConfigProblem::Syntax {
                message: format!("not valid YAML: {message}"),
            }
        }
    }
}

fn position(location: Location) -> Option<Position> {
    let line = u32::try_from(location.line()).ok()?;
    let column = u32::try_from(location.column()).ok()?;
    (line > 0).then_some(Position { line, column })
}

impl ConfigNode {
    /// A value without a place.
    pub(super) fn unplaced(kind: ConfigNodeKind) -> Self {
        Self { at: None, kind }
    }

    pub(super) fn from_json(value: &Value) -> Self {
        Self::unplaced(match value {
            Value::Null => ConfigNodeKind::Null,
            Value::Bool(b) => ConfigNodeKind::Bool(*b),
            Value::Number(n) => ConfigNodeKind::Number(n.clone()),
            Value::String(s) => ConfigNodeKind::Text(s.clone()),
            Value::Array(items) => {
                ConfigNodeKind::List(items.iter().map(Self::from_json).collect())
            }
            Value::Object(map) => ConfigNodeKind::Map(
                map.iter()
                    .map(|(key, value)| MapEntry {
                        key: key.clone(),
                        at: None,
                        value: Self::from_json(value),
                    })
                    .collect(),
            ),
        })
    }

    /// The same value below one more key.
    pub(super) fn under(self, key: &str) -> Self {
        Self::unplaced(ConfigNodeKind::Map(vec![MapEntry {
            key: key.to_owned(),
            at: None,
            value: self,
        }]))
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            ConfigNodeKind::Null => Value::Null,
            ConfigNodeKind::Bool(b) => Value::Bool(*b),
            ConfigNodeKind::Number(n) => Value::Number(n.clone()),
            ConfigNodeKind::Text(s) => Value::String(s.clone()),
            ConfigNodeKind::List(items) => items.iter().map(Self::to_json).collect(),
            ConfigNodeKind::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.to_json()))
                .collect(),
        }
    }

    /// Returns what this is, in words.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            ConfigNodeKind::Null => "nothing".to_owned(),
            ConfigNodeKind::Bool(b) => format!("`{b}`"),
            ConfigNodeKind::Number(n) => n.to_string(),
            ConfigNodeKind::Text(s) if s.is_empty() => "an empty text".to_owned(),
            ConfigNodeKind::Text(s) => {
                let short: String = s.chars().take(60).collect();
                let more = if short.len() < s.len() { "…" } else { "" };
                format!("the text `{}{more}`", short.escape_debug())
            }
            ConfigNodeKind::List(items) if items.is_empty() => "an empty list".to_owned(),
            ConfigNodeKind::List(_) => "a list".to_owned(),
            ConfigNodeKind::Map(_) => "a map".to_owned(),
        }
    }

    /// Returns what this is, without its content: for values that may be secrets.
    pub(super) fn describe_kind(&self) -> &'static str {
        match &self.kind {
            ConfigNodeKind::Null => "nothing",
            ConfigNodeKind::Bool(_) => "a truth value",
            ConfigNodeKind::Number(_) => "a number",
            ConfigNodeKind::Text(_) => "a text",
            ConfigNodeKind::List(_) => "a list",
            ConfigNodeKind::Map(_) => "a map",
        }
    }
}

impl From<Spanned<ConfigNodeKind>> for ConfigNode {
    fn from(spanned: Spanned<ConfigNodeKind>) -> Self {
        Self {
            at: position(spanned.referenced),
            kind: spanned.value,
        }
    }
}

impl<'de> Deserialize<'de> for ConfigNodeKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = ConfigNodeKind;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Null)
    }

    fn visit_none<E>(self) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<ConfigNodeKind, E> {
        Number::from_f64(value)
            .map(ConfigNodeKind::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<ConfigNodeKind, E> {
        Ok(ConfigNodeKind::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ConfigNodeKind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<ConfigNodeKind>>()? {
            items.push(ConfigNode::from(item));
        }
        Ok(ConfigNodeKind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ConfigNodeKind, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) =
            map.next_entry::<Spanned<String>, Spanned<ConfigNodeKind>>()?
        {
            entries.push(MapEntry {
                at: position(key.referenced),
                key: key.value,
                value: ConfigNode::from(value),
            });
        }
        Ok(ConfigNodeKind::Map(entries))
    }
}
