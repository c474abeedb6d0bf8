//! The logs of an iteration in `.ralph/logs/`: a readable one, the agent's raw stream, the record.

use std::{
    borrow::Cow,
    io::Write as _,
    path::{Path, PathBuf},
};

use ralph_core::{agent::AgentEvent, event::Event, record::IterationRecord, secret::Redaction};

use crate::{
    clock::Clock,
    error::{LoopError, file_error},
    failpoint::fault,
    plain_file,
    process::{CappedLog, LogCaps},
    report::Reporter,
    supervisor::AgentTap,
};

/// The logs of an iteration, or of the baseline.
pub(crate) struct IterationFiles {
    pub(crate) text: CappedLog,
    pub(crate) stream: CappedLog,
    record: PathBuf,
    name: String,
}

/// Where the logs of iterations are.
pub(crate) const LOGS: &str = ".ralph/logs";
/// The ending of files with the prompts of an iteration.
pub(crate) const PROMPT: &str = "prompt";

impl IterationFiles {
    /// Opens the logs of iteration `n`; after a crash they are gone on with.
    pub(crate) fn open(root: &Path, n: u64, max_mb: u32) -> Result<Self, LoopError> {
        Self::named(root, &format!("iteration-{n}"), max_mb)
    }

    /// Opens the log of the baseline, which belongs to no iteration.
    pub(crate) fn baseline(root: &Path, max_mb: u32) -> Result<Self, LoopError> {
        Self::named(root, "baseline", max_mb)
    }

    /// Opens the log of a check of a commit, which belongs to no iteration either.
    pub(crate) fn commit_check(root: &Path, max_mb: u32) -> Result<Self, LoopError> {
        Self::named(root, "check", max_mb)
    }

    fn named(root: &Path, name: &str, max_mb: u32) -> Result<Self, LoopError> {
        let folder = root.join(LOGS);
        fault("log")
            .and_then(|()| std::fs::create_dir_all(&folder))
            .map_err(|e| file_error("make", &folder, e))?;
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
            name: name.to_owned(),
        })
    }

    /// The log of the raw stream of an iteration.
    pub(crate) fn stream_path(root: &Path, n: u64) -> PathBuf {
        root.join(LOGS).join(format!("iteration-{n}.stream"))
    }

    /// Returns how people find the readable log of an iteration.
    pub(crate) fn shown(n: u64) -> String {
        format!("{LOGS}/iteration-{n}.txt")
    }

    /// Returns how people find the readable log.
    pub(crate) fn shown_text(&self) -> String {
        format!("{LOGS}/{}.txt", self.name)
    }

    pub(crate) fn heading(&mut self, title: &str) {
        self.line(&format!("\n== {title}"));
    }

    pub(crate) fn line(&mut self, text: &str) {
        let _ = self.text.write_all(text.as_bytes());
        let _ = self.text.write_all(b"\n");
    }

    /// Keeps the prompt of a run beside the logs, where it is to be sent to the store of a team.
    pub(crate) fn keep_prompt(&self, run: u32, prompt: &str) {
        let path = self.record.with_extension(PROMPT);
        let keep = || {
            plain_file::make_room(&path)?;
            let mut file = std::fs::File::options()
                .create(true)
                .append(true)
                .open(&path)?;
            file.write_all(format!("== run {run}\n{prompt}\n").as_bytes())
        };
        // As with other logs, the work goes on without it.
        let _: std::io::Result<()> = keep();
    }

    /// Writes what is told of the agent, where a person may want to look it up.
    pub(crate) fn event(&mut self, event: &Event) {
        write_told(&mut self.text, event);
    }

    /// Ends the logs, as far as they are written.
    pub(crate) fn close(self) {
        let _ = self.text.finish();
        let _ = self.stream.finish();
    }

    /// Writes the verdict and the record, and ends the logs. Not durable: the journal has it, and what a kill leaves
    /// out is written by the next run.
    pub(crate) fn end(mut self, record: &IterationRecord) -> Result<(), LoopError> {
        let _ = self.text.write_all(last_lines(record).as_bytes());
        self.end_with_record(record)
    }

    /// Writes what is missing of an iteration that has ended.
    pub(crate) fn rebuild(
        root: &Path,
        record: &IterationRecord,
        max_mb: u32,
    ) -> Result<(), LoopError> {
        let files = Self::open(root, record.iteration, max_mb)?;
        let text = plain_file::read(&files.record.with_extension("txt"));
        if text.is_ok_and(|text| text.ends_with(last_lines(record).as_bytes())) {
            return files.end_with_record(record);
        }
        files.end(record)
    }

    fn end_with_record(self, record: &IterationRecord) -> Result<(), LoopError> {
        let _ = self.text.finish();
        let _ = self.stream.finish();
        let write = || {
            let text = serde_json::to_string_pretty(record)?;
            if let Some(folder) = self.record.parent() {
                std::fs::create_dir_all(folder)?;
            }
            plain_file::make_room(&self.record)?;
            // A reader finds the whole of it or nothing.
            fault("log")?;
            let new = self.record.with_extension("json.new");
            plain_file::remove(&new)?;
            std::fs::write(&new, text + "\n")?;
            std::fs::rename(&new, &self.record)
        };
        write().map_err(|e| file_error("write", &self.record, e))
    }

    /// Hides secrets in files of an agent that were set aside beside the logs of iteration `n`.
    pub(crate) fn hide_in_set_aside(
        root: &Path,
        n: u64,
        redaction: &Redaction,
    ) -> Result<(), LoopError> {
        let own = ["txt", "stream", "json"].map(|suffix| format!("iteration-{n}.{suffix}"));
        let begins = [format!("iteration-{n}."), format!("iteration-{n}-")];
        let entries = std::fs::read_dir(root.join(LOGS)).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if own.contains(&name) || !begins.iter().any(|begin| name.starts_with(begin)) {
                continue;
            }
            let path = entry.path();
            let bytes = plain_file::read(&path).unwrap_or_default();
            if let Cow::Owned(hidden) = redaction.hide_bytes(&bytes) {
                std::fs::write(&path, hidden).map_err(|e| file_error("write", &path, e))?;
            }
        }
        Ok(())
    }

    /// Returns whether iteration `n` has logs here, and no record beside them.
    pub(crate) fn lacks_record(root: &Path, n: u64) -> bool {
        let log = root.join(LOGS).join(format!("iteration-{n}.txt"));
        let record = plain_file::read(&log.with_extension("json"));
        let is_whole =
            record.is_ok_and(|text| serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok());
        log.exists() && !is_whole
    }
}

