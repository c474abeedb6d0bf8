//! Reporters that write line after line and redraw nothing: text for a person who reads a log, JSON for other
//! programs.

use std::{io::Write, slice};

use jiff::Timestamp;
use ralph_core::event::Event;
use serde::Serialize;

use super::{
    ReportStyle, Reporter,
    human::{HumanText, Tools},
    page::LineWidth,
};

/// Lines for a person who reads a log, or a terminal that is none.
pub struct PlainReporter<W> {
    sink: ReportSink<W>,
    human: HumanText,
}

impl<W: Write> PlainReporter<W> {
    pub fn new(out: W, look: ReportStyle) -> Self {
        Self {
            sink: ReportSink::new(out),
            // A log that says nothing for an hour looks like one that hangs.
            human: HumanText::new(look, Tools::Listed, LineWidth::Log),
        }
    }

    /// Lines for a terminal of so many columns on which nothing moves.
    pub(super) fn on_terminal(out: W, look: ReportStyle, columns: usize) -> Self {
        let mut plain = Self::new(out, look);
        plain.human.set_columns(columns);
        plain
    }
}

impl<W: Write + Send> Reporter for PlainReporter<W> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.report_all(slice::from_ref(event), at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        let text = self.human.render(events, at);
        self.sink.write(&text);
    }
}

/// `ralph run --json`: one object a line. The form is a contract: see docs/run-events.md.
///
/// Says everything, whatever the verbosity, and makes nothing safe to show: JSON escapes control
/// characters, and what a program reads should be what was said.
pub struct JsonLines<W> {
    sink: ReportSink<W>,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    at: Timestamp,
    #[serde(flatten)]
    event: &'a Event,
}

impl<W: Write> JsonLines<W> {
    pub fn new(out: W) -> Self {
        let sink = ReportSink::new(out);
        Self { sink }
    }
}

impl<W: Write + Send> Reporter for JsonLines<W> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.report_all(slice::from_ref(event), at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        let mut lines = Vec::new();
        for event in events {
            // All keys are strings and nothing is read on the way: this can't fail.
            if serde_json::to_writer(&mut lines, &JsonLine { at, event }).is_ok() {
                lines.push(b'\n');
            }
        }
        self.sink.write(&lines);
    }
}

/// Where a reporter writes. After the first error it is silent: a reader that went away (`| head`)
/// must not stop a loop, and there is no reader left to tell.
pub(super) struct ReportSink<W> {
    out: W,
    closed: bool,
}

impl<W: Write> ReportSink<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, closed: false }
    }

    /// Writes all of it in one go, and flushes: a line is seen when it happens.
    pub(super) fn write(&mut self, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        if self.closed || text.is_empty() {
            return;
        }
        let written = self.out.write_all(text);
        self.closed = written.and_then(|()| self.out.flush()).is_err();
    }

    pub(super) fn get(&self) -> &W {
        &self.out
    }
}
