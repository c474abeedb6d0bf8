//! Takes a layer apart into single settings, and finds what is wrong with them.
//!
//! Follows the schema, so that a key is declared in one place. Changes no value.

use serde_json::Value;

use super::layer::{ConfigProblem, Position};
use super::node::{ConfigNode, ConfigNodeKind};
use super::schema::{KeyPath, did_you_mean, suggest_key};
use super::{Config, schema};
use crate::task::VerifyCommand;

/// One key with the value that a layer gives it.
pub(super) struct Setting {
    pub(super) key: KeyPath,
    pub(super) value: Value,
    /// Where its key stands.
    pub(super) at: Option<Position>,
}

/// Describes what a layer says: its good settings, and its mistakes.
#[derive(Default)]
pub(super) struct Findings {
    pub(super) settings: Vec<Setting>,
    pub(super) problems: Vec<(Option<Position>, ConfigProblem)>,
}

/// Takes apart the root of a layer.
pub(super) fn read_layer(node: &ConfigNode) -> Findings {
    let mut findings = Findings::default();
    section(schema::root(), node, &KeyPath::default(), &mut findings);
    findings
}

fn section(schema: &Value, node: &ConfigNode, path: &KeyPath, findings: &mut Findings) {
    let entries = match &node.kind {
        // A section all of whose keys are commented out.
        ConfigNodeKind::Null => return,
        ConfigNodeKind::Map(entries) => entries,
        _ => {
            let names: Vec<&str> = schema::properties(schema).map(|(name, _)| name).collect();
            let expected = format!("a section with keys such as `{}`", names[0]);
            let problem = if path.names().next().is_none() {
                ConfigProblem::Syntax {
                    message: format!("expected keys and values, found {}", node.describe()),
                }
            } else {
                wrong(path, expected, node)
            };
            findings.problems.push((node.at, problem));
            return;
        }
    };
    for entry in entries {
        let key = path.child(&entry.key);
        let Some(property) = schema
            .pointer("/properties")
            .and_then(|p| p.get(&entry.key))
        else {
            findings
                .problems
                .push((entry.at, unknown(key, &entry.value)));
            continue;
        };
        if schema::is_section(property) {
            section(property, &entry.value, &key, findings);
        } else if let (Some(each), ConfigNodeKind::Map(own)) =
            (schema::map_entries(property), &entry.value.kind)
        {
            for one in own {
                setting(each, key.child(&one.key), one.at, &one.value, findings);
            }
        } else {
            setting(property, key, entry.at, &entry.value, findings);
        }
    }
}

fn setting(
    schema: &Value,
    key: KeyPath,
    at: Option<Position>,
    node: &ConfigNode,
    findings: &mut Findings,
) {
    let mut problems = Vec::new();
    value(schema, node, &key, &mut problems);
    let json = node.to_json();
    if problems.is_empty()
        && let Some(message) = meaning(&key, &json)
    {
        let place = node.at.or(at);
        problems.push((
            place,
            ConfigProblem::BadValue {
                key: key.clone(),
                message,
            },
        ));
    }
    if problems.is_empty() {
        findings.settings.push(Setting {
            key,
            value: json,
            at,
        });
    } else {
        findings.problems.append(&mut problems);
    }
}

type Problems = Vec<(Option<Position>, ConfigProblem)>;

