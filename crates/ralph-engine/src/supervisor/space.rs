//! Watches what a run writes into its layer. In one that is full nothing more can be written: programs get an
//! error, as on a full disk, and can make room. A run that goes on writing all the same is ended.

use std::time::Duration;

use ralph_core::{
    agent::{Ending, RunMoment},
    event::Event,
};

use super::{Observation, Watcher, WatcherStep};
use crate::{
    layer::{LayerSpace, SpaceChange, SpaceMeter},
    process::FileWrites,
};

/// Keeps a run to the space that its layer may take.
pub struct SpaceWatcher {
    meter: SpaceMeter,
    next: Duration,
    /// A sentence about the layer when it was full first.
    was_full: Option<String>,
}

impl SpaceWatcher {
    pub fn new(layer: Box<dyn LayerSpace>) -> Self {
        let meter = SpaceMeter::new(layer);
        Self {
            next: meter.interval(),
            meter,
            was_full: None,
        }
    }

    /// Returns what is to be known of the run if its layer was full.
    pub fn into_flag(self) -> Option<String> {
        let was_full = self.was_full.or_else(|| self.meter.filled_at_last())?;
        Some(format!(
            "the workspace was full while the agent ran, and writes failed: {was_full}"
        ))
    }

    fn full(&mut self, sentence: String) -> Vec<WatcherStep> {
        let mut steps = vec![WatcherStep::Writes(FileWrites::Refused)];
        if self.was_full.is_none() {
            let message =
                format!("the workspace is full, and writes fail until there is room: {sentence}");
            steps.push(WatcherStep::Tell(Box::new(Event::Warning { message })));
            steps.push(WatcherStep::Nudge(format!(
                "Your workspace is full: {sentence}. Writes to files fail until you delete what is not needed."
            )));
            self.was_full = Some(sentence);
        }
        steps
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
        let change = self.meter.look(now.elapsed);
        self.next = now.elapsed + self.meter.interval();
        match change {
            None => Vec::new(),
            Some(SpaceChange::Full(sentence)) => self.full(sentence),
            Some(SpaceChange::StillFull) => vec![WatcherStep::Writes(FileWrites::Refused)],
            Some(SpaceChange::Freed) => vec![WatcherStep::Writes(self.meter.allowed_writes())],
            Some(SpaceChange::Exceeded(message)) => {
                vec![WatcherStep::Cut(Ending::Error { message })]
            }
        }
    }
}
