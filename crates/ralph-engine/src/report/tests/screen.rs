//! A terminal that does the little that ralph asks of one, and fails on anything else.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
};

use ralph_core::sanitize::columns;

use super::super::Screen;

#[derive(Clone)]
pub(super) struct FakeTerminal(Arc<Mutex<Inner>>);

struct Inner {
    width: usize,
    /// Rows as they can be seen; the last one is where the cursor is.
    rows: Vec<String>,
    /// The number of writes.
    writes: usize,
    wraps: bool,
    /// The cursor went back to the first column.
    at_start: bool,
}

impl FakeTerminal {
    pub(super) fn new(width: usize) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            width,
            rows: vec![String::new()],
            writes: 0,
            wraps: true,
            at_start: false,
        })))
    }

    pub(super) fn resize(&self, width: usize) {
        self.0.lock().unwrap().width = width;
    }

    /// The row that the cursor is in.
    pub(super) fn bottom(&self) -> String {
        self.0.lock().unwrap().rows.last().unwrap().clone()
    }

    /// The rows above it.
    pub(super) fn above(&self) -> String {
        let inner = self.0.lock().unwrap();
        inner.rows[..inner.rows.len() - 1].join("\n")
    }

    pub(super) fn writes(&self) -> usize {
        self.0.lock().unwrap().writes
    }
}

impl Inner {
    fn put(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            let row = self.rows.last().unwrap();
            match c {
                '\n' => self.rows.push(String::new()),
                '\x1b' => self.obey(&mut chars),
                // Only ever used to take lines away.
                '\r' => self.at_start = true,
                c => {
                    assert!(!c.is_control(), "{c:?} reached the terminal");
                    assert!(!self.at_start, "a line is written over");
                    if columns(row) + columns(c.encode_utf8(&mut [0; 4])) > self.width {
                        assert!(self.wraps, "the status line does not fit");
                        self.rows.push(String::new());
                    }
                    self.rows.last_mut().unwrap().push(c);
                }
            }
        }
    }

    fn obey(&mut self, chars: &mut impl Iterator<Item = char>) {
        assert_eq!(chars.next(), Some('['));
        let mut code = String::new();
        for c in chars {
            code.push(c);
            if c.is_ascii_alphabetic() {
                break;
            }
        }
        match code.as_str() {
            "?7l" => self.wraps = false,
            "?7h" => self.wraps = true,
            "2K" | "J" => {
                assert!(self.at_start, "{code} in the middle of a line");
                self.rows.last_mut().unwrap().clear();
                self.at_start = false;
            }
            up if up.ends_with('A') => {
                let up: usize = up.trim_end_matches('A').parse().unwrap();
                assert!(self.at_start && up < self.rows.len(), "{code}");
                // Everything below is cleared right after.
                self.rows.truncate(self.rows.len() - up);
            }
            colour if colour.ends_with('m') => {}
            other => panic!("the code {other:?} reached the terminal"),
        }
    }
}

impl Write for FakeTerminal {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut inner = self.0.lock().unwrap();
        inner.writes += 1;
        inner.put(std::str::from_utf8(bytes).unwrap());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Screen for FakeTerminal {
    fn columns(&self) -> usize {
        self.0.lock().unwrap().width
    }
}
