//! The signal file of a run: an agent that has made it is done, and gets a while to end by itself.
//!
//! Never ends anybody: it says when that is due.

use std::{cell::Cell, path::PathBuf, time::Duration};

use crate::agent::DoneFile;

pub(in crate::driver) struct Signalled {
    file: DoneFile,
    grace: Duration,
    overdue: Cell<Patience>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patience {
    Left,
    /// It was done, and did not go.
    Over,
}

impl Signalled {
    /// Of a run that is about to begin; the file was removed before.
    pub(in crate::driver) fn new(path: Option<PathBuf>, grace: Duration) -> Self {
        Self {
            file: DoneFile::new(path),
            grace,
            overdue: Cell::new(Patience::Left),
        }
    }

    /// Waits until the agent has said that it is done and then stayed for too long.
    pub(in crate::driver) async fn overstays(&self) {
        self.file.appeared().await;
        tokio::time::sleep(self.grace).await;
        self.overdue.set(Patience::Over);
    }

    /// Whether ralph ended it because it was done.
    pub(in crate::driver) fn was_overdue(&self) -> bool {
        self.overdue.get() == Patience::Over
    }

    /// Whether the agent said that it is done.
    pub(in crate::driver) fn is_there(&self) -> bool {
        self.file.is_there()
    }
}
