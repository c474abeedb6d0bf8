//! Bytes that are typed at the terminal, without a thread that waits for them: one that is no longer wanted
//! would take what is typed for another program.

use std::{io, os::fd::OwnedFd};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    stdio::stdin,
};
use tokio::io::{Interest, unix::AsyncFd};

use crate::view::key_mode::{is_gone, is_in_foreground};

pub(super) struct TerminalInput {
    stdin: AsyncFd<OwnedFd>,
}

impl TerminalInput {
    pub(super) fn open() -> io::Result<Self> {
        let own = rustix::io::dup(stdin())?;
        #[expect(
            deprecated,
            reason = "its successor is unsafe for types that could close the descriptor; this one owns it"
        )]
        let stdin = AsyncFd::with_interest(own, Interest::READABLE)?;
        Ok(Self { stdin })
    }

    /// Returns what is typed next; `None` if the terminal is closed. What is typed while another program has the
    /// terminal is that program's.
    pub(super) async fn read(&self) -> Option<Vec<u8>> {
        loop {
            let mut ready = self.stdin.readable().await.ok()?;
            // A terminal that is gone stays readable for ever.
            if is_gone() {
                return None;
            }
            if !is_in_foreground() || !has_input() {
                ready.clear_ready();
                continue;
            }
            let mut bytes = vec![0; 4096];
            match rustix::io::read(stdin(), &mut bytes) {
                Ok(0) => return None,
                Ok(count) => {
                    bytes.truncate(count);
                    return Some(bytes);
                }
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Returns true if a read would not wait.
fn has_input() -> bool {
    let stdin = stdin();
    let mut looked_at = [PollFd::new(&stdin, PollFlags::IN)];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    poll(&mut looked_at, Some(&at_once)).is_ok_and(|ready| ready > 0)
}

/// A key, as far as ralph knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Enter,
    Backspace,
    Escape,
    /// Ctrl-U: all that was typed goes.
    ClearLine,
}

/// Makes keys of bytes; a character may come in parts.
#[derive(Debug, Default)]
pub(super) struct KeyDecoder {
    left: Vec<u8>,
}

impl KeyDecoder {
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.left.extend_from_slice(bytes);
        let whole = std::mem::take(&mut self.left);
        let text = match std::str::from_utf8(&whole) {
            Ok(text) => text.to_owned(),
            Err(error) if error.error_len().is_none() => {
                let (text, rest) = whole.split_at(error.valid_up_to());
                self.left = rest.to_vec();
                String::from_utf8_lossy(text).into_owned()
            }
            Err(_) => String::from_utf8_lossy(&whole).into_owned(),
        };
        let mut keys = Vec::new();
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            keys.extend(match c {
                '\r' | '\n' => Some(Key::Enter),
                '\x08' | '\x7f' => Some(Key::Backspace),
                '\x15' => Some(Key::ClearLine),
                // Arrows and the like come as a sequence, which means nothing here.
                '\x1b' if matches!(chars.peek(), Some('[' | 'O')) => {
                    chars.next();
                    while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
                    None
                }
                '\x1b' | '\x04' => Some(Key::Escape),
                '\t' => Some(Key::Char(' ')),
                c if c.is_control() => None,
                c => Some(Key::Char(c)),
            });
        }
        keys
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_keys_and_arrows_mean_nothing() {
        let table: [(&[u8], &[Key]); 6] = [
            (b"p", &[Key::Char('p')]),
            (b"hi\r", &[Key::Char('h'), Key::Char('i'), Key::Enter]),
            (b"\x7f\x15", &[Key::Backspace, Key::ClearLine]),
            (b"\x1b", &[Key::Escape]),
            (b"\x1b[A\x1b[1;5Cx\x1bOP", &[Key::Char('x')]),
            ("é".as_bytes(), &[Key::Char('é')]),
        ];
        for (bytes, keys) in table {
            assert_eq!(KeyDecoder::default().decode(bytes), keys, "{bytes:?}");
        }
    }

    #[test]
    fn a_character_that_comes_in_parts_is_one_key() {
        let mut decoder = KeyDecoder::default();
        let (first, rest) = "é".as_bytes().split_at(1);
        assert_eq!(decoder.decode(first), []);
        assert_eq!(decoder.decode(rest), [Key::Char('é')]);
    }
}
