//! Reads a stream line by line with bounded memory, whatever comes: endless lines, NUL, bad UTF-8.
//!
//! Does not decode. A line is bytes, without its newline.

use std::io;
use std::ops::Range;

use tokio::io::{AsyncRead, AsyncReadExt};

/// What one read asks for.
const CHUNK: usize = 256 * 1024;

/// One line of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputLine<'a> {
    pub bytes: &'a [u8],
    /// The number of bytes of the line's end were thrown away because it passed the cap.
    pub dropped: u64,
    pub ending: LineEnding,
}

/// What ended a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineEnding {
    Newline,
    /// The stream stopped in the middle of a line.
    EndOfStream,
}

/// Splits a stream into lines, each kept up to a cap.
#[derive(Debug)]
pub struct LineReader<R> {
    inner: R,
    cap: usize,
    buffer: Vec<u8>,
    /// Where the current line begins.
    start: usize,
    /// Up to where the current line was searched for its newline.
    searched: usize,
    /// Bytes of the current line that were read and thrown away.
    dropped: u64,
    at_end: bool,
}

struct LineBounds {
    line: Range<usize>,
    dropped: u64,
    ending: LineEnding,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    /// The cap of a line where none is given.
    pub const DEFAULT_CAP: usize = 16 * 1024 * 1024;

    pub fn new(inner: R) -> Self {
        Self::with_cap(inner, Self::DEFAULT_CAP)
    }

    pub fn with_cap(inner: R, cap: usize) -> Self {
        Self {
            inner,
            cap,
            buffer: Vec::with_capacity(CHUNK),
            start: 0,
            searched: 0,
            dropped: 0,
            at_end: false,
        }
    }

