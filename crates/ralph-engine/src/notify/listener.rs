//! A reporter in front of the real one: it hears all that is reported, hands on what is to be told,
//! and lets the real one say what could not be sent.
//!
//! Never waits.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use ralph_core::event::Event;
use tokio::sync::mpsc;

use super::outbox::{NotificationRouter, drain, lock};
use crate::report::Reporter;

pub struct Listener {
    shown: Box<dyn Reporter>,
    router: Arc<Mutex<NotificationRouter>>,
    trouble: Arc<Mutex<mpsc::UnboundedReceiver<String>>>,
}

impl Listener {
    pub(super) fn new(
        shown: Box<dyn Reporter>,
        router: Arc<Mutex<NotificationRouter>>,
        trouble: Arc<Mutex<mpsc::UnboundedReceiver<String>>>,
    ) -> Self {
        Self {
            shown,
            router,
            trouble,
        }
    }

    fn tell_trouble(&mut self, at: Timestamp) {
        for message in drain(&self.trouble) {
            self.shown.report(&Event::Warning { message }, at);
        }
    }
}

impl Reporter for Listener {
    fn report(&mut self, event: &Event, at: Timestamp) {
        lock(&self.router).observe(event, at);
        self.tell_trouble(at);
        self.shown.report(event, at);
    }

    fn tick(&mut self, now: Timestamp) {
        self.tell_trouble(now);
        self.shown.tick(now);
    }

    fn wants_ticks(&self) -> bool {
        self.shown.wants_ticks()
    }

    fn make_room(&mut self) {
        self.shown.make_room();
    }

    fn finish(&mut self) {
        self.shown.finish();
    }
}
