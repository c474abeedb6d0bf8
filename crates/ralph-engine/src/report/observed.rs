//! A reporter with an observer in front of it. Everything is handed on in one place, so that no observer can
//! forget a part of what a reporter does.

use std::slice;

use jiff::Timestamp;
use ralph_core::event::Event;

use super::Reporter;

/// Sees what is reported before it is shown. Never waits.
pub(crate) trait EventObserver: Send {
    /// Takes events that are about to be shown, none at a tick. What it has to say itself goes to `shown`.
    fn observe(&mut self, events: &[Event], at: Timestamp, shown: &mut dyn Reporter);
}

pub(crate) struct ObservedReporter<O> {
    pub(crate) observer: O,
    pub(crate) shown: Box<dyn Reporter>,
}

impl<O: EventObserver> Reporter for ObservedReporter<O> {
    fn report(&mut self, event: &Event, at: Timestamp) {
        self.report_all(slice::from_ref(event), at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        self.observer.observe(events, at, &mut *self.shown);
        self.shown.report_all(events, at);
    }

    fn tick(&mut self, now: Timestamp) {
        self.observer.observe(&[], now, &mut *self.shown);
        self.shown.tick(now);
    }

    fn wants_ticks(&self) -> bool {
        self.shown.wants_ticks()
    }

    fn begin(&mut self, what: &str) {
        self.shown.begin(what);
    }

    fn make_room(&mut self) {
        self.shown.make_room();
    }

    fn finish(&mut self) {
        self.shown.finish();
    }
}
