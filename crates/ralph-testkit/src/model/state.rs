//! Describes what the server and the test share: the scenario as far as it is played, what was asked, and the
//! gates. Serves nothing itself.

use std::fs::File;
use std::io::Write as _;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::gate::Gate;
use super::player::{Decision, ScenarioPlayer};
use super::request::Request;
use super::scenario::Scenario;
use super::wire::{HttpCall, ParsedRequest};

pub(super) struct ServerState {
    seen: Mutex<RecordedCalls>,
    changed: Condvar,
    pub(super) gate: Gate,
}

pub(super) struct RecordedCalls {
    play: ScenarioPlayer,
    log: Option<File>,
    pub(super) requests: Vec<Request>,
    others: Vec<String>,
    pub(super) held: Vec<String>,
}

impl ServerState {
    pub(super) fn new(scenario: Scenario, log: Option<File>) -> Self {
        Self {
            seen: Mutex::new(RecordedCalls {
                play: ScenarioPlayer::new(scenario),
                log,
                requests: Vec::new(),
                others: Vec::new(),
                held: Vec::new(),
            }),
            changed: Condvar::new(),
            gate: Gate::new(),
        }
    }

    /// Decides what a request gets and keeps both, as one step: two connections may ask at once.
    pub(super) fn decide(
        &self,
        wire: &'static str,
        call: HttpCall,
        asked: &ParsedRequest,
    ) -> Decision {
        let mut seen = self.lock();
        let number = seen.requests.len() + 1;
        let decision = seen.play.decide(number, asked);
        let answered = decision.answered.clone();
        let mut request = Request::new(wire, call, asked.clone(), answered);
        request.sequence = number;
        if let Some(log) = &mut seen.log {
            // The log is for people; a full disk shows in the test itself.
            let _ = writeln!(log, "{}", request.to_json());
        }
        seen.requests.push(request);
        self.changed.notify_all();
        decision
    }

    pub(super) fn note_other(&self, call: String) {
        self.lock().others.push(call);
    }

    /// Waits at a gate, and says so first.
    pub(super) async fn hold(&self, name: &str) {
        self.lock().held.push(name.to_owned());
        self.changed.notify_all();
        self.gate.pass(name).await;
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    pub(super) fn other_calls(&self) -> Vec<String> {
        self.lock().others.clone()
    }

    /// Returns true if it became true within the limit.
    pub(super) fn wait(&self, limit: Duration, is_true: impl Fn(&RecordedCalls) -> bool) -> bool {
        let seen = self.lock();
        let waited = self
            .changed
            .wait_timeout_while(seen, limit, |seen| !is_true(seen));
        !waited.unwrap_or_else(PoisonError::into_inner).1.timed_out()
    }

    /// A thread that panicked shows so itself; what was seen is still true.
    fn lock(&self) -> MutexGuard<'_, RecordedCalls> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
