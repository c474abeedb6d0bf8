//! `ralph run --json`: one object a line, for other programs. The form is a contract: see
//! docs/run-events.md.
//!
//! Says everything, whatever the verbosity, and makes nothing safe to show: JSON escapes control
//! characters, and what a program reads should be what was said.

use std::io::Write;

use jiff::Timestamp;
use ralph_core::event::Event;
use serde::Serialize;

use super::{Reporter, sink::ReportSink};

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
        Self {
            sink: ReportSink::new(out),
        }
    }
}

impl<W: Write + Send> Reporter for JsonLines<W> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        // All keys are strings and nothing is read on the way: this can't fail.
        let Ok(mut line) = serde_json::to_string(&JsonLine { at, event }) else {
            return;
        };
        line.push('\n');
        self.sink.write(&line);
    }

    fn finish(&mut self) {}
}
