//! The errors that keep ralph itself from going on, each by name.

use std::path::{Path, PathBuf};

use ralph_core::{
    allowlist::CommandRefusal,
    artefacts::BadFile,
    board::UnknownTask,
    change::BadGlob,
    iteration::IllegalStep,
    loop_state::IllegalTransition,
    prompt::TemplateError,
    task::{TaskId, graph::Problem},
    termination::Stop,
};

use crate::{
    disk_fault::DiskFault,
    git::{GitError, LackedCommits, RepoProblem},
    layer::{InPlaceReason, LayerError},
    lock::LockError,
    loop_runner::rewrite::RewriteError,
    prices::PricesError,
    source::SourceError,
    store::JournalError,
};

/// The changes of a run of the command: an iteration was begun, a command carried out, or nothing yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Changed {
    Nothing,
    Something,
}

/// A loop that ended because ralph itself could not go on.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
pub struct LoopFailure {
    pub error: LoopError,
    pub changed: Changed,
    /// The end that was told to those who watch; none where the loop had not begun.
    pub told: Option<Stop>,
    /// The way out that was told with it.
    pub hint: Option<String>,
}

impl From<LoopError> for LoopFailure {
    fn from(error: LoopError) -> Self {
        Self {
            error,
            changed: Changed::Nothing,
            told: None,
            hint: None,
        }
    }
}

