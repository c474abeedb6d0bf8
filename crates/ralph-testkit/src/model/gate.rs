//! Gates that a turn waits at until the test opens them. Once open, a gate stays open.

use std::collections::BTreeSet;

use tokio::sync::watch;

pub(super) struct Gate {
    open: watch::Sender<BTreeSet<String>>,
}

impl Gate {
    pub(super) fn new() -> Self {
        Self {
            open: watch::Sender::new(BTreeSet::new()),
        }
    }

    pub(super) fn open(&self, name: &str) {
        self.open.send_modify(|open| {
            open.insert(name.to_owned());
        });
    }

    pub(super) async fn pass(&self, name: &str) {
        let mut open = self.open.subscribe();
        // The sender lives in `self`, so that waiting can't fail.
        let _ = open.wait_for(|open| open.contains(name)).await;
    }
}
