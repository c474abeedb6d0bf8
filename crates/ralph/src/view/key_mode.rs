//! The terminal in the mode in which keys are read one by one, without being shown.
//!
//! The modes that were there before are kept for the whole process, so that every way to end can put them
//! back: a value that is dropped, and an exit that drops nothing.

use std::{
    io,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rustix::{
    process::getpgrp,
    stdio::stdin,
    termios::{self, LocalModes, OptionalActions, SpecialCodeIndex, Termios},
};

/// The modes as they were.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

fn before() -> MutexGuard<'static, Option<Termios>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keys are read one by one as long as it lives.
pub(crate) struct KeyMode(());

impl KeyMode {
    pub(crate) fn enter() -> io::Result<Self> {
        let modes = termios::tcgetattr(stdin())?;
        let mut keys = modes.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        keys.special_codes[SpecialCodeIndex::VMIN] = 1;
        keys.special_codes[SpecialCodeIndex::VTIME] = 0;
        *before() = Some(modes);
        termios::tcsetattr(stdin(), OptionalActions::Now, &keys)?;
        Ok(Self(()))
    }
}

impl Drop for KeyMode {
    fn drop(&mut self) {
        restore();
    }
}

/// Puts the modes back, if they were changed. A terminal that another program has now is left to it, and one
/// that is gone needs no care.
pub(crate) fn restore() {
    if let Some(modes) = before().take()
        && is_in_foreground()
    {
        let _ = termios::tcsetattr(stdin(), OptionalActions::Now, &modes);
    }
}

/// Returns true if this process has the terminal. One that reads or changes it without having it is stopped.
pub(crate) fn is_in_foreground() -> bool {
    termios::tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
}

/// Returns true if there is no terminal any more: its window was closed, or the connection to it is lost.
pub(crate) fn is_gone() -> bool {
    termios::tcgetpgrp(stdin()).is_err()
}
