//! Where a reporter writes. After the first error it is silent: a reader that went away (`| head`)
//! must not stop a loop, and there is no reader left to tell.

use std::io::Write;

pub(super) struct ReportSink<W> {
    out: W,
    closed: bool,
}

impl<W: Write> ReportSink<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, closed: false }
    }

    /// Writes all of it in one go, and flushes: a line is seen when it happens.
    pub(super) fn write(&mut self, text: &str) {
        if self.closed || text.is_empty() {
            return;
        }
        let done = self
            .out
            .write_all(text.as_bytes())
            .and_then(|()| self.out.flush());
        self.closed = done.is_err();
    }

    pub(super) fn get(&self) -> &W {
        &self.out
    }
}
