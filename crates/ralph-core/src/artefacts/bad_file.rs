//! Why a file of an artefacts project can't be used. Says what is wrong, and where; mends nothing.

/// A file that is no longer what the workflow says it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} can't be read: {message}")]
pub struct BadFile {
    pub file: &'static str,
    pub message: String,
}

impl BadFile {
    pub(super) fn new(file: &'static str, message: impl std::fmt::Display) -> Self {
        Self {
            file,
            message: message.to_string(),
        }
    }
}

/// Which iteration an agent was at when it wrote, by the project's own count, and for which task.
#[derive(Debug, Clone, Copy)]
pub struct IterationRef<'a> {
    pub iteration: u64,
    pub task: &'a str,
}
