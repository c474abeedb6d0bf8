//! Lines for a person who reads a log, or a terminal that is none: nothing is redrawn.

use std::io::Write;

use jiff::Timestamp;
use ralph_core::event::Event;

use super::{
    ReportStyle, Reporter,
    human::{HumanText, Tools},
    sink::ReportSink,
};

/// A log has no width of its own.
const COLUMNS: usize = 100;

pub struct PlainReporter<W> {
    sink: ReportSink<W>,
    human: HumanText,
}

impl<W: Write> PlainReporter<W> {
    pub fn new(out: W, look: ReportStyle) -> Self {
        Self {
            sink: ReportSink::new(out),
            // A log that says nothing for an hour looks like one that hangs.
            human: HumanText::new(look, Tools::Listed, COLUMNS),
        }
    }
}

impl<W: Write + Send> Reporter for PlainReporter<W> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        let text = self.human.render(event, at);
        self.sink.write(&text);
    }

    fn finish(&mut self) {}
}
