//! The events of a loop that the journal keeps: gathered as they are told, written where the journal is at hand.
//!
//! Events are told in places that can't wait for a disk. None is lost but by a crash within two seconds.

use std::sync::Arc;

use jiff::Timestamp;
use ralph_core::{
    event::{Event, KeptEvent},
    id::LoopId,
};

use super::{LoopError, LoopRunner};
use crate::{
    named_lock::NamedLock,
    report::{EventObserver, ObservedReporter, Reporter},
    store::Journal,
};

/// Events that are not in the journal yet.
#[derive(Debug, Clone)]
pub(super) struct EventBuffer(Arc<NamedLock<WaitingEvents>>);

#[derive(Debug, Default)]
struct WaitingEvents {
    events: Vec<KeptEvent>,
    /// Those of them that the journal did not take: they wait for the next one.
    refused: usize,
}

impl EventBuffer {
    pub(super) fn new() -> Self {
        let waiting = NamedLock::new("the events to keep", WaitingEvents::default());
        Self(Arc::new(waiting))
    }

    /// True if there are events that the journal has not seen.
    pub(super) fn has_new(&self) -> bool {
        let waiting = self.0.lock();
        waiting.events.len() > waiting.refused
    }

    /// Writes all of them into the journal.
    pub(super) async fn write(
        &self,
        journal: &mut dyn Journal,
        loop_id: &LoopId,
    ) -> crate::store::Result<()> {
        let events = std::mem::take(&mut self.0.lock().events);
        if events.is_empty() {
            return Ok(());
        }
        let written = journal.keep_events(loop_id, &events).await;
        let mut waiting = self.0.lock();
        waiting.refused = 0;
        if written.is_err() {
            waiting.refused = events.len();
            waiting.events.splice(..0, events);
        }
        written
    }

    /// A reporter that keeps what another one is told.
    pub(super) fn listen(&self, shown: Box<dyn Reporter>) -> Box<dyn Reporter> {
        let observer = self.clone();
        Box::new(ObservedReporter { observer, shown })
    }
}

impl EventObserver for EventBuffer {
    fn observe(&mut self, events: &[Event], at: Timestamp, _: &mut dyn Reporter) {
        let kept = events.iter().filter_map(|event| KeptEvent::of(event, at));
        self.0.lock().events.extend(kept);
    }
}

impl LoopRunner {
    /// Writes events that were told since the last time.
    pub(super) async fn write_events(&mut self) -> Result<(), LoopError> {
        let (journal, id) = (&mut *self.journal, &self.loop_id);
        Ok(self.output.events.write(journal, id).await?)
    }
}
