//! A terminal: lines that scroll, and below them one status line that moves.
//!
//! The status line is cleared before lines are printed and at the end. No thread: the driver ticks.
//! Each change is one write, so that nothing is seen half drawn.

mod status;

use std::{io::Write, slice};

use jiff::Timestamp;
use ralph_core::event::Event;

use self::status::StatusLine;
use super::{
    ReportStyle, Reporter,
    human::{HumanText, Tools},
    lines::ReportSink,
    paint::Paint,
};

/// Shortest time between two drawings of the status line that no printed line asks for.
const MIN_REDRAW_MS: i64 = 100;

/// To the first column, and the line emptied.
const CLEAR: &str = "\r\x1b[2K";

/// A line that is a column too long after all, because a terminal draws a character wider than was
/// reckoned, must not wrap: what wrapped could not be cleared.
const WRAP_OFF: &str = "\x1b[?7l";
const WRAP_ON: &str = "\x1b[?7h";

/// A terminal that can be written to.
pub trait Screen: Write + Send {
    /// The present width.
    fn columns(&self) -> usize;
}

impl Screen for console::Term {
    fn columns(&self) -> usize {
        usize::from(self.size().1)
    }
}

pub struct Live {
    sink: ReportSink<Box<dyn Screen>>,
    human: HumanText,
    status: StatusLine,
    paint: Paint,
    drawn: Option<Drawn>,
}

/// The status line as it stands on the screen.
struct Drawn {
    text: String,
    at: Timestamp,
}

impl Live {
    pub fn new(screen: Box<dyn Screen>, look: ReportStyle) -> Self {
        let paint = Paint(look.colours);
        let columns = screen.columns();
        Self {
            sink: ReportSink::new(screen),
            status: StatusLine::new(look.time_zone.clone()),
            human: HumanText::new(look, Tools::InStatus, columns),
            paint,
            drawn: None,
        }
    }

    /// Prints lines above the status line.
    fn print(&mut self, lines: &str, at: Timestamp) {
        let mut text = String::new();
        if self.drawn.take().is_some() {
            text.push_str(CLEAR);
        }
        text.push_str(lines);
        text.push_str(&self.draw(at));
        self.sink.write(&text);
    }

    fn redraw(&mut self, at: Timestamp) {
        let last = self.drawn.as_ref();
        let age = last.map(|drawn| at.as_millisecond() - drawn.at.as_millisecond());
        // A clock that was set back must not stop the line: only a short time forward is too soon.
        if age.is_some_and(|ms| (0..MIN_REDRAW_MS).contains(&ms)) {
            return;
        }
        let before = self.drawn.take();
        let text = self.draw(at);
        let drawn = |line: &Option<Drawn>| line.as_ref().map(|line| line.text.clone());
        if drawn(&before) != drawn(&self.drawn) {
            let clear = if before.is_some() { CLEAR } else { "" };
            self.sink.write(&format!("{clear}{text}"));
        }
    }

    /// Returns the text that draws the status line at the cursor; remembers that it is drawn.
    fn draw(&mut self, at: Timestamp) -> String {
        // The last column stays free: some terminals wrap as soon as it is filled.
        let width = self.sink.get().columns().saturating_sub(1);
        let Some(text) = self.status.line(at, width, self.paint) else {
            return String::new();
        };
        let drawing = format!("{WRAP_OFF}{text}{WRAP_ON}");
        self.drawn = Some(Drawn { text, at });
        drawing
    }
}

impl Reporter for Live {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.report_all(slice::from_ref(event), at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        self.human.set_columns(self.sink.get().columns());
        for event in events {
            self.status.observe(event, at);
        }
        let lines = self.human.render(events, at);
        if lines.is_empty() {
            self.redraw(at);
        } else {
            self.print(&lines, at);
        }
    }

    fn wants_ticks(&self) -> bool {
        true
    }

    fn tick(&mut self, now: Timestamp) {
        self.status.begin(now);
        self.redraw(now);
    }

    fn make_room(&mut self) {
        if self.drawn.take().is_some() {
            self.sink.write(CLEAR);
        }
    }

    fn finish(&mut self) {
        self.status.end();
        self.make_room();
    }
}

/// Also when ralph fails half-way: an error message must not be written into the status line.
impl Drop for Live {
    fn drop(&mut self) {
        self.finish();
    }
}
