//! Arguments of tools: declared once, shown to clients as a JSON schema, and checked.
//!
//! A value that does not fit is an error that names the argument, never a default.

use ralph_core::sanitize::one_line;
use serde_json::{Map, Value, json};

/// An argument of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolArgument {
    pub name: &'static str,
    pub about: &'static str,
    pub need: ArgumentNeed,
    pub kind: ArgumentKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentNeed {
    Required,
    Optional,
}

/// The values that an argument can have. Each kind has its cap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgumentKind {
    /// So many characters at most, and at least one that is no white space.
    Text {
        most: usize,
    },
    /// So many texts, each with so many characters.
    Texts {
        most: usize,
        most_text: usize,
    },
    Number {
        least: i64,
        most: i64,
    },
    Flag,
    Choice(&'static [&'static str]),
}

/// Columns of a name from a client that an error shows.
const MOST_NAME: usize = 60;

impl ToolArgument {
    fn schema(&self) -> Value {
        let mut schema = match self.kind {
            ArgumentKind::Text { most } => {
                json!({"type": "string", "minLength": 1, "maxLength": most})
            }
            ArgumentKind::Texts { most, most_text } => json!({
                "type": "array", "maxItems": most,
                "items": {"type": "string", "minLength": 1, "maxLength": most_text},
            }),
            ArgumentKind::Number { least, most } => {
                json!({"type": "integer", "minimum": least, "maximum": most})
            }
            ArgumentKind::Flag => json!({"type": "boolean"}),
            ArgumentKind::Choice(words) => json!({"type": "string", "enum": words}),
        };
        schema["description"] = self.about.into();
        schema
    }

    /// Returns what is wrong with a value.
    fn fault(&self, value: &Value) -> Option<String> {
        let name = self.name;
        match self.kind {
            ArgumentKind::Text { most } => text_fault(value, most),
            ArgumentKind::Texts { most, most_text } => match value.as_array() {
                None => Some("must be a list of texts".to_owned()),
                Some(all) if all.len() > most => Some(format!("has more than {most} entries")),
                Some(all) => all.iter().find_map(|one| text_fault(one, most_text)),
            },
            ArgumentKind::Number { least, most } => {
                let fits = value.as_i64().is_some_and(|n| (least..=most).contains(&n));
                (!fits).then(|| format!("must be a whole number from {least} to {most}"))
            }
            ArgumentKind::Flag => (!value.is_boolean()).then(|| "must be true or false".to_owned()),
            ArgumentKind::Choice(words) => {
                let fits = value.as_str().is_some_and(|word| words.contains(&word));
                (!fits).then(|| format!("must be one of {}", words.join(", ")))
            }
        }
        .map(|fault| format!("argument `{name}` {fault}"))
    }
}

fn text_fault(value: &Value, most: usize) -> Option<String> {
    match value.as_str() {
        None => Some("must be a text".to_owned()),
        Some(text) if text.trim().is_empty() => Some("is empty".to_owned()),
        Some(text) if text.chars().count() > most => {
            Some(format!("has more than {most} characters"))
        }
        Some(_) => None,
    }
}

/// The JSON schema of all arguments of a tool.
pub(super) fn schema(arguments: &[ToolArgument]) -> Map<String, Value> {
    let properties = arguments
        .iter()
        .map(|argument| (argument.name.to_owned(), argument.schema()));
    let properties: Map<String, Value> = properties.collect();
    let required = arguments
        .iter()
        .filter(|argument| argument.need == ArgumentNeed::Required);
    let required: Vec<&str> = required.map(|argument| argument.name).collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), required.into());
    }
    schema.insert("additionalProperties".into(), false.into());
    schema
}

/// Arguments that fit the declaration of their tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckedArguments(Map<String, Value>);

