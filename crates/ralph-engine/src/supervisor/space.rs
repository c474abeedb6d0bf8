//! Watches what a run writes into its layer, and ends it where that is more than it may.

use std::time::Duration;

use ralph_core::agent::{Ending, RunMoment};

use super::{Observation, Watcher, WatcherStep};
use crate::layer::{LayerSpace, SpaceMeter};

/// Ends a run whose layer is full.
pub struct SpaceWatcher {
    meter: SpaceMeter,
    next: Duration,
}

impl SpaceWatcher {
    pub fn new(layer: Box<dyn LayerSpace>) -> Self {
        Self {
            meter: SpaceMeter::new(layer),
            next: SpaceMeter::LOOK,
        }
    }
}

impl Watcher for SpaceWatcher {
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
        self.next = now.elapsed + SpaceMeter::LOOK;
        let too_much = self.meter.look(now.elapsed).into_iter();
        too_much
            .map(|message| WatcherStep::Cut(Ending::Error { message }))
            .collect()
    }
}
