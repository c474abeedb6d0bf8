//! Tells errors of the disk from all others: it is full, it fails, it can't be written. None of them is the user's
//! mistake, and all of them may come in the middle of anything.

use std::{error::Error, io};

/// The fault of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    Full,
    Failing,
    ReadOnly,
}

impl DiskFault {
    /// Looks for a fault of the disk behind an error.
    pub fn of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            let found = match error.downcast_ref::<io::Error>() {
                Some(error) => Self::of_io(error),
                // Git and SQLite say it in words.
                None => Self::in_text(&error.to_string()),
            };
            if found.is_some() {
                return found;
            }
            cause = error.source();
        }
        None
    }

    fn of_io(error: &io::Error) -> Option<Self> {
        match error.raw_os_error() {
            Some(libc::ENOSPC | libc::EDQUOT) => Some(Self::Full),
            Some(libc::EIO) => Some(Self::Failing),
            Some(libc::EROFS) => Some(Self::ReadOnly),
            _ => None,
        }
    }

    fn in_text(text: &str) -> Option<Self> {
        let says = |words: &[&str]| words.iter().any(|words| text.contains(words));
        if says(&[
            "No space left on device",
            "Disk quota exceeded",
            "database or disk is full",
            // The file that readers and writers of the journal share can't be made larger.
            "(code: 4874) disk I/O error",
        ]) {
            Some(Self::Full)
        } else if says(&["Input/output error", "disk I/O error"]) {
            Some(Self::Failing)
        } else if says(&["Read-only file system"]) {
            Some(Self::ReadOnly)
        } else {
            None
        }
    }

    /// The first thing to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            Self::Full => "make room on the disk (`df` shows which one is full)",
            Self::Failing => {
                "look after the disk (the kernel's log says what it reports, `df` whether it is full)"
            }
            Self::ReadOnly => "make the file system writable again",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{error::LoopError, git::GitError, store::JournalError};

    #[test]
    fn a_fault_of_the_disk_is_found_however_it_is_wrapped() {
        let os = io::Error::from_raw_os_error;
        let git_io = |code| GitError::Io {
            what: "write",
            path: "/r/.git/objects/aa".into(),
            source: os(code),
        };
        let git_said = |stderr: &str| GitError::Failed {
            command: "git add".into(),
            status: "exit status: 128".into(),
            stderr: stderr.into(),
        };
        let journal = |said: &str| JournalError::Query {
            what: "end an iteration",
            source: said.into(),
        };
        let file = |code| LoopError::File {
            what: "write",
            path: "/r/.ralph/logs/iteration-1.json".into(),
            source: os(code),
        };
        let cases = [
            (LoopError::from(git_io(libc::ENOSPC)), Some(DiskFault::Full)),
            (git_io(libc::EIO).into(), Some(DiskFault::Failing)),
            (git_io(libc::EACCES).into(), None),
            (
                git_said("fatal: sha1 file write error: No space left on device").into(),
                Some(DiskFault::Full),
            ),
            (git_said("fatal: not a valid object name").into(), None),
            (
                journal("(code: 13) database or disk is full").into(),
                Some(DiskFault::Full),
            ),
            (
                journal("(code: 4874) disk I/O error").into(),
                Some(DiskFault::Full),
            ),
            (
                journal("(code: 778) disk I/O error").into(),
                Some(DiskFault::Failing),
            ),
            (journal("(code: 1) no such table").into(), None),
            (file(libc::EDQUOT), Some(DiskFault::Full)),
            (file(libc::EROFS), Some(DiskFault::ReadOnly)),
            (file(libc::ENOENT), None),
        ];
        for (error, expected) in cases {
            assert_eq!(DiskFault::of(&error), expected, "{error:?}");
            assert!(expected.is_none() || !error.is_users(), "{error:?}");
        }
    }
}
