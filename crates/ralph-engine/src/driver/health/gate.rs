//! The circuit breaker of a loop: what the journal says of it, what each iteration makes of it, and
//! the wait while it is open.

use ralph_core::{
    breaker::{Breaker, BreakerState, Sample},
    config::OnOpen,
    event::Event,
    record::IterationRecord,
    termination::{Ills, Tripped},
    verdict::Verdict,
};

use crate::driver::{Driver, policies, wait::to_the_second};

/// Whether an iteration may begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Gate {
    Open,
    /// Time has passed: what may be done is to be asked again.
    AskAgain,
}

impl Driver {
    /// Makes the breaker of what the journal has, newest first. Whoever starts ralph wants to see one
    /// tried, open or not.
    pub(in crate::driver) fn recall_breaker(&mut self, records: &[IterationRecord]) {
        let past = records.iter().rev();
        let past = past.map(|record| (&record.verdict, record.started_at, record.ended_at));
        self.breaker = Breaker::folded(policies::breaker(&self.config), past);
        let (failures, of) = (self.breaker.failures(), self.breaker.samples());
        let until = self.breaker.until();
        self.breaker.look(self.clock.now());
        self.breaker.let_one_through();
        if self.breaker.state() == BreakerState::HalfOpen {
            let until = until.map(|at| format!(" until {}", to_the_second(at)));
            let sentence = format!(
                "the circuit breaker was open{}: {failures} of the last {of} iterations failed; now \
                 one is tried, and how it goes decides",
                until.unwrap_or_default()
            );
            self.tell_breaker(sentence);
        }
    }

    pub(in crate::driver) fn note_in_breaker(&mut self, verdict: &Verdict) {
        let before = self.breaker.state();
        self.breaker.note(Sample::of(verdict), self.clock.now());
        let (failures, of) = (self.breaker.failures(), self.breaker.samples());
        let until = self.breaker.until().map(to_the_second);
        match (before, self.breaker.state()) {
            (_, BreakerState::Open) => {
                let until = until.map(|at| format!("; the next one is let through at {at}"));
                self.tell_breaker(format!(
                    "the circuit breaker opens: {failures} of the last {of} iterations failed{}",
                    until.unwrap_or_default()
                ));
            }
            (BreakerState::HalfOpen | BreakerState::Open, BreakerState::Closed) => {
                self.tell_breaker("the circuit breaker closes: the agent works again".to_owned());
            }
            (_, BreakerState::Closed | BreakerState::HalfOpen) => {}
        }
    }

    fn tell_breaker(&mut self, sentence: String) {
        let state = self.breaker.state();
        if let Some(pulse) = &self.pulse {
            pulse.breaker(state);
        }
        self.tell(&Event::Breaker { state, sentence });
    }

    /// What ails the agents, where that may end the loop.
    pub(in crate::driver) fn ills(&self) -> Ills {
        let is_open = self.breaker.state() == BreakerState::Open;
        let ends = is_open && self.config.breaker.on_open == OnOpen::Stop;
        Ills {
            tripped: ends.then(|| Tripped {
                failures: self.breaker.failures(),
                of: self.breaker.samples(),
                until: self.breaker.until().map(to_the_second),
            }),
            sick: self.tally.sick,
        }
    }

    /// Waits while the breaker is open, where that is wanted.
    pub(in crate::driver) async fn pass_breaker(&mut self) -> Gate {
        let (BreakerState::Open, Some(until)) = (self.breaker.state(), self.breaker.until()) else {
            return Gate::Open;
        };
        let (failures, of) = (self.breaker.failures(), self.breaker.samples());
        let detail = format!("{failures} of the last {of} iterations failed");
        self.wait_for_breaker(until, detail).await;
        self.breaker.look(self.clock.now());
        if self.breaker.state() == BreakerState::HalfOpen {
            self.tell_breaker(
                "the circuit breaker lets one iteration through: how it goes decides".to_owned(),
            );
        }
        Gate::AskAgain
    }
}
