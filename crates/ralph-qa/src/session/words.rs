//! Targets, checks and waits as they are written on one line: on a command line, or in an argument of a tool.
//!
//! A text is what is seen: `Sign in`. Pairs say more: `role=button name=Sign in`. A map is one of YAML, as in a flow.

use serde_json::{Map, Value};

use crate::flow::{FlowMistake, read_step, read_target};

/// The keys of targets that can be written as pairs.
const PAIR_KEYS: [&str; 11] = [
    "role",
    "name",
    "text",
    "label",
    "placeholder",
    "testid",
    "css",
    "any",
    "nth",
    "within",
    "exact",
];

/// Words that are not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WordsMistake(String);

impl From<Vec<FlowMistake>> for WordsMistake {
    /// The lines of what stands on one line say nothing.
    fn from(mistakes: Vec<FlowMistake>) -> Self {
        let all: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        Self(all.join("\n"))
    }
}

/// Reads a target, and returns it as the map that a flow has.
pub fn target_of_text(text: &str) -> Result<Map<String, Value>, WordsMistake> {
    let text = text.trim();
    let target = match map_of_yaml(text)? {
        Some(map) => map,
        None => pairs(text)?,
    };
    read_target(&json_text(&Value::Object(target.clone())))?;
    Ok(target)
}

/// Reads a check: a map as in a flow, or a text that must be seen.
pub fn check_of_text(text: &str) -> Result<Value, WordsMistake> {
    match yaml(text)? {
        checks @ (Value::Object(_) | Value::Array(_)) => Ok(checks),
        Value::String(_) | Value::Number(_) | Value::Bool(_) => {
            let mut check = Map::new();
            check.insert("text".to_owned(), text.trim().into());
            Ok(check.into())
        }
        Value::Null => Err(WordsMistake("expected a check, found nothing".to_owned())),
    }
}

/// Reads what is waited for: a time, `idle`, or a map as in a flow.
pub fn wait_of_text(text: &str) -> Result<Value, WordsMistake> {
    yaml(text)
}

/// The text of a step for [`super::SessionRequest::Step`]; a mistake in it is said here.
pub fn step_text(action: &str, value: impl Into<Value>) -> Result<String, WordsMistake> {
    let mut step = Map::new();
    step.insert(action.to_owned(), value.into());
    let text = json_text(&Value::Object(step));
    read_step(&text)?;
    Ok(text)
}

/// JSON is YAML, but for the line separators that only JSON has inside of texts.
fn json_text(value: &Value) -> String {
    value
        .to_string()
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
        .replace('\u{85}', "\\u0085")
}

fn yaml(text: &str) -> Result<Value, WordsMistake> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        WordsMistake(format!("expected YAML on one line: {first}"))
    })
}

fn map_of_yaml(text: &str) -> Result<Option<Map<String, Value>>, WordsMistake> {
    if !text.starts_with('{') {
        return Ok(None);
    }
    match yaml(text)? {
        Value::Object(map) => Ok(Some(map)),
        _ => Err(WordsMistake(format!(
            "expected a target such as `{{role: button, name: Sign in}}`, found `{text}`"
        ))),
    }
}

/// Reads `key=value` pairs; a text without any is a target by itself.
fn pairs(text: &str) -> Result<Map<String, Value>, WordsMistake> {
    let starts = pair_starts(text);
    let mut map = Map::new();
    if starts.first().is_none_or(|(at, _)| *at > 0) {
        map.insert("any".to_owned(), text.into());
        return Ok(map);
    }
    for (index, (at, key)) in starts.iter().enumerate() {
        let end = starts.get(index + 1).map_or(text.len(), |(next, _)| *next);
        let value = unquoted(text[at + key.len() + 1..end].trim());
        let value = match *key {
            "nth" => value.parse::<u64>().map_or(Value::from(value), Value::from),
            "exact" => value
                .parse::<bool>()
                .map_or(Value::from(value), Value::from),
            "within" => Value::Object(match map_of_yaml(value)? {
                Some(map) => map,
                None => pairs(value)?,
            }),
            _ => Value::from(value),
        };
        if map.insert((*key).to_owned(), value).is_some() {
            return Err(WordsMistake(format!("`{key}=` is given twice in `{text}`")));
        }
    }
    Ok(map)
}

