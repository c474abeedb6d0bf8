//! Whoever looks on while an agent runs: the log, and the reporter.
//!
//! Passes on, and decides nothing.

use std::{cell::RefCell, collections::HashSet};

use ralph_core::{agent::AgentEvent, dollars::Dollars, event::Event};

use super::attend::Ears;
use crate::{agent::Watcher, report::Reporter};

/// Passes an agent's events on to the log and to whoever watches.
pub(super) struct Onlooker<'a> {
    /// What the attendant has to tell, and wants to know.
    pub(super) ears: &'a Ears,
    pub(super) text: &'a mut crate::process::CappedLog,
    /// Shared with the attendant, who has something to say when the agent has not.
    pub(super) reporter: &'a RefCell<&'a mut dyn Reporter>,
    pub(super) clock: &'a dyn crate::clock::Clock,
    /// Models of which it was said already that they have no price.
    pub(super) unpriced: &'a mut HashSet<String>,
}

impl Onlooker<'_> {
    fn pass_on(&mut self) {
        for event in self.ears.take() {
            self.reporter.borrow_mut().report(&event, self.clock.now());
        }
    }
}

impl Watcher for Onlooker<'_> {
    fn event(&mut self, event: &AgentEvent) {
        self.ears.hear(event);
        self.pass_on();
        super::logs::write_event(self.text, event);
        self.reporter
            .borrow_mut()
            .report(&Event::Agent(event.clone()), self.clock.now());
    }

    fn spent(&mut self, so_far: Dollars) {
        self.ears.spent(so_far);
    }

    fn unpriced(&mut self, model: Option<&str>) {
        let name = model.unwrap_or("a model that is not named");
        if self.unpriced.insert(name.to_owned()) {
            let message = format!(
                "there is no price for {name}: what may be spent can't be kept to while it works; `economics.prices` sets one"
            );
            self.reporter
                .borrow_mut()
                .report(&Event::Warning { message }, self.clock.now());
        }
    }

    fn tick(&mut self) {
        self.pass_on();
        self.reporter.borrow_mut().tick(self.clock.now());
    }

    fn wants_ticks(&self) -> bool {
        self.reporter.borrow().wants_ticks()
    }
}