fn value(schema: &Value, node: &ConfigNode, key: &KeyPath, problems: &mut Problems) {
    if node.kind == ConfigNodeKind::Null {
        if !schema::takes_null(schema) {
            problems.push((node.at, wrong(key, schema::expected(schema), node)));
        }
        return;
    }
    if let Some(branches) = schema::branches(schema) {
        // The branch of the value's own type tells best what is wrong within it.
        match branches.iter().find(|branch| fits_type(branch, node)) {
            Some(branch) => value(branch, node, key, problems),
            None => problems.push((node.at, wrong(key, schema::expected(schema), node))),
        }
        return;
    }
    if let Some(words) = schema::choices(schema) {
        choice(schema, &words, node, key, problems);
        return;
    }
    if !fits_type(schema, node) || !in_bounds(schema, node) {
        problems.push((node.at, wrong(key, schema::expected(schema), node)));
        return;
    }
    match &node.kind {
        ConfigNodeKind::List(items) => {
            if let Some(each) = schema.get("items") {
                for (i, item) in items.iter().enumerate() {
                    value(each, item, &key.element(i), problems);
                }
            }
        }
        ConfigNodeKind::Map(_) => record(schema, node, key, problems),
        ConfigNodeKind::Null
        | ConfigNodeKind::Bool(_)
        | ConfigNodeKind::Number(_)
        | ConfigNodeKind::Text(_) => {}
    }
}

/// A map with known keys that is an element of a list.
fn record(schema: &Value, node: &ConfigNode, key: &KeyPath, problems: &mut Problems) {
    let ConfigNodeKind::Map(entries) = &node.kind else {
        return;
    };
    if let Some(each) = schema::map_entries(schema) {
        for entry in entries {
            value(each, &entry.value, &key.child(&entry.key), problems);
        }
        return;
    }
    let names: Vec<&str> = schema::properties(schema).map(|(name, _)| name).collect();
    for entry in entries {
        let below = key.child(&entry.key);
        match schema
            .pointer("/properties")
            .and_then(|p| p.get(&entry.key))
        {
            Some(property) => value(property, &entry.value, &below, problems),
            None => problems.push((
                entry.at,
                ConfigProblem::UnknownKey {
                    key: below,
                    suggestion: did_you_mean(&entry.key, &names)
                        .map(|name| key.child(name).to_string()),
                },
            )),
        }
    }
    // A key that is misspelt is not missing as well.
    if entries
        .iter()
        .any(|entry| !names.contains(&entry.key.as_str()))
    {
        return;
    }
    let required = schema.get("required").and_then(Value::as_array);
    for name in required.into_iter().flatten().filter_map(Value::as_str) {
        if !entries.iter().any(|entry| entry.key == name) {
            let message = format!("the key `{name}` is missing");
            let key = key.clone();
            problems.push((node.at, ConfigProblem::BadValue { key, message }));
        }
    }
}

fn choice(
    schema: &Value,
    words: &[&str],
    node: &ConfigNode,
    key: &KeyPath,
    problems: &mut Problems,
) {
    let text = match &node.kind {
        ConfigNodeKind::Text(text) if words.contains(&text.as_str()) => return,
        ConfigNodeKind::Text(text) => text.as_str(),
        _ => "",
    };
    problems.push((
        node.at,
        ConfigProblem::WrongType {
            key: key.clone(),
            expected: schema::expected(schema),
            found: node.describe(),
            hint: did_you_mean(text, words).map(|word| format!("did you mean `{word}`?")),
        },
    ));
}

fn fits_type(schema: &Value, node: &ConfigNode) -> bool {
    if let Some(branches) = schema::branches(schema) {
        return branches.iter().any(|branch| fits_type(branch, node));
    }
    let names: &[&str] = match &node.kind {
        ConfigNodeKind::Null => &["null"],
        ConfigNodeKind::Bool(_) => &["boolean"],
        ConfigNodeKind::Number(n) if n.is_f64() => &["number"],
        ConfigNodeKind::Number(_) => &["integer", "number"],
        ConfigNodeKind::Text(_) => &["string"],
        ConfigNodeKind::List(_) => &["array"],
        ConfigNodeKind::Map(_) => &["object"],
    };
    names.iter().any(|name| schema::has_type(schema, name))
}

