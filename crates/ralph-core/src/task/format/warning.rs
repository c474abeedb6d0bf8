//! Remarks on a file that can be read: values that are not what their field expects, unknown words, lists
//! that are not read. Decides nothing; the readers say what they made of it.

use std::cell::RefCell;

use super::error::Fault;
use crate::task::{Place, TaskId};

named! {
    /// Describes what a warning about a task file is about.
    #[derive(PartialOrd, Ord)]
    pub enum WarningKind {
        OddValue = "odd-value",
        UnknownStatus = "unknown-status",
        NotRead = "not-read",
        CompletedContainer = "completed-container",
    }
}

/// One thing in a task file that was read by its nearest meaning, or not at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatWarning {
    pub kind: WarningKind,
    /// `None` if it is about the file.
    pub task: Option<TaskId>,
    pub place: Place,
    pub message: String,
    /// Tells what to do about it, where that differs from what is usual for its kind.
    pub hint: Option<&'static str>,
}

/// Collects warnings while a file is read.
#[derive(Debug, Default)]
pub(super) struct Notices(RefCell<Vec<OneNotice>>);

#[derive(Debug)]
struct OneNotice {
    kind: WarningKind,
    offset: usize,
    message: String,
    hint: Option<&'static str>,
}

impl Notices {
    pub(super) fn add(&self, kind: WarningKind, offset: usize, message: impl Into<String>) {
        self.push(kind, offset, message.into(), None);
    }

    /// Adds one with what to do about it.
    pub(super) fn add_with(
        &self,
        kind: WarningKind,
        offset: usize,
        message: impl Into<String>,
        hint: &'static str,
    ) {
        self.push(kind, offset, message.into(), Some(hint));
    }

    fn push(&self, kind: WarningKind, offset: usize, message: String, hint: Option<&'static str>) {
        self.0.borrow_mut().push(OneNotice {
            kind,
            offset,
            message,
            hint,
        });
    }

    /// Adds what would be an error elsewhere, with what became of the value.
    pub(super) fn add_fault(&self, fault: Fault, became: &str) {
        let (offset, message) = fault.into_parts();
        let offset = offset.unwrap_or_default();
        self.add(
            WarningKind::OddValue,
            offset,
            format!("{message}; {became}"),
        );
    }

    /// Takes what was collected, as warnings of a task at a place.
    pub(super) fn take(&self, task: Option<&TaskId>, place: Place) -> Vec<FormatWarning> {
        let found = self.0.take().into_iter();
        let found = found.map(|notice| FormatWarning {
            kind: notice.kind,
            task: task.cloned(),
            place: Place {
                offset: notice.offset as u32,
                ..place
            },
            message: notice.message,
            hint: notice.hint,
        });
        found.collect()
    }
}
