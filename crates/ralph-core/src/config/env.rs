//! Settings in the environment: `RALPH_` and the key's path in capitals.
//!
//! Takes the variables as an argument; never looks at the process's own.

use serde_json::Value;

use super::key::{self, Key, KeyPath};
use super::layer::{ConfigError, ConfigProblem, Source};
use super::node::{ConfigNode, ConfigNodeKind, parse_yaml};
use super::{resolve::Note, schema};

const PREFIX: &str = "RALPH_";

/// Names without the prefix that a seed of ralph's gave a meaning to. They lie below the others.
const PLAIN: [(&str, &str); 2] = [
    ("MAX_ITERATIONS", "loop.max_iterations"),
    ("STUCK_THRESHOLD", "loop.gutter.max_same_failure"),
];

/// Names that ralph gives another meaning to, or sets itself for the programs that it starts.
const RESERVED: [&str; 14] = [
    "RALPH_DATA_DIR",
    "RALPH_LOG",
    "RALPH_LOG_FORMAT",
    "RALPH_CONFIG",
    "RALPH_LOOP_ID",
    "RALPH_ITERATION",
    "RALPH_ITERATION_ID",
    "RALPH_TASK_ID",
    "RALPH_COLOR",
    "RALPH_NOTIFY_EVENT",
    "RALPH_NOTIFY_TITLE",
    "RALPH_NOTIFY_TEXT",
    "RALPH_NOTIFY_TASK",
    "RALPH_NOTIFY_LOOP",
];

/// The likeness: how alike a variable must be to one of ralph's before it is taken for a misspelt one.
const ALIKE: f64 = 0.8;

/// A variable that sets a key.
pub(super) struct EnvSetting {
    pub(super) name: String,
    pub(super) key: KeyPath,
    pub(super) value: ConfigNode,
}

/// Describes what the environment says.
#[derive(Default)]
pub(super) struct EnvFindings {
    pub(super) settings: Vec<EnvSetting>,
    pub(super) errors: Vec<ConfigError>,
    pub(super) notes: Vec<Note>,
}

/// The settings among the variables, lowest first. An empty variable counts as not set.
pub(super) fn read_env(vars: &[(String, String)]) -> EnvFindings {
    let keys = key::all_keys();
    let mut findings = EnvFindings::default();
    let value_of = |name: &str| {
        vars.iter()
            .rev()
            .find(|(n, value)| n == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    };
    for (name, path) in PLAIN {
        let path = KeyPath::dotted(path);
        let key = keys.iter().find(|key| key.path == path);
        if let (Some(key), Some(text)) = (key, value_of(name)) {
            findings.take(name, key, text);
        }
    }
    for key in &keys {
        let name = env_name(&key.path);
        if let Some(text) = value_of(&name) {
            findings.take(&name, key, text);
        }
    }
    for (name, value) in vars {
        if !value.is_empty()
            && let Some(message) = misspelt(name, &keys)
        {
            findings.notes.push(Note { key: None, message });
        }
    }
    findings
}

/// The variable that sets a key.
pub(super) fn env_name(key: &KeyPath) -> String {
    let path = key.to_string().to_ascii_uppercase().replace('.', "_");
    format!("{PREFIX}{path}")
}

/// Returns true if a variable may concern the configuration: the only ones worth handing in.
pub fn may_set_key(name: &str) -> bool {
    name.starts_with(PREFIX) || PLAIN.iter().any(|(plain, _)| *plain == name)
}

/// Reads a text for a key: as it stands if the key is a text, as YAML if not.
pub(super) fn read_text(schema: &Value, text: &str) -> Result<ConfigNode, ConfigProblem> {
    if schema::takes_text(schema) {
        return Ok(ConfigNode::unplaced(ConfigNodeKind::Text(text.to_owned())));
    }
    match parse_yaml(text) {
        // Places within a variable are of no use to its reader.
        Ok(node) => Ok(ConfigNode::from_json(&node.to_json())),
        Err((_, problem)) => Err(problem),
    }
}

impl EnvFindings {
    fn take(&mut self, name: &str, key: &Key, text: &str) {
        match read_text(key.schema, text) {
            Ok(value) => self.settings.push(EnvSetting {
                name: name.to_owned(),
                key: key.path.clone(),
                value,
            }),
            Err(problem) => self.errors.push(ConfigError {
                place: Source::Env(name.to_owned()),
                at: None,
                problem,
            }),
        }
    }
}

/// Returns what to say of a variable that looks like a setting but is none.
fn misspelt(name: &str, keys: &[Key]) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    if RESERVED.contains(&name) {
        return None;
    }
    let mut best: Option<(String, f64)> = None;
    for key in keys {
        let known = env_name(&key.path);
        if known == name {
            return None;
        }
        let score = strsim::normalized_damerau_levenshtein(rest, &known[PREFIX.len()..]);
        if best.as_ref().is_none_or(|(_, top)| score > *top) {
            best = Some((known, score));
        }
    }
    let (closest, score) = best?;
    let in_a_section = key::all_sections()
        .iter()
        .any(|section| name.starts_with(&format!("{}_", env_name(section))));
    if score < ALIKE && !in_a_section {
        return None;
    }
    let hint = if score >= 0.5 {
        format!("; did you mean {closest}?")
    } else {
        String::new()
    };
    Some(format!(
        "environment variable {name} sets no key of ralph's and is not used{hint}"
    ))
}