/// The end of the readable log.
fn last_lines(record: &IterationRecord) -> String {
    let mut last = format!("\n== verdict\n{}\n", record.verdict.sentence());
    if let Some(diagnosis) = &record.diagnosis {
        last.push_str(&format!("\n== diagnosis\n{}\n", diagnosis.text));
    }
    last
}

/// Passes what is told of a running agent on to the iteration's log and to the reporter.
///
/// Events that come at once are written at once.
pub(super) struct ReportTap<'a> {
    text: &'a mut CappedLog,
    reporter: &'a mut dyn Reporter,
    clock: &'a dyn Clock,
    /// Events that are not told yet, and their lines in the log.
    events: Vec<Event>,
    lines: String,
}

impl<'a> ReportTap<'a> {
    pub(super) fn new(
        text: &'a mut CappedLog,
        reporter: &'a mut dyn Reporter,
        clock: &'a dyn Clock,
    ) -> Self {
        Self {
            text,
            reporter,
            clock,
            events: Vec::new(),
            lines: String::new(),
        }
    }
}

impl AgentTap for ReportTap<'_> {
    fn agent_event(&mut self, event: AgentEvent) {
        add_lines(&mut self.lines, &event);
        self.events.push(Event::Agent(event));
    }

    fn catch_up(&mut self) {
        if !self.lines.is_empty() {
            self.text.push(self.lines.as_bytes());
            self.lines.clear();
        }
        if !self.events.is_empty() {
            self.reporter.report_all(&self.events, self.clock.now());
            self.events.clear();
        }
    }

    fn event(&mut self, event: &Event) {
        self.catch_up();
        write_told(self.text, event);
        self.reporter.report(event, self.clock.now());
    }

    fn tick(&mut self) {
        self.reporter.tick(self.clock.now());
    }

    fn wants_ticks(&self) -> bool {
        self.reporter.wants_ticks()
    }
}

/// Writes what is told of an agent while it runs: `[health] stuck: no progress for 30 minutes`.
fn write_told(log: &mut CappedLog, event: &Event) {
    if let Some(line) = event.kept_line() {
        log.push(format!("{line}\n").as_bytes());
    }
}

/// Adds what the agent does, as a person reads it.
fn add_lines(lines: &mut String, event: &AgentEvent) {
    match event {
        AgentEvent::ToolDone { ok: true, .. }
        | AgentEvent::Usage(_)
        | AgentEvent::Turn { .. }
        | AgentEvent::Thinking { .. } => return,
        AgentEvent::Result(result) => {
            lines.push_str(&event.line());
            lines.push('\n');
            lines.push_str(&result.text);
        }
        AgentEvent::Text { text } => lines.push_str(text),
        _ => lines.push_str(&event.line()),
    }
    lines.push('\n');
}