/// Why ralph itself could not go on. Everything else is an outcome.
#[derive(Debug, thiserror::Error)]
pub enum LoopError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error(transparent)]
    Repository(#[from] RepoProblem),
    #[error("the working tree has changes that are not committed: {}", paths.join(", "))]
    Dirty { paths: Vec<String> },
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{}", list_problems(.0))]
    Graph(Vec<String>),
    #[error(transparent)]
    UnknownTask(#[from] UnknownTask),
    #[error("task {0} is a container: its leaves are worked on, not itself")]
    Container(TaskId),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Layer(#[from] LayerError),
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    Prices(#[from] PricesError),
    #[error(transparent)]
    Template(#[from] TemplateError),
    #[error(transparent)]
    BadGlob(#[from] BadGlob),
    #[error(transparent)]
    IllegalStep(#[from] IllegalStep),
    #[error(transparent)]
    IllegalTransition(#[from] IllegalTransition),
    #[error("can't {what} {path}")]
    File {
        what: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("`{key}` is {}, which {problem}", path.display())]
    ConfiguredPath {
        key: &'static str,
        path: PathBuf,
        problem: &'static str,
    },
    /// A file of an artefacts project that a person, or another tool, left unreadable.
    #[error("{} is not as it must be: {}", path.display(), source.message)]
    Artefact { path: PathBuf, source: BadFile },
    /// A revert or squash that a crash cut off could not be brought to an end.
    #[error(transparent)]
    Rewrite(#[from] Box<RewriteError>),
    /// The branch of this loop and HEAD each have work that the other lacks.
    #[error(
        "{branch} and {head} have diverged: {branch} has {own} that {head} lacks, {head} has {lacked} that {branch} lacks"
    )]
    Diverged {
        branch: String,
        /// The branch that is checked out.
        head: String,
        own: LackedCommits,
        lacked: LackedCommits,
    },
    #[error("the commits of {branch} can't be brought onto {onto}: {reason}")]
    CantBringOnto {
        branch: String,
        onto: String,
        reason: String,
    },
    /// A layer was asked for by `workspace.mode: overlay`, and there can be none.
    #[error("`workspace.mode` is overlay, and no layer can be laid over this repository: {reason}")]
    NoLayer { reason: InPlaceReason },
    #[error("`safety.allow_hosts`: {reason}")]
    AllowedHost { reason: String },
    /// A sandbox was asked for, and there can be none.
    #[error("there is no sandbox here as the configuration asks for: {reason}")]
    NoSandbox { reason: String },
    /// Programs run in a container, and its image lacks one of them.
    #[error("the image {image} has no program {program}, which {user} needs")]
    NotInImage {
        image: String,
        program: String,
        user: String,
    },
    #[error("there is no commit {name}")]
    UnknownCommit { name: String },
    /// No agent is started for work that could not be verified.
    #[error("{}: program not found: {program}", cant_start(command, task.as_ref()))]
    MissingProgram {
        command: String,
        program: String,
        /// The task whose own command it is.
        task: Option<TaskId>,
    },
    /// A verify command that `safety.allowed_commands` does not allow.
    #[error("{}: {reason}", cant_start(command, task.as_ref()))]
    NotAllowed {
        command: String,
        reason: CommandRefusal,
        /// The task whose own command it is.
        task: Option<TaskId>,
    },
    #[error("there is nothing to verify with: no verify command is configured")]
    NoVerifyCommands,
    /// An agent or a person left the branch while no ralph was there to see it.
    #[error("HEAD is at {found}, but an interrupted loop works on branch {branch}")]
    LeftBranch { branch: String, found: String },
    /// Someone moved it while ralph worked: nothing more is written where it was.
    #[error("the repository is no longer at {}", .0.display())]
    MovedAway(PathBuf),
    /// An agent had edited `ralph.yaml` when ralph was killed. It is put back; read it again.
    #[error("{0} was edited while an agent ran, and is put back")]
    ConfigRestored(PathBuf),
}

fn cant_start(command: &str, task: Option<&TaskId>) -> String {
    match task {
        Some(task) => format!("the verify command `{command}` of task {task} can't be started"),
        None => format!("the verify command `{command}` can't be started"),
    }
}

fn list_problems(problems: &[String]) -> String {
    match problems {
        [one] => one.clone(),
        many => format!(
            "{} problems in the task graph:\n  {}",
            many.len(),
            many.join("\n  ")
        ),
    }
}

impl LoopError {
    /// Returns true if the user's input is at fault: usage, configuration, repository or task file. A disk that is
    /// full or fails is not, whatever was being read or written.
    pub fn is_users(&self) -> bool {
        if DiskFault::of(self).is_some() {
            return false;
        }
        match self {
            Self::Rewrite(error) => !error.is_internal(),
            Self::Git(_)
            | Self::Repository(_)
            | Self::Dirty { .. }
            | Self::Source(_)
            | Self::Graph(_)
            | Self::UnknownTask(_)
            | Self::Container(_)
            | Self::Lock(LockError::Held { .. })
            | Self::Prices(_)
            | Self::Template(_)
            | Self::BadGlob(_)
            | Self::ConfiguredPath { .. }
            | Self::Artefact { .. }
            | Self::Diverged { .. }
            | Self::CantBringOnto { .. }
            | Self::NoLayer { .. }
            | Self::NoSandbox { .. }
            | Self::NotInImage { .. }
            | Self::AllowedHost { .. }
            | Self::UnknownCommit { .. }
            | Self::NoVerifyCommands
            | Self::MissingProgram { .. }
            | Self::NotAllowed { .. }
            | Self::LeftBranch { .. } => true,
            Self::Journal(error) => error.is_users(),
            Self::Layer(_)
            | Self::Lock(LockError::Io { .. })
            | Self::IllegalStep(_)
            | Self::IllegalTransition(_)
            | Self::File { .. }
            | Self::MovedAway(_)
            | Self::ConfigRestored(_) => false,
        }
    }

    /// Returns the exit code. That of wrong input is kept for a run that has changed nothing.
    pub fn exit_code(&self, changed: Changed) -> u8 {
        match self {
            // Found before any agent is started, at the latest by the first run of the commands.
            Self::MissingProgram { .. } | Self::NotAllowed { .. } => 2,
            error if error.is_users() && changed == Changed::Nothing => 2,
            _ => 1,
        }
    }

    /// Returns the end that this error is to a loop.
    pub(crate) fn as_stop(&self, changed: Changed) -> Stop {
        let mut error = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(source) = cause {
            let text = source.to_string();
            if !error.contains(&text) {
                error.push_str(": ");
                error.push_str(&text);
            }
            cause = source.source();
        }
        Stop::Failed {
            error,
            exit_code: self.exit_code(changed),
        }
    }

    pub(crate) fn graph(problems: &[Problem], place: impl Fn(&Problem) -> String) -> Self {
        Self::Graph(
            problems
                .iter()
                .map(|p| format!("{}: {p}", place(p)))
                .collect(),
        )
    }
}

pub(crate) fn file_error(what: &'static str, path: &Path, source: std::io::Error) -> LoopError {
    LoopError::File {
        what,
        path: path.to_owned(),
        source,
    }
}
