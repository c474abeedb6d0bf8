//! A log file that keeps the head and the tail of what is written and drops the middle.
//!
//! The head is in the file at once; the tail is held in memory and written by [`CappedLog::finish`]
//! or on drop. After a kill of ralph the file has the head alone. Nothing is fsynced: a log can be
//! lost with the machine.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// How much of a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCaps {
    /// Bytes of the whole file, without the line that tells of the gap.
    pub total: u64,
    /// Bytes of it that are kept for the end.
    pub tail: usize,
}

impl Default for LogCaps {
    fn default() -> Self {
        Self {
            total: 50 * 1024 * 1024,
            tail: 4 * 1024 * 1024,
        }
    }
}

/// A log with a cap on its size.
#[derive(Debug)]
pub struct CappedLog {
    file: File,
    head_left: u64,
    /// A ring once it has reached its cap; `next` is then its oldest byte.
    tail: Vec<u8>,
    next: usize,
    tail_cap: usize,
    dropped: u64,
    failed: Option<io::Error>,
    finished: bool,
}

impl CappedLog {
    /// Creates the file, and empties one that is there.
    pub fn create(path: &Path, caps: LogCaps) -> io::Result<Self> {
        Ok(Self::new(File::create(path)?, caps))
    }

    pub fn new(file: File, caps: LogCaps) -> Self {
        Self {
            file,
            head_left: caps.total.saturating_sub(caps.tail as u64),
            tail: Vec::new(),
            next: 0,
            tail_cap: caps.tail,
            dropped: 0,
            failed: None,
            finished: false,
        }
    }

    /// Writes without failing: a full disk must not change what a program is found to have done.
    /// [`Self::finish`] returns the first error.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.write_all(bytes).err();
        }
    }

    /// Writes the tail, and before it how much is missing.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.write_tail(),
        }
    }

    fn write_tail(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        if self.dropped > 0 {
            writeln!(self.file, "\n[… {} bytes dropped …]", self.dropped)?;
        }
        let (newer, older) = self.tail.split_at(self.next);
        self.file.write_all(older)?;
        self.file.write_all(newer)
    }

    fn keep_in_tail(&mut self, bytes: &[u8]) {
        let keep = &bytes[bytes.len().saturating_sub(self.tail_cap)..];
        self.dropped += (bytes.len() - keep.len()) as u64;
        let grown = keep.len().min(self.tail_cap - self.tail.len());
        let (first, rest) = keep.split_at(grown);
        self.tail.extend_from_slice(first);
        self.dropped += rest.len() as u64;
        let mut rest = rest;
        while !rest.is_empty() {
            let room = (self.tail.len() - self.next).min(rest.len());
            let (now, later) = rest.split_at(room);
            self.tail[self.next..self.next + room].copy_from_slice(now);
            self.next = (self.next + room) % self.tail.len();
            rest = later;
        }
    }
}

impl Write for CappedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let head = usize::try_from(self.head_left)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let (head, rest) = bytes.split_at(head);
        self.file.write_all(head)?;
        self.head_left -= head.len() as u64;
        self.keep_in_tail(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for CappedLog {
    fn drop(&mut self) {
        // Best effort: a log must not bring down what it tells of.
        let _ = self.write_tail();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log_of(writes: &[&[u8]], total: u64, tail: usize) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = CappedLog::create(&path, LogCaps { total, tail }).unwrap();
        for bytes in writes {
            log.write_all(bytes).unwrap();
        }
        log.finish().unwrap();
        std::fs::read_to_string(&path).unwrap()
    }

    #[test]
    fn keeps_all_of_what_fits() {
        assert_eq!(log_of(&[b"abc", b"def"], 10, 4), "abcdef");
        assert_eq!(log_of(&[b"abcdefghij"], 10, 4), "abcdefghij");
    }

    #[test]
    fn drops_the_middle_and_says_how_much() {
        assert_eq!(
            log_of(&[b"abcdefgh", b"ij", b"klmno"], 10, 4),
            "abcdef\n[… 5 bytes dropped …]\nlmno"
        );
    }

    #[test]
    fn one_write_far_over_the_cap_keeps_head_and_tail() {
        let mut big = vec![b'x'; 1_000_000];
        big.extend_from_slice(b"end");
        assert_eq!(
            log_of(&[b"start:", &big, b"!"], 10, 4),
            "start:\n[… 1000000 bytes dropped …]\nend!"
        );
    }

    #[test]
    fn a_tail_written_byte_by_byte_is_in_order() {
        let bytes: Vec<[u8; 1]> = (b'a'..=b'z').map(|b| [b]).collect();
        let writes: Vec<&[u8]> = bytes.iter().map(<[u8; 1]>::as_slice).collect();
        assert_eq!(log_of(&writes, 8, 5), "abc\n[… 18 bytes dropped …]\nvwxyz");
    }

    #[test]
    fn an_error_while_pushing_is_told_at_the_end() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut log = CappedLog::new(full, LogCaps::default());
        log.push(b"one");
        log.push(b"two");
        assert_eq!(log.finish().unwrap_err().kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_dropped_log_still_gets_its_tail() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        let mut log = CappedLog::create(&path, LogCaps { total: 4, tail: 4 }).unwrap();
        log.write_all(b"abc").unwrap();
        drop(log);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "abc");
    }
}
