//! Wakes a running loop when its queue has a command: by a poke, and a look now and then.
//!
//! A poke carries nothing: the journal does. One that is lost costs a moment, never a command. Commands that
//! are typed where the loop runs wait here until the loop has written them into the journal.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ralph_core::{command::Command, secret::Redaction};
use tokio::{sync::Notify, time::Instant};

/// A poke can be lost: a process that is about to take the lock is not poked.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Inbox {
    poke: Arc<Notify>,
    typed: Arc<Mutex<Vec<Command>>>,
    /// The time of the next look without a poke.
    next_look: Arc<Mutex<Option<Instant>>>,
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

    /// Comes when it is worth looking at the queue. It can be dropped at any time and called again: who waits for other
    /// things too, which come more often, looks in time all the same.
    pub async fn knock(&self) {
        let until = *self
            .next_look()
            .get_or_insert_with(|| Instant::now() + LOOK_AGAIN);
        tokio::select! {
            () = self.poke.notified() => {}
            () = tokio::time::sleep_until(until) => {}
        }
        *self.next_look() = None;
    }

    fn next_look(&self) -> MutexGuard<'_, Option<Instant>> {
        self.next_look
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_queue_is_looked_at_in_time_by_who_never_waits_that_long() {
        let inbox = Inbox::default();
        let began = Instant::now();
        // As a supervisor does whose agent says something again and again.
        while tokio::time::timeout(Duration::from_millis(100), inbox.knock())
            .await
            .is_err()
        {
            assert!(began.elapsed() < Duration::from_secs(30), "nothing knocks");
        }
        assert!(began.elapsed() >= LOOK_AGAIN, "it came too early");
    }

    #[tokio::test]
    async fn a_poke_comes_at_once() {
        let inbox = Inbox::default();
        inbox.poke();
        let knocked = tokio::time::timeout(LOOK_AGAIN / 2, inbox.knock()).await;
        assert!(knocked.is_ok());
    }
}
