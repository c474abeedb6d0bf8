//! Hides secrets in bytes that come in pieces: a value that is cut by the end of a piece is hidden all the same.
//!
//! Holds the last line until it ends, and no more than a cap. A secret has its end on its line, but for keys,
//! which are hidden to their last line.

use super::{Redaction, hide::REDACTED};

/// The most that is held of a line that does not end.
const MOST_HELD: usize = 64 * 1024;
/// The part of it that stays, so that a secret at its end is not cut.
const LEFT: usize = 8 * 1024;
/// The most lines of a key that has no end.
const MOST_KEY_LINES: usize = 400;

const KEY_BEGIN: &[u8] = b"-----BEGIN ";
const KEY_END: &[u8] = b"-----END ";

/// Takes bytes, and gives them back without secrets.
#[derive(Debug)]
pub struct RedactedStream {
    redaction: Redaction,
    held: Vec<u8>,
    key: KeyRest,
}

/// The part of a key that comes in later pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyRest {
    None,
    /// Its first line was given, nothing is hidden yet.
    Whole,
    /// Its beginning is hidden; so many lines may follow.
    Lines(usize),
}

impl RedactedStream {
    pub fn new(redaction: Redaction) -> Self {
        Self {
            redaction,
            held: Vec::new(),
            key: KeyRest::None,
        }
    }

    /// Takes a piece, and adds what of all is safe to `out`.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        let ends = |byte: &u8| *byte == b'\n' || *byte == b'\r';
        match bytes.iter().rposition(ends) {
            Some(end) => {
                self.held.extend_from_slice(&bytes[..=end]);
                self.give(self.held.len(), out);
                self.held.extend_from_slice(&bytes[end + 1..]);
            }
            None => self.held.extend_from_slice(bytes),
        }
        while self.held.len() > MOST_HELD {
            self.give(MOST_HELD - LEFT, out);
        }
    }

    /// Adds what is left.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.give(self.held.len(), out);
    }

    /// Gives what is held up to a place, or up to the end of a secret that lies across it.
    fn give(&mut self, end: usize, out: &mut Vec<u8>) {
        let found = self.redaction.find(&self.held);
        let across = found.iter().find(|finding| finding.at.contains(&end));
        let end = across.map_or(end, |finding| finding.at.end);
        let given: Vec<u8> = self.held.drain(..end).collect();
        let mut at = self.rest_of_key(&given, out);
        for finding in found.iter().filter(|finding| finding.at.end <= end) {
            if finding.at.start >= at {
                out.extend_from_slice(&given[at..finding.at.start]);
                out.extend_from_slice(REDACTED.as_bytes());
            }
            at = at.max(finding.at.end);
            let value = &given[finding.at.clone()];
            let is_key = value.starts_with(KEY_BEGIN);
            if is_key && !holds(value, KEY_END) && given[at..].trim_ascii().is_empty() {
                self.key = KeyRest::Lines(MOST_KEY_LINES);
                out.push(b'\n');
                at = given.len();
            }
        }
        out.extend_from_slice(&given[at..]);
        if ends_with_key_line(&given[at..]) {
            self.key = KeyRest::Whole;
        }
    }

    /// Hides the rest of a key that was begun in an earlier piece, and returns where it ends.
    fn rest_of_key(&mut self, given: &[u8], out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        for line in given.split_inclusive(|byte| *byte == b'\n' || *byte == b'\r') {
            let left = match self.key {
                KeyRest::None => break,
                KeyRest::Whole => MOST_KEY_LINES,
                KeyRest::Lines(left) => left,
            };
            let text = line.trim_ascii();
            let is_end = holds(text, KEY_END);
            let is_body = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
            let is_header = text.starts_with(b"Proc-Type:") || text.starts_with(b"DEK-Info:");
            if left == 0 || !(is_end || is_header || text.iter().all(is_body)) {
                self.key = KeyRest::None;
                break;
            }
            if self.key == KeyRest::Whole {
                out.extend_from_slice(REDACTED.as_bytes());
                out.push(b'\n');
            }
            self.key = if is_end {
                KeyRest::None
            } else {
                KeyRest::Lines(left - 1)
            };
            at += line.len();
        }
        at
    }
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    memchr::memmem::find(text, part).is_some()
}

/// Tells whether a text ends with the line that a key begins with.
fn ends_with_key_line(text: &[u8]) -> bool {
    let text = text.trim_ascii_end();
    let last = memchr::memrchr(b'\n', text).map_or(text, |at| &text[at + 1..]);
    last.ends_with(b"-----") && holds(last, KEY_BEGIN) && holds(last, b"PRIVATE KEY")
}
