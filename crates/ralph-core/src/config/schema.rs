//! The JSON Schema of `ralph.yaml`, and how ralph itself reads it.
//!
//! One schema serves editors and ralph's own checks, so that the two cannot disagree.

use std::sync::OnceLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::Config;

/// The JSON Schema of `ralph.yaml`: for an editor, with descriptions and defaults.
pub fn schema() -> Value {
    root().clone()
}

pub(super) fn root() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        // Inlined: anyone who follows a key finds its type there, without looking up references.
        SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator()
            .into_root_schema_for::<Config>()
            .to_value()
    })
}

pub(super) fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(name, property)| (name.as_str(), property))
}

/// A section has keys of its own that are known by name.
pub(super) fn is_section(schema: &Value) -> bool {
    schema.get("properties").is_some()
}

/// The schema of the entries, if this is a map whose keys are the user's.
pub(super) fn map_entries(schema: &Value) -> Option<&Value> {
    if is_section(schema) {
        return None;
    }
    schema
        .get("additionalProperties")
        .filter(|entries| entries.is_object())
}

/// The branches of a schema that is one of several.
pub(super) fn branches(schema: &Value) -> Option<&Vec<Value>> {
    schema.get("anyOf").and_then(Value::as_array)
}

/// The words to choose from, if there is a choice.
pub(super) fn choices(schema: &Value) -> Option<Vec<&str>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return Some(words.iter().filter_map(Value::as_str).collect());
    }
    let variants = schema.get("oneOf").and_then(Value::as_array)?;
    let mut words = Vec::new();
    for variant in variants {
        match variant.get("const").and_then(Value::as_str) {
            Some(word) => words.push(word),
            // Undocumented variants are gathered in one `enum` among the others.
            None => words.extend(choices(variant).unwrap_or_default()),
        }
    }
    Some(words)
}

pub(super) fn has_type(schema: &Value, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(one)) => one == name,
        Some(Value::Array(several)) => several.iter().any(|one| one == name),
        _ => false,
    }
}

/// Returns true if a value may be a bare text, so that one from the environment is taken as it stands.
pub(super) fn takes_text(schema: &Value) -> bool {
    has_type(schema, "string")
        || choices(schema).is_some()
        || branches(schema).is_some_and(|all| all.iter().any(takes_text))
}

pub(super) fn takes_null(schema: &Value) -> bool {
    has_type(schema, "null") || branches(schema).is_some_and(|all| all.iter().any(takes_null))
}

/// Returns what a value must be, in words.
pub(super) fn expected(schema: &Value) -> String {
    if let Some(words) = choices(schema) {
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        return match quoted.as_slice() {
            [only] => only.clone(),
            several => format!("one of {}", several.join(", ")),
        };
    }
    if let Some(all) = branches(schema) {
        let words: Vec<String> = all.iter().map(expected).collect();
        return words.join(" or ");
    }
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let mut text = if has_type(schema, "integer") {
        "a whole number".to_owned()
    } else if has_type(schema, "number") {
        "a number".to_owned()
    } else if has_type(schema, "boolean") {
        "`true` or `false`".to_owned()
    } else if has_type(schema, "array") {
        let items = schema.get("items").map_or("values".into(), expected_items);
        format!("a list of {items}")
    } else if has_type(schema, "object") {
        "a map".to_owned()
    } else if has_type(schema, "string") {
        "a text".to_owned()
    } else {
        return "nothing".to_owned();
    };
    if let Some(least) = bound("minimum") {
        text.push_str(&format!(" of at least {least}"));
    } else if let Some(above) = bound("exclusiveMinimum") {
        text.push_str(&format!(" greater than {above}"));
    }
    if let Some(most) = schema.get("maximum").and_then(Value::as_f64) {
        text.push_str(&format!(" and at most {most}"));
    }
    if bound("minLength").is_some() || bound("minItems").is_some() {
        text.push_str(" that is not empty");
    }
    if has_type(schema, "null") {
        text.push_str(" or nothing");
    }
    text
}

/// The largest number that a schema admits; that of a 32-bit number is only in its format.
pub(super) fn maximum(schema: &Value) -> Option<f64> {
    let narrow = schema.get("format").and_then(Value::as_str) == Some("uint32");
    schema
        .get("maximum")
        .and_then(Value::as_f64)
        .or_else(|| narrow.then_some(f64::from(u32::MAX)))
}

fn expected_items(items: &Value) -> String {
    if branches(items).is_some() {
        // The only list whose elements are of two kinds is one of commands.
        return "commands, each a list of words or a line for the shell".to_owned();
    }
    if has_type(items, "string") {
        return "texts".to_owned();
    }
    if has_type(items, "object") {
        return "maps".to_owned();
    }
    "values".to_owned()
}
