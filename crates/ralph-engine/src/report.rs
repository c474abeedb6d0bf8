//! Reports the events of a loop: to a person at a terminal, a log, another program.
//!
//! One enum of events feeds all reporters. A reporter only shows: it decides nothing, keeps nothing
//! that anything else relies on, looks at no clock and no environment, and writes to what it was
//! given. A reader that went away never stops a loop.

mod human;
mod lines;
mod live;
mod observed;
mod page;
mod paint;
mod redacted;
mod waiting;

pub use lines::{JsonLines, PlainReporter};
pub use live::{Foot, Live, LiveScreen, Screen, ShownPause};
pub(crate) use observed::{EventObserver, ObservedReporter};
pub use paint::{Colours, Tone};
pub(crate) use redacted::RedactedReporter;

use std::io::Write;

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::event::Event;

pub trait Reporter: Send {
    fn report(&mut self, event: &Event, at: Timestamp);

    /// Reports what happened at once, in its order.
    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        for event in events {
            self.report(event, at);
        }
    }

    /// Called about four times a second, so that a status line moves while nothing happens.
    fn tick(&mut self, _now: Timestamp) {}

    /// Returns true if ticks change anything: no wake-ups without need.
    fn wants_ticks(&self) -> bool {
        false
    }

    /// Something is begun that no event tells of: a status line says so until the next event.
    fn begin(&mut self, _what: &str) {}

    /// Clears the way for other output to the terminal, until the next event.
    fn make_room(&mut self) {}

    /// Nothing follows. Leaves the terminal as a shell wants it.
    fn finish(&mut self) {}
}

/// The amount of output for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// `-q`: only what needs a person, and the final line.
    Quiet,
    Normal,
    /// `-v`: what the agent says and does, too.
    Verbose,
    /// `-vv`: everything that its stream holds.
    VeryVerbose,
}

/// The look of the lines for people.
#[derive(Debug, Clone)]
pub struct ReportStyle {
    pub verbosity: Verbosity,
    pub colours: Colours,
    /// The zone that times are shown in.
    pub time_zone: TimeZone,
}

/// Which reporter of lines, and where it writes.
pub enum ReportKind {
    JsonLines(Box<dyn Write + Send>),
    Plain(Box<dyn Write + Send>, ReportStyle),
}

pub fn make(kind: ReportKind) -> Box<dyn Reporter> {
    match kind {
        ReportKind::JsonLines(out) => Box::new(JsonLines::new(out)),
        ReportKind::Plain(out, look) => Box::new(PlainReporter::new(out, look)),
    }
}

/// Makes the reporter of a terminal, with the screen for who reads its keys; there is none where no line moves,
/// as who asks for quiet wants.
pub fn on_terminal(
    screen: Box<dyn Screen>,
    look: ReportStyle,
) -> (Box<dyn Reporter>, Option<LiveScreen>) {
    if look.verbosity == Verbosity::Quiet {
        let columns = screen.columns();
        let plain = PlainReporter::on_terminal(screen, look, columns);
        return (Box::new(plain), None);
    }
    let live = Live::new(screen, look);
    let screen = live.screen();
    (Box::new(live), Some(screen))
}

#[cfg(test)]
mod tests;