    /// The next line, or `None` at the end. Safe to drop and call again: nothing read is lost.
    pub async fn next_line(&mut self) -> io::Result<Option<OutputLine<'_>>> {
        let found = loop {
            if let Some(found) = self.find() {
                break found;
            }
            if self.at_end {
                return Ok(None);
            }
            self.make_room();
            if self.inner.read_buf(&mut self.buffer).await? == 0 {
                self.at_end = true;
            }
        };
        Ok(Some(OutputLine {
            bytes: &self.buffer[found.line],
            dropped: found.dropped,
            ending: found.ending,
        }))
    }

    /// All whole lines that are there, with their newlines, or `None` at the end. What one line would
    /// get from [`Self::next_line`] (the cut stream's end, a line over the cap) comes alone.
    ///
    /// One wake-up for many lines: a flood costs little more than its bytes.
    pub async fn next_batch(&mut self) -> io::Result<Option<&[u8]>> {
        let found = loop {
            if self.dropped == 0
                && let Some(at) = memchr::memrchr(b'\n', &self.buffer[self.searched..])
            {
                let end = self.searched + at + 1;
                let batch = self.start..end;
                (self.start, self.searched) = (end, end);
                break batch;
            }
            if let Some(found) = self.find() {
                break found.line;
            }
            if self.at_end {
                return Ok(None);
            }
            self.make_room();
            if self.inner.read_buf(&mut self.buffer).await? == 0 {
                self.at_end = true;
            }
        };
        Ok(Some(&self.buffer[found]))
    }

    fn find(&mut self) -> Option<LineBounds> {
        let newline = memchr::memchr(b'\n', &self.buffer[self.searched..]);
        let (end, next, ending) = match newline {
            Some(at) => {
                let end = self.searched + at;
                (end, end + 1, LineEnding::Newline)
            }
            None => {
                self.searched = self.buffer.len();
                let begun = self.searched > self.start || self.dropped > 0;
                if !(self.at_end && begun) {
                    return None;
                }
                (self.searched, self.searched, LineEnding::EndOfStream)
            }
        };
        let kept = end.min(self.start + self.cap);
        let found = LineBounds {
            line: self.start..kept,
            dropped: self.dropped + (end - kept) as u64,
            ending,
        };
        self.start = next;
        self.searched = next;
        self.dropped = 0;
        Some(found)
    }

    /// Throws away what is read or over the cap, and makes sure that a chunk fits.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start.., 0);
            self.buffer.truncate(self.buffer.len() - self.start);
            self.start = 0;
        }
        let over = self.buffer.len().saturating_sub(self.cap);
        self.buffer.truncate(self.cap);
        self.dropped += over as u64;
        self.searched = self.buffer.len();
        if self.buffer.len() < CHUNK && self.buffer.capacity() > 4 * CHUNK {
            // A huge line has passed; do not keep its room.
            self.buffer.shrink_to(CHUNK);
        }
        let spare = self.buffer.capacity() - self.buffer.len();
        if spare < CHUNK / 2 {
            self.buffer.reserve_exact(CHUNK);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn all(input: &[u8], cap: usize) -> Vec<(Vec<u8>, u64, LineEnding)> {
        let mut reader = LineReader::with_cap(input, cap);
        let mut lines = Vec::new();
        while let Some(line) = reader.next_line().await.unwrap() {
            lines.push((line.bytes.to_vec(), line.dropped, line.ending));
        }
        lines
    }

    #[tokio::test]
    async fn splits_at_newlines_and_keeps_empty_lines_nul_and_bad_utf8() {
        assert_eq!(
            all(b"a\n\nb\0c\xff\n", 100).await,
            [
                (b"a".to_vec(), 0, LineEnding::Newline),
                (b"".to_vec(), 0, LineEnding::Newline),
                (b"b\0c\xff".to_vec(), 0, LineEnding::Newline),
            ]
        );
    }

    #[tokio::test]
    async fn says_that_the_stream_was_cut_in_a_line() {
        assert_eq!(
            all(b"a\n{\"type\":", 100).await,
            [
                (b"a".to_vec(), 0, LineEnding::Newline),
                (b"{\"type\":".to_vec(), 0, LineEnding::EndOfStream),
            ]
        );
    }

    #[tokio::test]
    async fn a_batch_has_all_whole_lines_and_the_rest_comes_alone() {
        let mut reader = LineReader::with_cap(&b"a\n\nbc\nrest"[..], 100);
        let mut batches = Vec::new();
        while let Some(batch) = reader.next_batch().await.unwrap() {
            batches.push(batch.to_vec());
        }
        assert_eq!(batches, [b"a\n\nbc\n".to_vec(), b"rest".to_vec()]);
    }

    #[tokio::test]
    async fn a_batch_of_a_line_over_the_cap_is_what_was_kept_of_it() {
        let long = [vec![b'x'; 3 * CHUNK], b"\nnext\n".to_vec()].concat();
        let mut reader = LineReader::with_cap(&long[..], 10);
        let mut lines: Vec<Vec<u8>> = Vec::new();
        while let Some(batch) = reader.next_batch().await.unwrap() {
            lines.extend(
                batch
                    .split(|b| *b == b'\n')
                    .filter(|l| !l.is_empty())
                    .map(<[u8]>::to_vec),
            );
        }
        assert_eq!(lines, [b"xxxxxxxxxx".to_vec(), b"next".to_vec()]);
    }

    #[tokio::test]
    async fn an_empty_stream_has_no_line() {
        assert_eq!(all(b"", 100).await, []);
    }

    #[tokio::test]
    async fn cuts_a_line_at_the_cap_and_goes_on_with_the_next() {
        assert_eq!(
            all(b"abcdef\ngh\nijklm", 4).await,
            [
                (b"abcd".to_vec(), 2, LineEnding::Newline),
                (b"gh".to_vec(), 0, LineEnding::Newline),
                (b"ijkl".to_vec(), 1, LineEnding::EndOfStream),
            ]
        );
    }

    #[tokio::test]
    async fn a_line_of_many_chunks_keeps_its_head_and_counts_the_rest() {
        let mut input = vec![b'x'; 3_000_000];
        input.extend_from_slice(b"\nnext\n");
        let lines = all(&input, 1_000_000).await;
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].0, vec![b'x'; 1_000_000]);
        assert_eq!(lines[0].1, 2_000_000);
        assert_eq!(lines[1], (b"next".to_vec(), 0, LineEnding::Newline));
    }

    #[tokio::test]
    async fn a_long_line_leaves_no_large_buffer_behind() {
        let mut input = vec![b'x'; 20_000_000];
        input.push(b'\n');
        input.extend_from_slice(&b"short\n".repeat(200_000));
        let mut reader = LineReader::new(&input[..]);
        let mut count = 0;
        while reader.next_line().await.unwrap().is_some() {
            count += 1;
        }
        assert_eq!(count, 200_001);
        assert!(
            reader.buffer.capacity() <= 4 * CHUNK,
            "{}",
            reader.buffer.capacity()
        );
    }
}
