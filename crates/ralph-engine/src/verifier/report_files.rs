//! Reports of tests that a command writes to files, for runners that print no count.
//!
//! Only files that are new or were written since the command began count: an old report, or one that is part of
//! the change, says nothing of this run.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Read as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    task::VerifyCommand,
    verify::{TestCounts, count_report, may_be_report},
};

use crate::plain_file::{self, FileStamp};

/// Entries that are looked at, those nearest to the top first.
const MAX_ENTRIES: usize = 50_000;
/// Reports that are read, and the bytes of each.
const MAX_REPORTS: usize = 2_000;
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Folders that hold no report of a run, and often many files.
const SKIPPED: [&str; 10] = [
    ".git",
    ".ralph",
    "node_modules",
    ".venv",
    "venv",
    "site-packages",
    "__pycache__",
    "incremental",
    "deps",
    ".fingerprint",
];

/// The files that may be reports of a command, as they were before it.
pub(super) struct ReportFiles<'a> {
    folder: &'a Path,
    command: &'a VerifyCommand,
    before: BTreeMap<PathBuf, FileStamp>,
}

impl<'a> ReportFiles<'a> {
    pub(super) fn note(folder: &'a Path, command: &'a VerifyCommand) -> Self {
        Self {
            folder,
            command,
            before: reports_in(folder, command),
        }
    }

    /// Counts the tests in the reports that were written since.
    pub(super) fn count_new(self) -> Option<TestCounts> {
        let now = reports_in(self.folder, self.command).into_iter();
        let new = now.filter(|(path, stamp)| self.before.get(path) != Some(stamp));
        let counted = new.filter_map(|(path, _)| {
            let mut bytes = Vec::new();
            let file = plain_file::open(&self.folder.join(path)).ok()?;
            file.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
            count_report(&String::from_utf8_lossy(&bytes))
        });
        counted.take(MAX_REPORTS).reduce(|mut sum, more| {
            sum.add(more);
            sum
        })
    }
}

/// The plain files in a folder that may be reports, by their path in it. No link is followed, and what can't be read
/// is passed over.
fn reports_in(top: &Path, command: &VerifyCommand) -> BTreeMap<PathBuf, FileStamp> {
    let mut found = BTreeMap::new();
    let mut folders = VecDeque::from([PathBuf::new()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front() {
        let Ok(entries) = std::fs::read_dir(top.join(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            seen += 1;
            if seen > MAX_ENTRIES {
                return found;
            }
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name();
            let path = folder.join(&name);
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| name == *skipped) {
                folders.push_back(path);
            } else if kind.is_file()
                && may_be_report(&path, command)
                && let Ok(meta) = entry.metadata()
            {
                found.insert(path, FileStamp::new(&meta));
            }
        }
    }
    found
}
