//! Shows the configuration in force, each value with where it came from.
//!
//! Values of an agent's `env` are never shown, and of the address of a webhook only the host: they may
//! be secrets.

use serde_json::Value;

use super::key::{self, KeyPath};
use super::layer::Origin;
use super::resolve::Resolved;
use super::schema;

/// Defines what stands in place of a value that may be a secret.
const HIDDEN: &str = "(hidden)";

/// An effective value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub key: KeyPath,
    pub value: Value,
    pub origin: Origin,
}

/// Every key with its value, in the order of the schema; each entry of a map has a row of its own.
pub fn effective(resolved: &Resolved) -> Vec<Row> {
    let values = serde_json::to_value(&resolved.config)
        .expect("a configuration is plain values with text keys");
    let mut rows = Vec::new();
    for known in key::all_keys() {
        let value = known
            .path
            .names()
            .try_fold(&values, |value, name| value.get(name))
            .unwrap_or(&Value::Null);
        match value {
            Value::Object(map) if schema::map_entries(known.schema).is_some() => {
                for (name, value) in map {
                    rows.push(row(resolved, known.path.child(name), value));
                }
                if map.is_empty() {
                    rows.push(row(resolved, known.path, value));
                }
            }
            value => rows.push(row(resolved, known.path, value)),
        }
    }
    rows
}

fn row(resolved: &Resolved, key: KeyPath, value: &Value) -> Row {
    let secret = value.is_string() && key.is_secret();
    let origin = resolved.origins.get(&key).cloned();
    let mut value = match (secret, &resolved.config.notify.webhook) {
        // Its host tells which one it is, and is no secret.
        (true, Some(url)) if key == KeyPath::dotted("notify.webhook") => url.shown().into(),
        (true, _) => HIDDEN.into(),
        (false, _) => value.clone(),
    };
    // A map that is one value has its variables within.
    let within = value.get_mut("env").and_then(Value::as_object_mut);
    for (_, variable) in within.into_iter().flatten() {
        *variable = HIDDEN.into();
    }
    Row {
        origin: origin.unwrap_or(Origin::Default),
        value,
        key,
    }
}

/// The effective configuration as a `ralph.yaml` in which a comment says where each value is from.
pub fn render_effective_yaml(resolved: &Resolved) -> String {
    let mut text = String::new();
    let mut open: Vec<String> = Vec::new();
    for row in effective(resolved) {
        let names: Vec<&str> = row.key.names().collect();
        let (sections, name) = names.split_at(names.len() - 1);
        let shared = open
            .iter()
            .zip(sections)
            .take_while(|(a, b)| a == *b)
            .count();
        open.truncate(shared);
        for section in &sections[shared..] {
            text.push_str(&format!(
                "{}{}:\n",
                indent(open.len()),
                scalar_text(section)
            ));
            open.push((*section).to_owned());
        }
        render_row(&mut text, open.len(), name[0], &row);
    }
    text
}

fn render_row(text: &mut String, depth: usize, name: &str, row: &Row) {
    let (pad, name) = (indent(depth), scalar_text(name));
    // An origin may hold a path, and a path may hold a line break.
    let origin = row.origin.to_string().replace(char::is_control, "?");
    match &row.value {
        Value::Array(items) if items.iter().any(|item| !item.is_string()) => {
            text.push_str(&format!("{pad}{name}:  # {origin}\n"));
            for item in items {
                text.push_str(&format!("{pad}  - {}\n", flow(item)));
            }
        }
        value => text.push_str(&format!("{pad}{name}: {}  # {origin}\n", flow(value))),
    }
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// A value on one line of YAML.
pub(super) fn flow(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.to_string(),
        Value::String(text) => scalar_text(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(flow_quoted).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", scalar_text(key), flow_quoted(value)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// Within lists and maps texts are always quoted, as command lines are usually written.
fn flow_quoted(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => flow(other),
    }
}

/// A text, bare where no one could read it as anything else.
fn scalar_text(text: &str) -> String {
    const NOT_TEXT: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let named = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    // `.inf` and `.nan` are numbers; a path is not.
    let path = text == "." || (text.starts_with('.') && text.contains('/'));
    let bare = (named || path)
        && text.chars().all(plain)
        && !NOT_TEXT.contains(&text.to_ascii_lowercase().as_str());
    if bare { text.to_owned() } else { quoted(text) }
}

/// A text in the double quotes of YAML; JSON's are the same, apart from characters that JSON lets
/// stand and YAML does not.
fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
