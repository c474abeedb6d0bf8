//! Errors as the user meets them: a sentence, its causes, a hint, an exit code.

use std::error::Error as StdError;

use ralph_core::board::UnknownTask;
use ralph_engine::{
    disk_fault::DiskFault, interview::InterviewError, store::JournalError, team::TeamError,
};

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    error: Box<dyn StdError + Send + Sync>,
    hint: Option<String>,
}

/// The kind of an error decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// ralph itself failed: a bug, the disk, the database.
    Internal,
    /// Usage, configuration or task file.
    User,
    /// The agent's program is not there.
    Unavailable,
    /// There is no money for it.
    Budget,
}

impl CommandError {
    pub(crate) fn new(kind: ErrorKind, error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            kind,
            error: error.into(),
            hint: None,
        }
    }

    pub(crate) fn user(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorKind::User, error)
    }

    pub(crate) fn internal(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Internal, error)
    }

    #[must_use]
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub(crate) fn hint_opt(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    pub(crate) fn kind(&self) -> ErrorKind {
        self.kind
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorKind::Internal => 1,
            // A fault of the disk is no mistake of the user's, also where their file could not be read.
            ErrorKind::User if DiskFault::of(&*self.error).is_some() => 1,
            ErrorKind::User => 2,
            ErrorKind::Budget => 5,
            ErrorKind::Unavailable => 6,
        }
    }

    /// The sentence and its causes, outermost first.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let mut found = vec![self.error.to_string()];
        let mut source = self.error.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            // Some libraries repeat the cause in their own text.
            if !found.last().is_some_and(|last| last.contains(&text)) {
                found.push(text);
            }
            source = cause.source();
        }
        found
    }

    pub(crate) fn hint_text(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

/// Makes an error that is no mistake of the user's one of ralph itself.
macro_rules! internal {
    ($($error:ty),+ $(,)?) => {$(
        impl From<$error> for CommandError {
            fn from(error: $error) -> Self {
                Self::internal(error)
            }
        }
    )+};
}

internal!(
    UnknownTask,
    minijinja::Error,
    serde_json::Error,
    std::io::Error,
);

impl From<JournalError> for CommandError {
    fn from(error: JournalError) -> Self {
        let hint = error.hint();
        let kind = if error.is_users() {
            ErrorKind::User
        } else {
            ErrorKind::Internal
        };
        Self::new(kind, error).hint_opt(hint.map(str::to_owned))
    }
}

impl From<TeamError> for CommandError {
    fn from(error: TeamError) -> Self {
        let hint = error.hint();
        let kind = if error.is_users() {
            ErrorKind::User
        } else {
            ErrorKind::Internal
        };
        Self::new(kind, error).hint_opt(hint)
    }
}

/// The files of an interview are in the user's own folder.
impl From<InterviewError> for CommandError {
    fn from(error: InterviewError) -> Self {
        Self::user(error)
    }
}
