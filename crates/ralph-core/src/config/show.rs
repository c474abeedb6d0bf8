//! Shows the configuration in force, each value with where it came from.
//!
//! Values of an agent's `env` are never shown, and of the address of a webhook only the host: they may
//! be secrets.

use std::path::PathBuf;

use serde_json::Value;

use super::{
    AgentChoice, ClaudeConfig, Config,
    guess::Guess,
    layer::Origin,
    resolve::Resolved,
    schema::{self, KeyPath},
};
use crate::task::format::quoted;

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
    for known in schema::all_keys() {
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

/// Describes what the first `ralph.yaml` is made from.
#[derive(Debug, Clone, Default)]
pub struct InitPlan {
    pub guesses: Vec<Guess>,
    /// Commands that make a checkout ready.
    pub prepare: Vec<Guess>,
    /// The agent that was asked for, if one was.
    pub agent: Option<AgentChoice>,
    /// The task file or folder that was asked for, if one was.
    pub tasks_source: Option<PathBuf>,
}

/// The text of a new `ralph.yaml`.
///
/// Says what ralph's own defaults are by reading them, so that it cannot grow stale.
pub fn render_ralph_yaml(plan: &InitPlan) -> String {
    let mut text = String::from(
        "# How ralph works in this repository. Every key has a default; `ralph config` shows what\n\
         # is in force and where it comes from.\n",
    );
    if let Some(agent) = &plan.agent {
        text.push_str(&format!("\nagent: {}\n", flow(&agent.to_string().into())));
    }
    if let Some(source) = &plan.tasks_source {
        let source = source.to_string_lossy();
        text.push_str(&format!(
            "\ntasks:\n  source: {}\n",
            flow(&Value::from(source.as_ref()))
        ));
    }
    verification(&mut text, &plan.guesses);
    prepare(&mut text, &plan.prepare);
    defaults(&mut text);
    text
}

fn verification(text: &mut String, guesses: &[Guess]) {
    text.push_str(
        "\nverification:\n  \
         # ralph runs these itself after every attempt. All must pass before anything is committed.\n",
    );
    if guesses.is_empty() {
        text.push_str(
            "  # Nothing was found that verifies this project. Without commands a task is completed\n  \
             # as `unverified`. For example:\n  \
             #   - [\"make\", \"test\"]\n  \
             commands: []\n",
        );
        return;
    }
    text.push_str("  commands:\n");
    list(text, guesses);
}

fn prepare(text: &mut String, guesses: &[Guess]) {
    if !guesses.is_empty() {
        text.push_str("  # These make a checkout ready before it is verified.\n  prepare:\n");
        list(text, guesses);
    }
}

fn list(text: &mut String, guesses: &[Guess]) {
    for guess in guesses {
        let why = guess.why.replace(char::is_control, " ");
        let command =
            serde_json::to_value(&guess.command).expect("a command is a text or a list of texts");
        text.push_str(&format!(
            "    # Guessed: {why}.\n    - {}\n",
            flow(&command)
        ));
    }
}

/// The keys that people most often change, with their defaults, commented out.
fn defaults(text: &mut String) {
    const SHOWN: [(&str, &[(&str, &str)]); 3] = [
        (
            "loop",
            &[
                ("max_iterations", "of one run"),
                (
                    "max_minutes_per_iteration",
                    "of an agent; verify commands have their own limit",
                ),
                ("max_attempts", "at one task"),
            ],
        ),
        (ClaudeConfig::SECTION, ClaudeConfig::OFTEN_SET),
        (
            "safety",
            &[("protected_paths", "globs that no change may touch")],
        ),
    ];
    let defaults = serde_json::to_value(Config::default())
        .expect("the defaults are plain values with text keys");
    text.push_str("\n# Some defaults; take away the `#` to change one.\n");
    for (section, keys) in SHOWN {
        text.push_str(&format!("#{section}:\n"));
        for (key, comment) in keys {
            let value = defaults.get(section).and_then(|s| s.get(key));
            let value = flow(value.unwrap_or(&Value::Null));
            text.push_str(&format!("#  {key}: {value}  # {comment}\n"));
        }
    }
}
