//! A value as a layer wrote it, each part with its place.
//!
//! Knows YAML, and nothing of ralph's keys.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Number, Value};
use serde_saphyr::{Location, Spanned};

use super::error::{Position, Problem};

/// A value with its place; values of the environment and of flags have none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) at: Option<Position>,
    pub(super) kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) at: Option<Position>,
    pub(super) value: Node,
}

/// Reads one YAML document; an empty one is null.
pub(super) fn parse_yaml(text: &str) -> Result<Node, (Option<Position>, Problem)> {
    let options = serde_saphyr::options! {
        // `on` and `yes` stay texts: only the type of a key says what may stand for true.
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options::<Spanned<Kind>>(text, options)
        .map(Node::from)
        .map_err(|error| {
            let at = error.location().and_then(position);
            (at, problem(&error))
        })
}

fn problem(error: &serde_saphyr::Error) -> Problem {
    match error.without_snippet() {
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => Problem::DuplicateKey {
            key: key.to_string(),
        },
        serde_saphyr::Error::MultipleDocuments { .. } => Problem::Syntax {
            message: "expected one YAML document, found a second (`---`)".to_owned(),
        },
        other => {
            // The place is said by the caller; saying it again in the parser's words only confuses.
            let text = other.to_string();
            let message = match text.find(" at line ") {
                Some(end) => &text[..end],
                None => &text,
            };
            Problem::Syntax {
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

impl Node {
    /// A value without a place.
    pub(super) fn unplaced(kind: Kind) -> Self {
        Self { at: None, kind }
    }

    pub(super) fn from_json(value: &Value) -> Self {
        Self::unplaced(match value {
            Value::Null => Kind::Null,
            Value::Bool(b) => Kind::Bool(*b),
            Value::Number(n) => Kind::Number(n.clone()),
            Value::String(s) => Kind::Text(s.clone()),
            Value::Array(items) => Kind::List(items.iter().map(Self::from_json).collect()),
            Value::Object(map) => Kind::Map(
                map.iter()
                    .map(|(key, value)| Entry {
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
        Self::unplaced(Kind::Map(vec![Entry {
            key: key.to_owned(),
            at: None,
            value: self,
        }]))
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(b) => Value::Bool(*b),
            Kind::Number(n) => Value::Number(n.clone()),
            Kind::Text(s) => Value::String(s.clone()),
            Kind::List(items) => items.iter().map(Self::to_json).collect(),
            Kind::Map(entries) => entries
                .iter()
                .map(|entry| (entry.key.clone(), entry.value.to_json()))
                .collect(),
        }
    }

    /// What this is, in words.
    pub(super) fn describe(&self) -> String {
        match &self.kind {
            Kind::Null => "nothing".to_owned(),
            Kind::Bool(b) => format!("`{b}`"),
            Kind::Number(n) => n.to_string(),
            Kind::Text(s) if s.is_empty() => "an empty text".to_owned(),
            Kind::Text(s) => {
                let short: String = s.chars().take(60).collect();
                let more = if short.len() < s.len() { "…" } else { "" };
                format!("the text `{}{more}`", short.escape_debug())
            }
            Kind::List(items) if items.is_empty() => "an empty list".to_owned(),
            Kind::List(_) => "a list".to_owned(),
            Kind::Map(_) => "a map".to_owned(),
        }
    }

    /// What this is, without its content: for values that may be secrets.
    pub(super) fn describe_kind(&self) -> &'static str {
        match &self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "a truth value",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }
}

impl From<Spanned<Kind>> for Node {
    fn from(spanned: Spanned<Kind>) -> Self {
        Self {
            at: position(spanned.referenced),
            kind: spanned.value,
        }
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(KindVisitor)
    }
}

struct KindVisitor;

impl<'de> Visitor<'de> for KindVisitor {
    type Value = Kind;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_none<E>(self) -> Result<Kind, E> {
        Ok(Kind::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Kind, E> {
        Ok(Kind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Kind, E> {
        Ok(Kind::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Kind, E> {
        Number::from_f64(value)
            .map(Kind::Number)
            .ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Kind, E> {
        Ok(Kind::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Kind, E> {
        Ok(Kind::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Kind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element::<Spanned<Kind>>()? {
            items.push(Node::from(item));
        }
        Ok(Kind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Kind, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Kind>>()? {
            entries.push(Entry {
                at: position(key.referenced),
                key: key.value,
                value: Node::from(value),
            });
        }
        Ok(Kind::Map(entries))
    }
}
