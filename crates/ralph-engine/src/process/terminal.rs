//! ralph's terminal while a program has it: remembered as it was, and put back whatever happens.
//!
//! A program with a screen of its own changes the terminal's modes, and one that is killed leaves
//! them so. Dropping a [`Terminal`] takes the foreground back, restores the modes and undoes what
//! programs switch on by writing. Writes nothing else: this is no place to print.

use std::cell::Cell;
use std::os::fd::BorrowedFd;

use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::process::{Pid, Signal};
use rustix::stdio;
use rustix::termios::{self, Action, OptionalActions, QueueSelector, Termios};

use super::sys::TtouIgnored;

/// Undoes the modes that programs switch on by writing to a terminal. What is off already, or
/// unknown to a terminal, is passed over by it.
const RESET: &str = concat!(
    // An update of the screen that was announced and never finished.
    "\x1b[?2026l",
    // The other screen is left. 1047 leaves the cursor alone; 1049 also goes to where the cursor was
    // saved, perhaps by another program long ago, so it is saved right before. Some terminals know
    // only 1049.
    "\x1b[?1047l\x1b[?1049h\x1b[?1049l",
    // Some of the following move the cursor.
    "\x1b7",
    // Scrolling of the whole screen, wrapping, plain characters, the usual keys.
    "\x1b[r\x1b[?7h\x1b(B\x0f\x1b[?1l\x1b>",
    // Keys told by the protocol of kitty, and by xterm's.
    "\x1b[=0u\x1b[<99u\x1b[>4m",
    // Mouse, focus, colour scheme and pasting are not told.
    "\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2031l\x1b[?2004l",
    "\x1b8",
    // No colours, the cursor visible, and a line of its own for what is written next.
    "\x1b[0m\x1b[?25h\r\n\x1b[J",
);

/// The terminal as it was when it was held. See the module's head for what dropping it does.
#[derive(Debug)]
pub struct Terminal {
    modes: Termios,
    /// Of the three standard streams. Programs make them non-blocking, for all who have them open.
    flags: [Option<OFlags>; 3],
    group: Pid,
    usage: Cell<TerminalUse>,
    /// Held to the very end.
    _ttou: TtouIgnored,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TerminalUse {
    /// No program ran, so nothing was written that would have to be undone.
    Untouched,
    Used,
}

/// There is no terminal that could be handed over.
#[derive(Debug, thiserror::Error)]
pub enum TerminalError {
    #[error("{stream} is not a terminal")]
    NotATerminal { stream: &'static str },
    #[error("the terminal belongs to another session: {source}")]
    Foreign { source: std::io::Error },
    #[error("ralph runs in the background of its terminal")]
    Background,
}

impl Terminal {
    /// Remembers the terminal. From here on ralph can write to it from the background.
    pub fn hold() -> Result<Self, TerminalError> {
        let [stdin, stdout, _] = streams();
        let not_a_terminal = |stream| TerminalError::NotATerminal { stream };
        let modes = termios::tcgetattr(stdin).map_err(|_| not_a_terminal("the standard input"))?;
        if !termios::isatty(stdout) {
            return Err(not_a_terminal("the standard output"));
        }
        let foreground = termios::tcgetpgrp(stdin).map_err(|errno| TerminalError::Foreign {
            source: errno.into(),
        })?;
        let group = rustix::process::getpgrp();
        if foreground != group {
            return Err(TerminalError::Background);
        }
        Ok(Self {
            modes,
            flags: streams().map(|stream| rustix::fs::fcntl_getfl(stream).ok()),
            group,
            usage: Cell::new(TerminalUse::Untouched),
            _ttou: TtouIgnored::now(),
        })
    }

    /// Notes that a program has it now.
    pub(super) fn mark_used(&self) {
        self.usage.set(TerminalUse::Used);
    }

    /// Lets the user have the terminal while the program that had it is stopped: ralph stops too, and
    /// when the shell continues it, so does the program. Where no shell would ever continue ralph, as
    /// the kernel knows, the program goes on at once.
    pub fn suspend(&self) {
        let [stdin, ..] = streams();
        let Ok(program) = termios::tcgetpgrp(stdin) else {
            return;
        };
        self.take_back();
        let _ = rustix::process::kill_current_process_group(Signal::TSTP);
        if termios::tcgetpgrp(stdin) != Ok(self.group) {
            // Continued in the background, where there is nothing to do for it.
            let _ = rustix::process::kill_current_process_group(Signal::TTIN);
        }
        let _ = termios::tcsetpgrp(stdin, program);
        let _ = rustix::process::kill_process_group(program, Signal::CONT);
    }

    /// Nothing here can fail in a way that could be helped: a terminal that is gone needs no care.
    fn take_back(&self) {
        let [stdin, stdout, _] = streams();
        let _ = termios::tcsetpgrp(stdin, self.group);
        for (stream, flags) in streams().into_iter().zip(self.flags) {
            let _ = flags.map(|flags| rustix::fs::fcntl_setfl(stream, flags));
        }
        // Output that was paused by Ctrl-S would make the next step wait for ever.
        let _ = termios::tcflow(stdout, Action::OOn);
        if self.usage.get() == TerminalUse::Used {
            write_all(stdout, RESET.as_bytes());
        }
        // Answers of the terminal to the program's questions are not for the shell to read.
        let _ = termios::tcflush(stdin, QueueSelector::IFlush);
        let _ = termios::tcsetattr(stdin, OptionalActions::Now, &self.modes);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.take_back();
    }
}

fn streams() -> [BorrowedFd<'static>; 3] {
    [stdio::stdin(), stdio::stdout(), stdio::stderr()]
}

fn write_all(to: BorrowedFd<'_>, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        match rustix::io::write(to, bytes) {
            Ok(written) => bytes = bytes.get(written..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(_) => return,
        }
    }
}
