//! The layers that a configuration is made of, and what a value remembers of the one it came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schema::KeyPath;

/// Describes what can set a key, lowest first; the built-in defaults lie below all of it.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    /// The user's own file.
    pub user: Option<ConfigFile>,
    /// The project's file.
    pub project: Option<ConfigFile>,
    /// The environment, whole; variables that are not ralph's are left alone.
    pub env: Vec<(String, String)>,
    /// Keys that flags of the command line stand for; later ones win.
    pub flags: Vec<FlagValue>,
}

/// A configuration file that was read.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    pub path: PathBuf,
    pub text: String,
}

/// A flag of the command line that sets a key.
#[derive(Debug, Clone)]
pub struct FlagValue {
    /// The key's dotted path, such as `loop.max_iterations`.
    pub key: String,
    pub value: Value,
    /// The flag as a person types it, such as `--max-iterations`.
    pub flag: String,
}

/// Where an effective value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Origin {
    Default,
    File { path: PathBuf, line: u32 },
    Env { name: String },
    Flag { name: String },
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Env { name } => write!(f, "env {name}"),
            Self::Flag { name } => write!(f, "flag {name}"),
        }
    }
}

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Source {
    #[error("{}", .0.display())]
    File(PathBuf),
    /// An environment variable, by its name.
    #[error("environment variable {0}")]
    Env(String),
    /// A flag of the command line, as it was typed.
    #[error("{0}")]
    Flag(String),
}

/// A place in a file, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// One mistake in one layer of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}{}: {problem}", in_file(*at))]
pub struct ConfigError {
    pub place: Source,
    pub at: Option<Position>,
    pub problem: ConfigProblem,
}

/// A fault at a place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigProblem {
    /// Not YAML, or not one document of it.
    #[error("{message}")]
    Syntax { message: String },
    /// The same key twice in one map.
    #[error("the key `{key}` is given twice")]
    DuplicateKey { key: String },
    /// A key that ralph does not have.
    #[error("unknown key `{key}`; {}", or_list(suggestion.as_ref()))]
    UnknownKey {
        key: KeyPath,
        suggestion: Option<String>,
    },
    /// A value of the wrong type, out of range, or not among the choices.
    #[error("`{key}`: expected {expected}, found {found}{}", and_hint(hint.as_ref()))]
    WrongType {
        key: KeyPath,
        expected: String,
        found: String,
        hint: Option<String>,
    },
    /// A value of the right type that does not mean anything.
    #[error("`{key}`: {message}")]
    BadValue { key: KeyPath, message: String },
}

fn in_file(position: Option<Position>) -> String {
    position.map_or_else(String::new, |p| format!(":{}:{}", p.line, p.column))
}

fn or_list(suggestion: Option<&String>) -> String {
    suggestion.map_or_else(
        || "`ralph config` lists the keys there are".to_owned(),
        |other| format!("did you mean `{other}`?"),
    )
}

fn and_hint(hint: Option<&String>) -> String {
    hint.map_or_else(String::new, |hint| format!("; {hint}"))
}

/// All mistakes that were found, at least one, in the order of the layers. Exit code 2.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.lines())]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl ConfigErrors {
    fn lines(&self) -> String {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }
}

/// A key that someone set and that has no effect; to be said loudly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotInForce {
    pub key: KeyPath,
    pub value: Value,
    pub message: String,
}

struct Unbuilt {
    key: &'static str,
    message: &'static str,
    /// True if a value asks for something that ralph does not do.
    asks: fn(&Value) -> bool,
}

/// Keys that are accepted although the part behind them is not built: anyone who builds a part
/// takes its line away.
const UNBUILT: [Unbuilt; 1] = [Unbuilt {
    key: "git.sign_off",
    message: "ralph does not sign commits off yet",
    asks: |value| value == &Value::Bool(true),
}];

/// Returns what to say of a key that was set to a value, if nothing will come of it.
pub(super) fn not_in_force(key: &KeyPath, value: &Value) -> Option<NotInForce> {
    let name = key.to_string();
    let unbuilt = UNBUILT.iter().find(|unbuilt| unbuilt.key == name)?;
    (unbuilt.asks)(value).then(|| NotInForce {
        key: key.clone(),
        value: value.clone(),
        message: unbuilt.message.to_owned(),
    })
}

impl std::fmt::Display for NotInForce {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}: {}` is not in force: {}",
            self.key, self.value, self.message
        )
    }
}
