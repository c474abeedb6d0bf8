//! Wakes a running loop when its queue has a command: by a poke, and a look now and then.
//!
//! A poke carries nothing: the journal does. One that is lost costs a moment, never a command. Commands that
//! are typed where the loop runs wait here until the loop has written them into the journal.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ralph_core::{command::Command, secret::Redaction};
use tokio::sync::Notify;

/// A poke can be lost: a process that is about to take the lock is not poked.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Inbox {
    poke: Arc<Notify>,
    typed: Arc<Mutex<Vec<Command>>>,
    redaction: Redaction,
}

impl Inbox {
    /// Takes secrets out of what is typed.
    pub fn hiding(redaction: Redaction) -> Self {
        Self {
            redaction,
            ..Self::default()
        }
    }

    /// Called when another process pokes.
    pub fn poke(&self) {
        self.poke.notify_one();
    }

    /// Takes a command of the person at the terminal.
    pub fn add(&self, command: Command) {
        let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        typed.push(self.redaction.hide_in(command));
        drop(typed);
        self.poke();
    }

    /// Returns what was typed since this was last called.
    pub(crate) fn take_typed(&self) -> Vec<Command> {
        let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *typed)
    }

    /// Comes when it is worth looking at the queue.
    pub async fn knock(&self) {
        tokio::select! {
            () = self.poke.notified() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}
