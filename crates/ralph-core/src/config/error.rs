//! Describes what can be wrong with a configuration, said with its place and, where there is one, a way out.

use std::path::PathBuf;

use super::key::KeyPath;

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
