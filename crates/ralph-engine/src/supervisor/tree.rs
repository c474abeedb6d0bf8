//! Watches what all programs of a run use together, and ends it where that is more than they may.

use std::time::Duration;

use ralph_core::agent::{Ending, RunMoment};

use super::{Observation, Watcher, WatcherStep};
use crate::sandbox::TreeLimits;

/// Ends a run that uses too much memory or too many processes.
pub struct TreeWatcher {
    limits: TreeLimits,
    next: Duration,
}

impl TreeWatcher {
    pub fn new(limits: TreeLimits) -> Self {
        Self {
            limits,
            next: TreeLimits::LOOK,
        }
    }
}

impl Watcher for TreeWatcher {
    fn observe(&mut self, _seen: &Observation, _now: RunMoment) -> Vec<WatcherStep> {
        Vec::new()
    }

    fn wakes_at(&self, _now: RunMoment) -> Option<Duration> {
        Some(self.next)
    }

    fn wake(&mut self, now: RunMoment) -> Vec<WatcherStep> {
        if now.elapsed < self.next {
            return Vec::new();
        }
        self.next = now.elapsed + TreeLimits::LOOK;
        let too_much = self.limits.look().into_iter();
        too_much
            .map(|message| WatcherStep::Cut(Ending::Error { message }))
            .collect()
    }
}
