//! Makes one configuration out of its layers: maps merge by key, lists and single values replace.
//!
//! Reports every mistake of every layer at once. Settles nothing silently: what was changed or will
//! have no effect is said in the notes.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Config,
    check::{Findings, Setting, read_layer},
    layer::{
        ConfigError, ConfigErrors, ConfigFile, ConfigProblem, FlagValue, Layers, NotInForce,
        Origin, Position, Source, not_in_force,
    },
    node::{ConfigNode, ConfigNodeKind, parse_yaml},
    schema::{self, Key, KeyPath},
};

/// A configuration, and where every value of it came from.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub config: Config,
    /// Keys that were set to something; all others have their default.
    pub origins: BTreeMap<KeyPath, Origin>,
    /// Tells what a person should be told, none of it an error.
    pub notes: Vec<Note>,
    /// Keys that were set and have no effect.
    pub not_in_force: Vec<NotInForce>,
}

impl Resolved {
    /// Where the value of a key came from, by its dotted path.
    pub fn origin(&self, key: &str) -> &Origin {
        self.origins
            .get(&KeyPath::dotted(key))
            .unwrap_or(&Origin::Default)
    }
}

/// Something to tell a person about the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub key: Option<KeyPath>,
    pub message: String,
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.key {
            Some(key) => write!(f, "`{key}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Makes the configuration out of its layers.
pub fn resolve(layers: &Layers) -> Result<Resolved, ConfigErrors> {
    let mut merge = Merge::new();
    for file in [&layers.user, &layers.project].into_iter().flatten() {
        merge.file(file);
    }
    merge.env(&layers.env);
    for flag in &layers.flags {
        merge.flag(flag);
    }
    merge.finish()
}

struct Merge {
    values: Value,
    origins: BTreeMap<KeyPath, Origin>,
    errors: Vec<ConfigError>,
    notes: Vec<Note>,
}

impl Merge {
    fn new() -> Self {
        Self {
            values: serde_json::to_value(Config::default())
                .expect("the defaults are plain values with text keys"),
            origins: BTreeMap::new(),
            errors: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn file(&mut self, file: &ConfigFile) {
        let place = Source::File(file.path.clone());
        match parse_yaml(&file.text) {
            Ok(node) => self.layer(&node, &place),
            Err((at, problem)) => self.errors.push(ConfigError { place, at, problem }),
        }
    }

    fn env(&mut self, vars: &[(String, String)]) {
        let mut findings = read_env(vars);
        self.errors.append(&mut findings.errors);
        self.notes.append(&mut findings.notes);
        for setting in findings.settings {
            let node = nest(&setting.key, setting.value);
            self.layer(&node, &Source::Env(setting.name));
        }
    }

    fn flag(&mut self, flag: &FlagValue) {
        let place = Source::Flag(flag.flag.clone());
        let node = ConfigNode::from_json(&flag.value);
        self.layer(&nest(&KeyPath::dotted(&flag.key), node), &place);
    }

    fn layer(&mut self, node: &ConfigNode, place: &Source) {
        let Findings { settings, problems } = read_layer(node);
        for Setting { key, value, at } in settings {
            key.put(&mut self.values, value);
            let origin = match place {
                Source::File(path) => Origin::File {
                    path: path.clone(),
                    line: at.map_or(0, |at| at.line),
                },
                Source::Env(name) => Origin::Env { name: name.clone() },
                Source::Flag(name) => Origin::Flag { name: name.clone() },
            };
            self.origins.insert(key, origin);
        }
        self.errors
            .extend(problems.into_iter().map(|(at, problem)| ConfigError {
                place: place.clone(),
                at,
                problem,
            }));
    }

    fn finish(mut self) -> Result<Resolved, ConfigErrors> {
        if !self.errors.is_empty() {
            return Err(ConfigErrors(self.errors));
        }
        let not_in_force = self.not_in_force();
        let mut config: Config = match serde_json::from_value(self.values) {
            Ok(config) => config,
            // Each setting was read on its own before; together they can't be worse. If they are,
            // it is still the user who needs to know.
            Err(error) => {
                return Err(ConfigErrors(vec![ConfigError {
                    place: Source::File("ralph.yaml".into()),
                    at: None,
                    problem: ConfigProblem::Syntax {
                        message: error.to_string(),
                    },
                }]));
            }
        };
        let limits = config.limits.mistake();
        let limits = limits.map(|message| ("limits.on_usage_limit", message));
        if let Some((key, message)) = limits.or(config.store.mistake()) {
            return Err(ConfigErrors(vec![incomplete(&self.origins, key, message)]));
        }
        self.notes.extend(config.claude.drop_code_argument());
        self.notes.extend(short_iteration(&config));
        self.notes.extend(cut_ladder(&config));
        Ok(Resolved {
            config,
            origins: self.origins,
            notes: self.notes,
            not_in_force,
        })
    }

    fn not_in_force(&self) -> Vec<NotInForce> {
        self.origins
            .keys()
            .filter_map(|key| {
                let value = key.names().try_fold(&self.values, |v, name| v.get(name))?;
                not_in_force(key, value)
            })
            .collect()
    }
}

/// The error of settings that lack a part. A missing part has no place: the key that asks for it has.
fn incomplete(origins: &BTreeMap<KeyPath, Origin>, key: &str, message: &str) -> ConfigError {
    let key = KeyPath::dotted(key);
    let (place, at) = match origins.get(&key) {
        Some(Origin::File { path, line }) => {
            let (line, column) = (*line, 1);
            (Source::File(path.clone()), Some(Position { line, column }))
        }
        Some(Origin::Env { name }) => (Source::Env(name.clone()), None),
        Some(Origin::Flag { name }) => (Source::Flag(name.clone()), None),
        Some(Origin::Default) | None => (Source::File("ralph.yaml".into()), None),
    };
    let message = message.to_owned();
    ConfigError {
        place,
        at,
        problem: ConfigProblem::BadValue { key, message },
    }
}

fn nest(path: &KeyPath, value: ConfigNode) -> ConfigNode {
    path.names()
        .rev()
        .fold(value, |below, name| below.under(name))
}

fn short_iteration(config: &Config) -> Option<Note> {
    let limits = &config.loop_;
    let (limit, idle) = (limits.max_minutes_per_iteration, limits.idle_minutes_tool);
    (limit <= idle).then(|| Note {
        key: Some(KeyPath::dotted("loop.max_minutes_per_iteration")),
        message: format!(
            "an iteration ends after {limit}, before ralph would look after an agent that is \
             silent while a tool runs (`loop.idle_minutes_tool`: {idle})"
        ),
    })
}

/// A person who is never asked ought to know why.
fn cut_ladder(config: &Config) -> Option<Note> {
    let limit = config.loop_.max_minutes_per_iteration;
    let (what, at) = config.health.cut_by(limit)?;
    Some(Note {
        key: Some(KeyPath::dotted("loop.max_minutes_per_iteration")),
        message: format!(
            "an iteration ends after {limit}, before an agent without progress would be {what} \
             (`health`: {at})"
        ),
    })
}

const PREFIX: &str = "RALPH_";

/// Names without the prefix that a seed of ralph's gave a meaning to. They lie below the others.
const PLAIN: [(&str, &str); 2] = [
    ("MAX_ITERATIONS", "loop.max_iterations"),
    ("STUCK_THRESHOLD", "loop.gutter.max_same_failure"),
];

/// Names that ralph gives another meaning to, or sets itself for the programs that it starts.
const RESERVED: [&str; 18] = [
    "RALPH_DATA_DIR",
    "RALPH_RUN_DATA",
    "RALPH_RUN_QA",
    "RALPH_RUN_QA_JOINS",
    "RALPH_LOG",
    "RALPH_LOG_FORMAT",
    "RALPH_CONFIG",
    "RALPH_STORE_PASSWORD_FILE",
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
///
/// Takes the variables as an argument; never looks at the process's own.
pub(super) fn read_env(vars: &[(String, String)]) -> EnvFindings {
    let keys = schema::all_keys();
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
fn read_text(schema: &Value, text: &str) -> Result<ConfigNode, ConfigProblem> {
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
    let in_a_section = schema::all_sections()
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
