//! The end of a stream, for prompts and reports. Never holds more than its cap.

use std::collections::VecDeque;

/// Keeps the end of what is pushed.
#[derive(Debug, Clone)]
pub struct Tail {
    bytes: VecDeque<u8>,
    max_bytes: usize,
    dropped: u64,
}

impl Tail {
    pub fn new(max_bytes: usize) -> Self {
        Self {
            bytes: VecDeque::new(),
            max_bytes,
            dropped: 0,
        }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let keep = &bytes[bytes.len().saturating_sub(self.max_bytes)..];
        let over = (self.bytes.len() + keep.len()).saturating_sub(self.max_bytes);
        self.bytes.drain(..over);
        self.bytes.extend(keep);
        self.dropped += (over + bytes.len() - keep.len()) as u64;
    }

    /// Returns how many bytes have fallen out.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// All that is held, lossy where it is not UTF-8.
    pub fn text(&self) -> String {
        let (front, back) = self.bytes.as_slices();
        String::from_utf8_lossy(&[front, back].concat()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_last_bytes_only() {
        let mut tail = Tail::new(8);
        tail.push(b"one\n");
        tail.push(b"two\n");
        tail.push(b"three\n");
        assert_eq!(tail.text(), "o\nthree\n");
        assert_eq!(tail.dropped(), 6);
        tail.push(&[b'x'; 1000]);
        assert_eq!(tail.text(), "xxxxxxxx");
        assert_eq!(tail.dropped(), 1006);
    }

    #[test]
    fn shows_bad_utf8_as_replacement_characters() {
        let mut tail = Tail::new(100);
        tail.push(b"a\xffb");
        assert_eq!(tail.text(), "a\u{fffd}b");
    }
}
