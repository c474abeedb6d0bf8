//! The reporters, fed with fixed stories; what they show is written down here.

mod json;
mod live;
mod odd;
mod plain;
mod screen;
mod story;
mod words;

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use jiff::tz::{TimeZone, offset};

use super::{Colours, ReportStyle, Reporter, Verbosity};
use story::Story;

fn look(verbosity: Verbosity, colours: Colours) -> ReportStyle {
    ReportStyle {
        verbosity,
        colours,
        time_zone: TimeZone::fixed(offset(1)),
    }
}

/// A writer that can be looked into while a reporter has it.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A pipe whose reader goes away after some writes.
struct Closing {
    left: usize,
    out: Shared,
    refused: Arc<Mutex<usize>>,
}

impl Write for Closing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.left == 0 {
            *self.refused.lock().unwrap() += 1;
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.left -= 1;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn tell(reporter: &mut dyn Reporter, story: &Story) {
    for (at, event) in story {
        reporter.report(event, *at);
    }
    reporter.finish();
}
