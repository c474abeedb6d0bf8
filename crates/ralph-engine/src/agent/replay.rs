//! Reads a recorded stream as the runner reads a live one: the same lines, the same dialect, the same
//! limits.
//!
//! Starts nothing and keeps no event. What a person or a signal did to the run is not in its stream:
//! only the exit says it.

use std::io::{self, Read};
use std::pin::Pin;
use std::task::{Context, Poll};

use ralph_core::agent::AgentEvent;
use tokio::io::{AsyncRead, ReadBuf};

use super::{Conclusion, Dialect, output};
use crate::process::{Ended, LineReader};

/// The end of a recorded run, as far as its stream can't say.
#[derive(Debug, Clone, Copy)]
pub struct RecordedEnd<'a> {
    pub ended: Ended,
    /// Its stderr, where that was kept apart.
    pub stderr: &'a [u8],
}

/// Which lines of a recording ralph put there itself. Its first line tells: an agent that prints lines
/// that look like ralph's is read as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Marks {
    /// A log of ralph's own. The number is of the run that is read.
    Runs(u32),
    /// A stream of events; in logs of before runs were marked, stderr stands between them. No event
    /// begins as a mark does.
    Stderr,
    /// Any text.
    Unmarked,
}

impl Marks {
    fn of(first: &[u8]) -> Self {
        if first.starts_with(run_mark(1).as_bytes()) {
            Self::Runs(0)
        } else if first.trim_ascii_start().starts_with(b"{") {
            Self::Stderr
        } else {
            Self::Unmarked
        }
    }

    /// The text of a line of stderr; `None` for any other line.
    fn stderr(self, line: &[u8]) -> Option<&[u8]> {
        match self {
            Self::Runs(_) | Self::Stderr => line.strip_prefix(output::STDERR_MARK),
            Self::Unmarked => None,
        }
    }

    /// Tells whether the line begins the next run; from there on it is the one that is read.
    fn begins_run(&mut self, line: &[u8]) -> bool {
        match self {
            Self::Runs(run) if line.starts_with(run_mark(*run + 1).as_bytes()) => {
                *run += 1;
                true
            }
            Self::Runs(_) | Self::Stderr | Self::Unmarked => false,
        }
    }
}

/// The mark in ralph's own log before a run of an agent: an iteration can have several.
fn run_mark(run: u32) -> String {
    format!("[run {run}] ")
}

/// The line that begins a run in ralph's own log.
pub(crate) fn run_line(run: u32, agent: &str) -> String {
    format!("{}{agent}\n", run_mark(run))
}

/// Reads a stream to its end; each event goes to `sink` as it is read. In a log of ralph's own, which
/// begins with the mark of its first run, lines marked as stderr are taken for that, and each run is read
/// by itself: the last one is concluded. `Err` is of the reader or of the sink.
pub async fn read_stream(
    make: impl Fn() -> Box<dyn Dialect>,
    stream: impl Read + Unpin,
    end: RecordedEnd<'_>,
    mut sink: impl FnMut(&AgentEvent) -> io::Result<()>,
) -> io::Result<Conclusion> {
    let mut dialect = make();
    let mut reader = LineReader::new(Recorded(stream));
    let mut stderr = output::stderr_tail();
    let mut events = Vec::new();
    let mut marks = None;
    while let Some(line) = reader.next_line().await? {
        let marks = marks.get_or_insert_with(|| Marks::of(line.bytes));
        if let Some(said) = marks.stderr(line.bytes) {
            stderr.push(said);
            stderr.push(b"\n");
            continue;
        }
        if marks.begins_run(line.bytes) {
            dialect = make();
            stderr = output::stderr_tail();
            let text = String::from_utf8_lossy(line.bytes).into_owned();
            events.push(AgentEvent::Notice { text });
        } else {
            dialect.read_line(line.bytes, &mut events);
        }
        // Nothing is there to get them, and they would pile up.
        let _ = (dialect.replies(), dialect.used());
        for event in events.drain(..) {
            sink(&event)?;
        }
    }
    stderr.push(end.stderr);
    Ok(dialect.conclude(end.ended, &stderr.text()))
}

/// A file, or a pipe that nothing else waits for: a read may block.
struct Recorded<R>(R);

impl<R: Read + Unpin> AsyncRead for Recorded<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = loop {
            match self.0.read(buffer.initialize_unfilled()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        Poll::Ready(read.map(|n| buffer.advance(n)))
    }
}

#[cfg(test)]
mod tests;
