//! Looks at what a run uses now and then, and ends it where that is more than it may.

use std::time::Duration;

use ralph_core::agent::{Ending, RunMoment};

use super::{Observation, Watcher, WatcherStep};
use crate::sandbox::{TreeLimits, TreeWatch};

/// Ends a run whose programs use too much memory or start too many processes.
pub struct MeterWatcher {
    watch: TreeWatch,
    next: Duration,
}

impl MeterWatcher {
    pub fn new(limits: TreeLimits) -> Self {
        Self {
            watch: limits.watch(),
            next: TreeLimits::LOOK,
        }
    }
}

impl Watcher for MeterWatcher {
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
        let too_much = self.watch.look().into_iter();
        too_much
            .map(|message| WatcherStep::Cut(Ending::Error { message }))
            .collect()
    }
}