impl CheckedArguments {
    /// Checks arguments; the error names the one that does not fit. `null` is as good as none.
    pub fn check(
        declared: &[ToolArgument],
        given: Option<Map<String, Value>>,
    ) -> Result<Self, String> {
        let mut given = given.unwrap_or_default();
        given.retain(|_, value| !value.is_null());
        for (name, value) in &given {
            let Some(argument) = declared.iter().find(|known| known.name == name) else {
                let names: Vec<&str> = declared.iter().map(|known| known.name).collect();
                let there = match names.as_slice() {
                    [] => "this tool takes none".to_owned(),
                    names => format!("there are {}", names.join(", ")),
                };
                let name = one_line(name, MOST_NAME);
                return Err(format!("there is no argument `{name}`; {there}"));
            };
            if let Some(fault) = argument.fault(value) {
                return Err(fault);
            }
        }
        let is_missing = |argument: &&ToolArgument| {
            argument.need == ArgumentNeed::Required && !given.contains_key(argument.name)
        };
        match declared.iter().find(is_missing) {
            Some(missing) => Err(format!("argument `{}` is missing", missing.name)),
            None => Ok(Self(given)),
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    pub fn texts(&self, name: &str) -> Vec<String> {
        let texts = self.0.get(name).and_then(Value::as_array);
        let texts = texts.into_iter().flatten().filter_map(Value::as_str);
        texts.map(str::to_owned).collect()
    }

    pub fn number(&self, name: &str) -> Option<i64> {
        self.0.get(name)?.as_i64()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool) == Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: [ToolArgument; 4] = [
        ToolArgument {
            name: "id",
            about: "The id.",
            need: ArgumentNeed::Required,
            kind: ArgumentKind::Text { most: 5 },
        },
        ToolArgument {
            name: "limit",
            about: "How many.",
            need: ArgumentNeed::Optional,
            kind: ArgumentKind::Number { least: 1, most: 9 },
        },
        ToolArgument {
            name: "by",
            about: "By what.",
            need: ArgumentNeed::Optional,
            kind: ArgumentKind::Choice(&["task", "day"]),
        },
        ToolArgument {
            name: "labels",
            about: "Labels.",
            need: ArgumentNeed::Optional,
            kind: ArgumentKind::Texts {
                most: 2,
                most_text: 3,
            },
        },
    ];

    fn checked(given: Value) -> Result<CheckedArguments, String> {
        CheckedArguments::check(&DECLARED, given.as_object().cloned())
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let table = [
            (json!({}), "argument `id` is missing"),
            (json!({"id": null}), "argument `id` is missing"),
            (json!({"id": 3}), "argument `id` must be a text"),
            (json!({"id": "  "}), "argument `id` is empty"),
            (
                json!({"id": "123456"}),
                "argument `id` has more than 5 characters",
            ),
            (
                json!({"id": "a", "limit": 10}),
                "argument `limit` must be a whole number from 1 to 9",
            ),
            (
                json!({"id": "a", "by": "week"}),
                "argument `by` must be one of task, day",
            ),
            (
                json!({"id": "a", "labels": ["x", "long"]}),
                "argument `labels` has more than 3 characters",
            ),
            (
                json!({"id": "a", "labels": ["x", "y", "z"]}),
                "argument `labels` has more than 2 entries",
            ),
            (
                json!({"id": "a", "all": true}),
                "there is no argument `all`; there are id, limit, by, labels",
            ),
        ];
        for (given, says) in table {
            assert_eq!(checked(given), Err(says.to_owned()));
        }
    }

    #[test]
    fn what_fits_is_read_by_its_kind() {
        let found = checked(json!({"id": "a", "limit": 9, "by": null, "labels": ["x"]})).unwrap();
        assert_eq!(found.text("id"), Some("a"));
        assert_eq!(found.number("limit"), Some(9));
        assert_eq!(found.text("by"), None);
        assert_eq!(found.texts("labels"), ["x"]);
        assert!(!found.flag("now"));
    }

    #[test]
    fn the_schema_says_the_same_to_clients() {
        let expected = json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "minLength": 1, "maxLength": 5, "description": "The id."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 9, "description": "How many."},
                "by": {"type": "string", "enum": ["task", "day"], "description": "By what."},
                "labels": {
                    "type": "array", "maxItems": 2,
                    "items": {"type": "string", "minLength": 1, "maxLength": 3},
                    "description": "Labels.",
                },
            },
            "required": ["id"],
            "additionalProperties": false,
        });
        assert_eq!(Value::Object(schema(&DECLARED)), expected);
    }
}
