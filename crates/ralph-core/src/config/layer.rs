//! The layers that a configuration is made of, and what a value remembers of the one it came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::key::KeyPath;

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
    pub value: Given,
    /// The flag as a person types it, such as `--max-iterations`.
    pub flag: String,
}

/// A value as a flag has it.
#[derive(Debug, Clone)]
pub enum Given {
    /// A value that the command line has parsed.
    Json(Value),
    /// A text, to be read as one from the environment is: as it stands for a key that is a text,
    /// as YAML for any other.
    Text(String),
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    File(PathBuf),
    /// An environment variable, by its name.
    Env(String),
    /// A flag of the command line, as it was typed.
    Flag(String),
}

/// A place in a file, both counted from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

/// One mistake in one layer of the configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    pub place: Source,
    pub at: Option<Position>,
    pub problem: ConfigProblem,
}

/// A fault at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigProblem {
    /// Not YAML, or not one document of it.
    Syntax { message: String },
    /// The same key twice in one map.
    DuplicateKey { key: String },
    /// A key that ralph does not have.
    UnknownKey {
        key: KeyPath,
        suggestion: Option<String>,
    },
    /// A value of the wrong type, out of range, or not among the choices.
    WrongType {
        key: KeyPath,
        expected: String,
        found: String,
        hint: Option<String>,
    },
    /// A value of the right type that does not mean anything.
    BadValue { key: KeyPath, message: String },
}

impl std::error::Error for ConfigError {}

impl std::fmt::Display for ConfigError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Source::File(path) => write!(f, "{}", path.display())?,
            Source::Env(name) => write!(f, "environment variable {name}")?,
            Source::Flag(name) => f.write_str(name)?,
        }
        if let Some(Position { line, column }) = self.at {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl std::fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax { message } => f.write_str(message),
            Self::DuplicateKey { key } => write!(f, "the key `{key}` is given twice"),
            Self::UnknownKey { key, suggestion } => {
                write!(f, "unknown key `{key}`")?;
                match suggestion {
                    Some(other) => write!(f, "; did you mean `{other}`?"),
                    None => f.write_str("; `ralph config` lists the keys there are"),
                }
            }
            Self::WrongType {
                key,
                expected,
                found,
                hint,
            } => {
                write!(f, "`{key}`: expected {expected}, found {found}")?;
                match hint {
                    Some(hint) => write!(f, "; {hint}"),
                    None => Ok(()),
                }
            }
            Self::BadValue { key, message } => write!(f, "`{key}`: {message}"),
        }
    }
}

/// All mistakes that were found, at least one, in the order of the layers. Exit code 2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl std::error::Error for ConfigErrors {}

impl std::fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{error}")?;
        }
        Ok(())
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

const UNBUILT: [Unbuilt; 3] = [
    Unbuilt {
        key: "safety.sandbox",
        message: "ralph has no sandbox yet: the agent runs with your own rights",
        asks: |value| value == &Value::Bool(true),
    },
    Unbuilt {
        key: "safety.allowed_commands",
        message: "ralph does not restrict commands yet: the agent may start any program",
        asks: |value| value.as_array().is_some_and(|list| !list.is_empty()),
    },
    Unbuilt {
        key: "git.sign_off",
        message: "ralph does not sign commits off yet",
        asks: |value| value == &Value::Bool(true),
    },
];

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