fn in_bounds(schema: &Value, node: &ConfigNode) -> bool {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let at_least = |name: &str, length: usize| bound(name).is_none_or(|min| length as f64 >= min);
    match &node.kind {
        ConfigNodeKind::Number(n) => {
            let n = n.as_f64().unwrap_or(f64::NAN);
            bound("minimum").is_none_or(|min| n >= min)
                && bound("exclusiveMinimum").is_none_or(|min| n > min)
                && schema::maximum(schema).is_none_or(|max| n <= max)
        }
        ConfigNodeKind::Text(text) => at_least("minLength", text.trim().chars().count()),
        ConfigNodeKind::List(items) => at_least("minItems", items.len()),
        ConfigNodeKind::Null | ConfigNodeKind::Bool(_) | ConfigNodeKind::Map(_) => true,
    }
}

/// Returns what the types behind the schema say of a value that fits the schema: nothing if it is good.
fn meaning(key: &KeyPath, value: &Value) -> Option<String> {
    let mut probe = Value::Object(serde_json::Map::new());
    key.put(&mut probe, value.clone());
    // Alone among defaults: whatever is wrong is wrong with this key.
    match serde_json::from_value::<Config>(probe) {
        Err(error) => Some(error.to_string()),
        Ok(config) => {
            let verification = &config.verification;
            let commands = verification.commands.iter().chain(&verification.format);
            let mut commands = commands.chain(&config.qa.server.command);
            if commands.any(is_blank) {
                return Some("expected commands, found an empty one".to_owned());
            }
            let paths = [
                Some(&config.memory.progress_file),
                Some(&config.memory.archive_dir),
                Some(&config.tasks.parent_id_file),
                config.economics.prices_file.as_ref(),
            ];
            let nameless = paths
                .into_iter()
                .flatten()
                .find(|p| p.file_name().is_none())?;
            Some(format!(
                "expected a path that ends in a name of its own, found `{}`",
                nameless.display()
            ))
        }
    }
}

fn is_blank(command: &VerifyCommand) -> bool {
    match command {
        VerifyCommand::Argv(words) => words.first().is_none_or(|w| w.trim().is_empty()),
        VerifyCommand::Shell(line) => line.trim().is_empty(),
    }
}

fn unknown(key: KeyPath, node: &ConfigNode) -> ConfigProblem {
    let children: Vec<&str> = match &node.kind {
        ConfigNodeKind::Map(entries) => entries.iter().map(|entry| entry.key.as_str()).collect(),
        ConfigNodeKind::Null
        | ConfigNodeKind::Bool(_)
        | ConfigNodeKind::Number(_)
        | ConfigNodeKind::Text(_)
        | ConfigNodeKind::List(_) => Vec::new(),
    };
    let suggestion = suggest_key(&key, &children);
    ConfigProblem::UnknownKey { key, suggestion }
}

fn wrong(key: &KeyPath, expected: String, node: &ConfigNode) -> ConfigProblem {
    let secret = key.is_secret();
    let hint = match &node.kind {
        ConfigNodeKind::Number(n)
            if n.as_u64() > Some(u64::from(u32::MAX)) && !expected.contains("most") =>
        {
            Some(format!("the largest is {}", u32::MAX))
        }
        ConfigNodeKind::Number(_) | ConfigNodeKind::Bool(_) if expected.starts_with("a text") => {
            Some("put it in quotes".to_owned())
        }
        ConfigNodeKind::Text(text)
            if expected.contains("number") && text.parse::<f64>().is_ok() =>
        {
            Some("take away the quotes".to_owned())
        }
        ConfigNodeKind::Text(text) if expected.starts_with("a list of texts") => {
            let words: Vec<&str> = text.split_whitespace().collect();
            let list = serde_json::to_string(&words).unwrap_or_default();
            Some(format!("write {list}"))
        }
        ConfigNodeKind::Text(text) if expected.starts_with("a list of commands") => {
            let list = serde_json::to_string(&[text]).unwrap_or_default();
            Some(format!("write {list}"))
        }
        ConfigNodeKind::Null if !expected.starts_with("a section") => {
            Some("leave the key out for its default".to_owned())
        }
        _ => None,
    };
    ConfigProblem::WrongType {
        key: key.clone(),
        expected,
        found: if secret {
            node.describe_kind().to_owned()
        } else {
            node.describe()
        },
        hint,
    }
}
