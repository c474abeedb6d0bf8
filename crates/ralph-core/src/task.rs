//! The one task model that all file formats meet in.
//!
//! Holds no wire structs: each format owns its own, in `format/`. Knows nothing of files, only of
//! the place in one that a task came from.

pub mod format;
pub mod graph;
pub mod retitled;
pub mod suggested;

use std::sync::Arc;

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

impl Task {
    /// Returns true for work that waits for a person to do it.
    pub fn is_left_to_person(&self) -> bool {
        self.id.is_for_person() && self.status.is_workable()
    }
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

    /// A task that no agent is given until a person has done something about it.
    pub fn is_stuck(self) -> bool {
        matches!(self, Self::Blocked | Self::Failed | Self::Skipped)
    }
}

/// A command that proves something: an argv list, or a line for the shell.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged, from = "WrittenCommand")]
#[schemars(with = "WrittenCommand")]
pub enum VerifyCommand {
    Argv(Vec<String>),
    Shell(String),
}

/// A command as people write it.
#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum WrittenCommand {
    Argv(Vec<String>),
    Shell(String),
    /// Flows in a browser: short for `ralph qa run FLOW`.
    Flows(WrittenFlows),
}

#[derive(Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenFlows {
    #[schemars(length(min = 1))]
    qa: String,
}

impl From<WrittenCommand> for VerifyCommand {
    fn from(written: WrittenCommand) -> Self {
        match written {
            WrittenCommand::Argv(argv) => Self::Argv(argv),
            WrittenCommand::Shell(line) => Self::Shell(line),
            WrittenCommand::Flows(flows) => Self::flow(&flows.qa),
        }
    }
}

impl VerifyCommand {
    /// The command that runs a flow in a browser, by its name or its file.
    pub fn flow(named: &str) -> Self {
        Self::Argv(["ralph", "qa", "run", "--", named].map(String::from).into())
    }

    /// The flows that it runs in a browser, as they are named; none of them for all. `None` for any other command.
    pub fn flows(&self) -> Option<Vec<&str>> {
        let args = self.own_arguments()?;
        let names = args.into_iter().skip(2);
        Some(names.filter(|word| !word.starts_with('-')).collect())
    }

    /// The arguments of a command of ralph's own, which is one that runs flows.
    pub fn own_arguments(&self) -> Option<Vec<&str>> {
        let mut words = self.words()?;
        if !words.starts_with(&["ralph", "qa", "run"]) {
            return None;
        }
        words.remove(0);
        Some(words)
    }

    /// Returns true if both run the same program with the same arguments, however they are written.
    pub fn is_same_as(&self, other: &Self) -> bool {
        self == other
            || self
                .words()
                .is_some_and(|words| Some(words) == other.words())
    }

    /// The program and its arguments, where no shell is needed to tell.
    fn words(&self) -> Option<Vec<&str>> {
        match self {
            Self::Argv(argv) => Some(argv.iter().map(String::as_str).collect()),
            Self::Shell(line) => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || " \t-_./:=@%+,".contains(c);
                let words: Vec<&str> = line.split_whitespace().collect();
                let sets = words.first().is_none_or(|first| first.contains('='));
                (line.chars().all(is_plain) && !sets).then_some(words)
            }
        }
    }
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

/// Longest id in bytes: it stands in file names and in commit trailers.
const MAX_BYTES: usize = 120;

/// The ids of tasks for a person begin with it.
pub const FOR_PERSON: &str = "HUMAN-";

/// The name of a task, checked once at the edge so that it is safe everywhere behind it: as a file
/// name, as an argument, in a trailer, on a terminal.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskId(Arc<str>);

/// Why a text can't be the id of a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadTaskId {
    #[error("a task id can't be empty")]
    Empty,
    #[error("a task id can have at most {MAX_BYTES} bytes, this one has {0}")]
    TooLong(usize),
    #[error("a task id can't contain {0:?}")]
    Character(char),
    #[error("a task id can't start with {0:?}")]
    Start(char),
    #[error("a task id can't start or end with white space")]
    Space,
}