/// Where pairs begin: at a known key behind white space, outside of quotes and of maps.
fn pair_starts(text: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let (mut is_quoted, mut depth, mut is_start) = (false, 0_usize, true);
    for (at, c) in text.char_indices() {
        if is_start && !is_quoted && depth == 0 {
            let key = PAIR_KEYS.iter().find(|key| {
                let rest = text[at..].strip_prefix(**key);
                rest.is_some_and(|rest| rest.starts_with('='))
            });
            found.extend(key.map(|key| (at, *key)));
        }
        match c {
            '"' => is_quoted = !is_quoted,
            '{' if !is_quoted => depth += 1,
            '}' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_start = c.is_whitespace();
    }
    found
}

fn unquoted(value: &str) -> &str {
    let inner = value.strip_prefix('"').and_then(|v| v.strip_suffix('"'));
    inner.unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn target(text: &str) -> Value {
        target_of_text(text).unwrap().into()
    }

    #[test]
    fn a_target_is_a_text_pairs_or_a_map() {
        let table = [
            ("Sign in", json!({"any": "Sign in"})),
            ("a = b", json!({"any": "a = b"})),
            ("What is name=x?", json!({"any": "What is name=x?"})),
            ("label=Full name", json!({"label": "Full name"})),
            (
                "role=button name=Sign in",
                json!({"role": "button", "name": "Sign in"}),
            ),
            (
                "role=button name=\"Set role=admin\" nth=2",
                json!({"role": "button", "name": "Set role=admin", "nth": 2}),
            ),
            (
                "role=button name=Delete within=Milk",
                json!({"role": "button", "name": "Delete", "within": {"any": "Milk"}}),
            ),
            (
                "any=Delete within={role: row, name: Milk} exact=true",
                json!({"any": "Delete", "within": {"role": "row", "name": "Milk"}, "exact": true}),
            ),
            (
                "{role: button, name: Sign in}",
                json!({"role": "button", "name": "Sign in"}),
            ),
            ("css=a[href='/x']", json!({"css": "a[href='/x']"})),
        ];
        for (text, expected) in table {
            assert_eq!(target(text), expected, "{text}");
        }
    }

    #[test]
    fn a_target_that_is_wrong_is_told() {
        let table = [
            ("role=buton", "did you mean `button`?"),
            ("name=Sign in", "expected `role` beside `name`"),
            ("css=a css=b", "`css=` is given twice"),
            ("role=button nth=first", "nth"),
            ("{role: button", "expected YAML on one line"),
            ("", "expected"),
        ];
        for (text, expected) in table {
            let error = target_of_text(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_check_is_a_map_or_a_text_that_is_seen() {
        assert_eq!(
            check_of_text("Hello Ada").unwrap(),
            json!({"text": "Hello Ada"})
        );
        assert_eq!(check_of_text("12").unwrap(), json!({"text": "12"}));
        assert_eq!(
            check_of_text("count: {role: listitem, is: 3}").unwrap(),
            json!({"count": {"role": "listitem", "is": 3}})
        );
    }

    #[test]
    fn a_step_that_is_wrong_is_told_before_it_is_sent() {
        assert_eq!(
            step_text("press", "Enter").unwrap(),
            "{\"press\":\"Enter\"}"
        );
        let error = step_text("press", "Entr").unwrap_err().to_string();
        assert!(error.contains("did you mean"), "{error}");
        let error = step_text("wait", json!({"gone": {"rol": "button"}})).unwrap_err();
        assert!(error.to_string().contains("did you mean `role`"), "{error}");
    }
}
