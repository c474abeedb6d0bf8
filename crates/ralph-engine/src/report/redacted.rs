//! A reporter that is told no secrets: they are taken out of every event before anything shows, sends or keeps it.

use jiff::Timestamp;
use ralph_core::{event::Event, secret::Redaction};

use super::Reporter;

pub(crate) struct RedactedReporter {
    pub(crate) redaction: Redaction,
    pub(crate) shown: Box<dyn Reporter>,
}

impl RedactedReporter {
    /// The words and deeds of an agent are filtered where they are read.
    fn hide(&self, event: &Event) -> Event {
        match event {
            Event::Agent(_) => event.clone(),
            event => self.redaction.hide_in(event.clone()),
        }
    }
}

impl Reporter for RedactedReporter {
    fn report(&mut self, event: &Event, at: Timestamp) {
        if matches!(event, Event::Agent(_)) {
            return self.shown.report(event, at);
        }
        let event = self.hide(event);
        self.shown.report(&event, at);
    }

    fn report_all(&mut self, events: &[Event], at: Timestamp) {
        if events.iter().all(|event| matches!(event, Event::Agent(_))) {
            return self.shown.report_all(events, at);
        }
        let events: Vec<Event> = events.iter().map(|event| self.hide(event)).collect();
        self.shown.report_all(&events, at);
    }

    fn tick(&mut self, now: Timestamp) {
        self.shown.tick(now);
    }

    fn wants_ticks(&self) -> bool {
        self.shown.wants_ticks()
    }

    fn begin(&mut self, what: &str) {
        self.shown.begin(&self.redaction.hide(what));
    }

    fn make_room(&mut self) {
        self.shown.make_room();
    }

    fn finish(&mut self) {
        self.shown.finish();
    }
}