impl TaskId {
    pub fn parse(text: &str) -> Result<Self, BadTaskId> {
        if text.len() > MAX_BYTES {
            return Err(BadTaskId::TooLong(text.len()));
        }
        if text.trim() != text {
            return Err(BadTaskId::Space);
        }
        let first = text.chars().next().ok_or(BadTaskId::Empty)?;
        if matches!(first, '-' | '.' | '~') {
            return Err(BadTaskId::Start(first));
        }
        if let Some(bad) = text.chars().find(|c| !is_safe(*c)) {
            return Err(BadTaskId::Character(bad));
        }
        Ok(Self(text.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for `HUMAN-…`: work that only a person can do, and that no agent is given.
    pub fn is_for_person(&self) -> bool {
        self.0.starts_with(FOR_PERSON)
    }
}

impl std::fmt::Debug for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("TaskId").field(&self.as_str()).finish()
    }
}

/// Letters, digits and a few marks. What a path, a shell, git or a terminal gives a meaning to is
/// out, and so are characters that can't be seen.
fn is_safe(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '#' | '+' | '@' | ' ' | '(' | ')')
}

impl std::fmt::Display for TaskId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for TaskId {
    type Err = BadTaskId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

impl serde::Serialize for TaskId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for TaskId {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_as_people_write_them_are_taken() {
        for id in [
            "US-001",
            "1",
            "T1",
            "auth.login",
            "área-1",
            "Story 1",
            "a:b#2",
        ] {
            assert_eq!(TaskId::parse(id).unwrap().as_str(), id);
        }
    }

    #[test]
    fn a_command_is_the_same_as_a_list_and_as_a_line() {
        let argv =
            |words: &[&str]| VerifyCommand::Argv(words.iter().map(|w| (*w).into()).collect());
        let shell = |line: &str| VerifyCommand::Shell(line.into());
        let table = [
            (argv(&["make", "test"]), shell("make  test"), true),
            (shell("make test "), shell("make test"), true),
            (shell("a && b"), shell("a && b"), true),
            (argv(&["make", "*.c"]), shell("make *.c"), false),
            (argv(&["A=1", "make"]), shell("A=1 make"), false),
            (argv(&["make"]), shell("make test"), false),
        ];
        for (one, other, same) in table {
            assert_eq!(one.is_same_as(&other), same, "{one} {other}");
            assert_eq!(other.is_same_as(&one), same, "{other} {one}");
        }
    }

    #[test]
    fn a_flow_is_a_command_of_ralph_s_own() {
        let read = |json: &str| serde_json::from_str::<VerifyCommand>(json);
        let command = read(r#"{"qa": "checkout"}"#).unwrap();
        assert_eq!(command.to_string(), "ralph qa run -- checkout");
        assert_eq!(command.flows(), Some(vec!["checkout"]));
        let line = VerifyCommand::Shell("ralph qa run a b --jobs=1".into());
        assert_eq!(line.flows(), Some(vec!["a", "b"]));
        assert_eq!(
            VerifyCommand::Shell("ralph qa run".into()).flows(),
            Some(vec![])
        );
        assert_eq!(VerifyCommand::Shell("make qa".into()).flows(), None);
        assert!(read(r#"{"qa": "a", "b": 1}"#).is_err());
    }

    #[test]
    fn ids_that_could_do_harm_are_refused() {
        use BadTaskId::{Character, Empty, Space, Start, TooLong};
        let long = "x".repeat(10_000);
        for (id, why) in [
            ("", Empty),
            ("../../x", Start('.')),
            ("a/b", Character('/')),
            ("--upload-pack=x", Start('-')),
            ("a\nb", Character('\n')),
            (" a", Space),
            ("a\u{200b}b", Character('\u{200b}')),
            ("a\u{1b}[31m", Character('\u{1b}')),
            ("$(x)", Character('$')),
            (long.as_str(), TooLong(10_000)),
        ] {
            assert_eq!(TaskId::parse(id), Err(why), "{id:?}");
        }
    }
}
