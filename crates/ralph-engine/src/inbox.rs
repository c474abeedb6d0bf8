//! Wakes a running loop when its queue has a command: by a poke, and a look now and then.
//!
//! Carries nothing: the journal does. A poke that is lost costs a moment, never a command.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

/// A poke can be lost: a process that is about to take the lock is not poked.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Default)]
pub struct Inbox {
    poke: Arc<Notify>,
}

impl Inbox {
    /// Called when another process pokes.
    pub fn poke(&self) {
        self.poke.notify_one();
    }

    /// Comes when it is worth looking at the queue.
    pub async fn knock(&self) {
        tokio::select! {
            () = self.poke.notified() => {}
            () = tokio::time::sleep(LOOK_AGAIN) => {}
        }
    }
}
