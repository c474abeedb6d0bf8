//! The last line of a command's output while it runs, for who looks on.

/// Longest part of a line that is kept.
const MAX_BYTES: usize = 1024;

/// Keeps the newest line that is not blank, whole or not.
#[derive(Debug, Default)]
pub(super) struct LastLine {
    whole: Vec<u8>,
    begun: Vec<u8>,
    changed: bool,
}

impl LastLine {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.changed |= !bytes.is_empty();
        for part in bytes.split_inclusive(|byte| is_end(*byte)) {
            let (text, ends) = match part.split_last() {
                Some((last, text)) if is_end(*last) => (text, true),
                _ => (part, false),
            };
            let room = MAX_BYTES.saturating_sub(self.begun.len());
            self.begun.extend(text.iter().take(room));
            if ends {
                if !self.begun.trim_ascii().is_empty() {
                    std::mem::swap(&mut self.whole, &mut self.begun);
                }
                self.begun.clear();
            }
        }
    }

    /// Returns the line if there was output since this was last called; without colours.
    pub(super) fn take_changed(&mut self) -> Option<String> {
        if !std::mem::take(&mut self.changed) {
            return None;
        }
        let newest = if self.begun.trim_ascii().is_empty() {
            &self.whole
        } else {
            &self.begun
        };
        let text = String::from_utf8_lossy(newest);
        let text = ralph_core::verify::strip_terminal(&text).trim().to_owned();
        (!text.is_empty()).then_some(text)
    }
}

/// Progress bars go back to the beginning of their line.
fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_line_that_is_not_blank_is_told_once() {
        let mut last = LastLine::default();
        assert_eq!(last.take_changed(), None);
        last.push(b"one\ntwo\n\n");
        assert_eq!(last.take_changed().as_deref(), Some("two"));
        assert_eq!(last.take_changed(), None);
        last.push(b"\x1b[32mthr");
        last.push(b"ee\x1b[0m");
        assert_eq!(last.take_changed().as_deref(), Some("three"));
        last.push(b"\r 10%\r 20%\r");
        assert_eq!(last.take_changed().as_deref(), Some("20%"));
        last.push(&[b'x'; 5000]);
        assert_eq!(last.take_changed().map(|line| line.len()), Some(1024));
    }
}
