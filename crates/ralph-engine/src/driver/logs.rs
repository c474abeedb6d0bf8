//! The logs of an iteration in `.ralph/logs/`: a readable one, the agent's raw stream, the record.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use ralph_core::{agent::AgentEvent, record::IterationRecord};

use super::{LoopError, files::file_error};
use crate::{
    plain_file,
    process::{CappedLog, LogCaps},
};

pub(super) struct Logs {
    pub(super) text: CappedLog,
    pub(super) stream: CappedLog,
    record: PathBuf,
    /// How people find the readable one.
    pub(super) shown: String,
}

impl Logs {
    /// Opens the logs of iteration `n`; after a crash they are gone on with.
    pub(super) fn open(root: &Path, n: u64, max_mb: u32) -> Result<Self, LoopError> {
        Self::named(root, &format!("iteration-{n}"), max_mb)
    }

    /// The log of the baseline, which belongs to no iteration.
    pub(super) fn baseline(root: &Path, max_mb: u32) -> Result<Self, LoopError> {
        Self::named(root, "baseline", max_mb)
    }

    fn named(root: &Path, name: &str, max_mb: u32) -> Result<Self, LoopError> {
        let folder = root.join(super::files::LOGS);
        std::fs::create_dir_all(&folder).map_err(|e| file_error("make", &folder, e))?;
        let total = u64::from(max_mb) * 1024 * 1024;
        let caps = LogCaps {
            total,
            tail: usize::try_from(total / 8)
                .unwrap_or(usize::MAX)
                .min(4 * 1024 * 1024),
        };
        let open = |suffix: &str| {
            let path = folder.join(format!("{name}.{suffix}"));
            plain_file::make_room(&path).map_err(|e| file_error("open", &path, e))?;
            let file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(&path);
            file.map(|f| CappedLog::new(f, caps))
                .map_err(|e| file_error("open", &path, e))
        };
        Ok(Self {
            text: open("txt")?,
            stream: open("stream")?,
            record: folder.join(format!("{name}.json")),
            shown: format!("{}/{name}.txt", super::files::LOGS),
        })
    }

    pub(super) fn heading(&mut self, title: &str) {
        self.line(&format!("\n== {title}"));
    }

    pub(super) fn line(&mut self, text: &str) {
        let _ = self.text.write_all(text.as_bytes());
        let _ = self.text.write_all(b"\n");
    }

    /// Writes the record and ends the logs. Not durable: the journal has it.
    pub(super) fn finish(self, record: &IterationRecord) -> Result<(), LoopError> {
        let _ = self.text.finish();
        let _ = self.stream.finish();
        let text = serde_json::to_string_pretty(record).unwrap_or_default();
        let write = || {
            if let Some(folder) = self.record.parent() {
                std::fs::create_dir_all(folder)?;
            }
            plain_file::make_room(&self.record)?;
            std::fs::write(&self.record, text + "\n")
        };
        write().map_err(|e| file_error("write", &self.record, e))
    }
}

/// What the agent does, as a person reads it.
pub(super) fn write_event(log: &mut CappedLog, event: &AgentEvent) {
    let mut line = match event {
        AgentEvent::ToolDone { ok: true, .. }
        | AgentEvent::Usage(_)
        | AgentEvent::Turn { .. }
        | AgentEvent::Thinking { .. } => return,
        AgentEvent::Result(result) => format!("{}\n{}", event.line(), result.text),
        _ => event.line(),
    };
    line.push('\n');
    let _ = log.write_all(line.as_bytes());
}
