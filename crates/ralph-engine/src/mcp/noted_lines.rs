//! The input of a client, in which each line that is too long is followed by a notification that says so: the library
//! reads over such a line in silence.
//!
//! Passes everything else on as it is, and holds back no more than it has just read.

use std::{
    collections::VecDeque,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, ReadBuf};

/// The notification that follows a line that is too long. One that a client sends itself gets the same answer.
pub(super) const TOO_LONG: &str = "notifications/ralph/line_too_long";

const CHUNK: usize = 8 * 1024;

pub(super) struct NotedLines<R> {
    inner: R,
    most: usize,
    /// The bytes of the line that has begun.
    line: usize,
    read: VecDeque<u8>,
}

impl<R> NotedLines<R> {
    /// `most` is the length of the longest line, with its end.
    pub(super) fn new(inner: R, most: usize) -> Self {
        let read = VecDeque::new();
        let line = 0;
        Self {
            inner,
            most,
            line,
            read,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.read.extend(part);
            self.line += part.len();
            if part.ends_with(b"\n") {
                if self.line > self.most {
                    let note = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{TOO_LONG}\"}}\n");
                    self.read.extend(note.as_bytes());
                }
                self.line = 0;
            }
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for NotedLines<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.read.is_empty() {
            let mut chunk = [0; CHUNK];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
            this.take(chunk.filled());
        }
        let (front, _) = this.read.as_slices();
        let count = front.len().min(buf.remaining());
        buf.put_slice(&front[..count]);
        this.read.drain(..count);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_note_follows_each_line_that_is_too_long_and_nothing_else() {
        let note = format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{TOO_LONG}\"}}\n");
        let long = "x".repeat(3 * CHUNK);
        let table = [
            ("", String::new()),
            ("123456789\n\nab", "123456789\n\nab".to_owned()),
            ("1234567890\nab\n", format!("1234567890\n{note}ab\n")),
            // The last one has no end yet.
            (
                &format!("{long}\nab\n{long}\n{long}"),
                format!("{long}\n{note}ab\n{long}\n{note}{long}"),
            ),
        ];
        for (input, expected) in table {
            let mut lines = NotedLines::new(input.as_bytes(), 10);
            let mut out = String::new();
            lines.read_to_string(&mut out).await.unwrap();
            assert_eq!(out, expected);
        }
    }
}
