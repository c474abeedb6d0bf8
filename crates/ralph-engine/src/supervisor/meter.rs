//! Looks at what a run uses now and then, and ends it where that is more than it may.

use std::time::Duration;

use ralph_core::agent::{Ending, RunMoment};

use super::{Observation, Watcher, WatcherStep};
use crate::{
    layer::{LayerSpace, SpaceMeter},
    sandbox::TreeLimits,
};

/// Ends a run that writes or uses too much.
pub struct MeterWatcher {
    /// Returns a sentence if it is too much.
    look: Box<dyn FnMut(Duration) -> Option<String>>,
    interval: Duration,
    next: Duration,
}

impl MeterWatcher {
    /// Watches what is written into a layer.
    pub fn of_space(layer: Box<dyn LayerSpace>) -> Self {
        let mut meter = SpaceMeter::new(layer);
        Self::new(SpaceMeter::LOOK, move |now| meter.look(now))
    }

    /// Watches the memory and the processes of all programs of the run.
    pub fn of_tree(limits: TreeLimits) -> Self {
        let watch = limits.watch();
        Self::new(TreeLimits::LOOK, move |_| watch.look())
    }

    fn new(interval: Duration, look: impl FnMut(Duration) -> Option<String> + 'static) -> Self {
        Self {
            look: Box::new(look),
            interval,
            next: interval,
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
        self.next = now.elapsed + self.interval;
        let too_much = (self.look)(now.elapsed).into_iter();
        too_much
            .map(|message| WatcherStep::Cut(Ending::Error { message }))
            .collect()
    }
}
