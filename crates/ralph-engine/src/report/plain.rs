//! Lines for a person who reads a log, or a terminal that is none: nothing is redrawn.

use std::io::Write;

use jiff::Timestamp;
use ralph_core::event::Event;

use super::{
    Look, Reporter,
    human::{Human, Tools},
    sink::Sink,
};

/// A log has no width of its own.
const COLUMNS: usize = 100;

pub struct Plain<W> {
    sink: Sink<W>,
    human: Human,
}

impl<W: Write> Plain<W> {
    pub fn new(out: W, look: Look) -> Self {
        Self {
            sink: Sink::new(out),
            // A log that says nothing for an hour looks like one that hangs.
            human: Human::new(look, Tools::Listed, COLUMNS),
        }
    }
}

impl<W: Write + Send> Reporter for Plain<W> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        let text = self.human.render(event, at);
        self.sink.write(&text);
    }

    fn finish(&mut self) {}
}
