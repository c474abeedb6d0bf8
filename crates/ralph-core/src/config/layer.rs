//! The layers that a configuration is made of, and what a value remembers of the one it came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
