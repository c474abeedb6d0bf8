//! The one task model that all file formats meet in.
//!
//! Holds no wire structs: each format owns its own, in `format/`. Knows nothing of files, only of
//! the place in one that a task came from.

pub mod format;
pub mod graph;
mod id;

pub use id::{BadTaskId, TaskId};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A unit of work as a person wrote it, whatever the format of its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    pub id: TaskId,
    #[serde(flatten)]
    pub text: TaskText,
    #[serde(flatten)]
    pub links: TaskLinks,
    pub status: Status,
    /// Commands of the task's own, run after the configured ones.
    pub verify: Vec<VerifyCommand>,
    pub labels: Vec<String>,
    /// The part of the code base the task belongs to: `area=ui` among the labels, or a field.
    pub area: Option<String>,
    /// Lower goes first.
    pub priority: Option<i64>,
    #[serde(flatten)]
    pub attempts: Attempts,
    pub created_at: Option<Timestamp>,
    pub updated_at: Option<Timestamp>,
    #[serde(skip)]
    pub place: Place,
}

/// What a task says to its reader.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskText {
    pub title: String,
    pub description: String,
    pub acceptance: Vec<String>,
    /// Files that the task names as its own.
    pub files: Vec<String>,
    pub notes: Option<String>,
    /// False for a task that is right to end without a change (an audit, say).
    pub expects_change: bool,
}

/// How a task hangs together with others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskLinks {
    pub parent_id: Option<TaskId>,
    pub depends_on: Vec<TaskId>,
}

/// The number of times a task was tried, where its file says so, and how often it may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempts {
    /// `None`: the file has no such field, the journal counts.
    #[serde(rename = "attempts")]
    pub made: Option<u32>,
    #[serde(rename = "maxAttempts")]
    pub max: Option<u32>,
}

named! {
    /// Where a task stands.
    #[derive(PartialOrd, Ord)]
    pub enum Status {
        Open = "open",
        InProgress = "in_progress",
        Completed = "completed",
        Blocked = "blocked",
        Failed = "failed",
        Skipped = "skipped",
    }
}

impl Status {
    /// A task that an agent may be given: open, or left in progress by a run that is gone.
    pub fn is_workable(self) -> bool {
        matches!(self, Self::Open | Self::InProgress)
    }
}

/// A command that proves something: an argv list, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum VerifyCommand {
    Argv(Vec<String>),
    Shell(String),
}

impl std::fmt::Display for VerifyCommand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Shell(line) => f.write_str(line),
            Self::Argv(argv) => {
                for (i, arg) in argv.iter().enumerate() {
                    if i > 0 {
                        f.write_str(" ")?;
                    }
                    let plain = !arg.is_empty()
                        && arg
                            .bytes()
                            .all(|b| b.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&b));
                    if plain {
                        f.write_str(arg)?;
                    } else {
                        write!(f, "'{}'", arg.replace('\'', r"'\''"))?;
                    }
                }
                Ok(())
            }
        }
    }
}

/// Where in its source a task stands: which file of it, which element, which line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Index into the files of the source.
    pub file: u32,
    /// Position within the file, from 0.
    pub position: u32,
    /// Byte offset of the task's first character in the file; line and column are derived from it
    /// only when they are shown.
    pub offset: u32,
}
