//! The result of each message, a line each, in `notify.log` of the data folder: agents do not write
//! there, and an unattended run's own output may be lost.
//!
//! Bounded: a file that has grown large is started over. A line that can't be written is left out.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use ralph_core::{notification::Notification, sanitize::one_line};

/// The name of the file.
const NAME: &str = "notify.log";
const MAX_BYTES: u64 = 1024 * 1024;
const LINE_COLUMNS: usize = 500;

#[derive(Debug, Clone)]
pub struct Trace {
    file: PathBuf,
}

impl Trace {
    pub fn in_folder(data_dir: &Path) -> Self {
        Self {
            file: data_dir.join(NAME),
        }
    }

    pub(super) fn note(&self, message: &Notification, way: &str, answer: &str) {
        let Notification {
            at, event, loop_id, ..
        } = message;
        let line = one_line(
            &format!("{at} loop {loop_id} {event} {way}: {answer}"),
            LINE_COLUMNS,
        );
        let is_large = std::fs::metadata(&self.file).is_ok_and(|m| m.len() > MAX_BYTES);
        let mut options = OpenOptions::new();
        options.create(true).write(true);
        let opened = if is_large {
            options.truncate(true).open(&self.file)
        } else {
            options.append(true).open(&self.file)
        };
        let _ = opened.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
    }
}
