//! Describes what is wrong with a task file, and where: file, line, column, task, and what was expected.
//!
//! Inside the module a fault is a byte offset; line and column are counted only once, when the
//! error leaves it.

use crate::task::TaskId;

/// A task file that could not be read, or not be changed. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.render())]
pub struct FormatError {
    pub file: String,
    /// Line and column from 1; `None` where no place in the file is to blame.
    pub place: Option<LineColumn>,
    /// The id of the task as far as it is known.
    pub task: Option<String>,
    pub message: String,
}

/// A place as an editor shows it: both from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
    pub line: usize,
    pub column: usize,
}

impl FormatError {
    fn render(&self) -> String {
        let mut text = self.file.clone();
        if let Some(LineColumn { line, column }) = self.place {
            text.push_str(&format!(":{line}:{column}"));
        }
        if let Some(task) = &self.task {
            text.push_str(&format!(": task {task}"));
        }
        text.push_str(": ");
        text.push_str(&self.message);
        text
    }
}

/// Line and column of a byte offset, both from 1. Columns count characters; a byte-order mark is
/// none.
pub fn line_column(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let before = before.strip_prefix(super::BOM).unwrap_or(before);
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    // A byte of the form 10xxxxxx goes on with a character that has been counted.
    let column = before[start..]
        .iter()
        .filter(|b| **b & 0xC0 != 0x80)
        .count()
        + 1;
    (line, column)
}

/// A fault as the inner parts report it.
#[derive(Debug)]
pub(super) struct Fault {
    offset: Option<usize>,
    task: Option<String>,
    message: String,
}

/// Boxed, so that the way without a fault stays cheap.
pub(super) type FormatResult<T> = Result<T, Box<Fault>>;

impl Fault {
    pub(super) fn at(offset: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            offset: Some(offset),
            task: None,
            message: message.into(),
        })
    }

    pub(super) fn nowhere(message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            offset: None,
            task: None,
            message: message.into(),
        })
    }

    /// Names the task, unless an inner part has done so.
    pub(super) fn of_task(mut self: Box<Self>, task: impl Into<String>) -> Box<Self> {
        self.task.get_or_insert_with(|| shorten(&task.into(), 80));
        self
    }

    pub(super) fn of(self: Box<Self>, task: &TaskId) -> Box<Self> {
        self.of_task(task.as_str())
    }

    /// The place and the message, for a warning.
    pub(super) fn into_parts(self) -> (Option<usize>, String) {
        (self.offset, self.message)
    }

    pub(super) fn into_error(self, file: &str, bytes: &[u8]) -> FormatError {
        FormatError {
            file: file.to_owned(),
            place: self.offset.map(|offset| {
                let (line, column) = line_column(bytes, offset);
                LineColumn { line, column }
            }),
            task: self.task,
            message: self.message,
        }
    }
}

/// The beginning of a text, for a message: one line, nothing that a terminal would obey.
pub(super) fn shorten(text: &str, limit: usize) -> String {
    let mut short: String = text
        .chars()
        .take(limit)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    if text.chars().nth(limit).is_some() {
        short.push('…');
    }
    short
}
