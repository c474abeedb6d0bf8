//! The circuit breaker: agents that fail too often are not started again and again.
//!
//! Pure over outcomes and times, and folded from what is kept of iterations, so that a restart knows
//! it. A failed verification is no failure of the agent's, and does not count.

use std::{collections::VecDeque, time::Duration};

use jiff::{SignedDuration, Timestamp};

use crate::verdict::Verdict;

named! {
    #[derive(Default)]
    pub enum BreakerState {
        /// Agents are started.
        #[default]
        Closed = "closed",
        /// None is started.
        Open = "open",
        /// One is tried: how that goes decides.
        HalfOpen = "half_open",
    }
}

/// When it opens, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BreakerPolicy {
    /// So many failures…
    pub failures: u32,
    /// …among so many of the last iterations.
    pub window: u32,
    pub cooldown: Duration,
}

/// Describes what an iteration says of the agent and its API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sample {
    Good,
    Failure,
    /// No one worked, or someone else ended it.
    Nothing,
}

impl Sample {
    pub fn of(verdict: &Verdict) -> Self {
        let no_one_worked = matches!(
            verdict,
            Verdict::Interrupted | Verdict::LimitHit { .. } | Verdict::AgentUnavailable { .. }
        );
        if verdict.is_agent_error() {
            Self::Failure
        } else if no_one_worked {
            Self::Nothing
        } else {
            Self::Good
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Breaker {
    policy: BreakerPolicy,
    state: BreakerState,
    /// The last outcomes, oldest first; an open one has those that opened it.
    window: VecDeque<Sample>,
    /// When it half-opens, while it is open.
    until: Option<Timestamp>,
}

impl Breaker {
    pub fn new(policy: BreakerPolicy) -> Self {
        Self {
            policy,
            state: BreakerState::Closed,
            window: VecDeque::new(),
            until: None,
        }
    }

    /// As it stands after these iterations, oldest first: how each ended, and when it began and ended.
    /// One that began while it was open was let through by a person.
    pub fn folded<'a>(
        policy: BreakerPolicy,
        past: impl IntoIterator<Item = (&'a Verdict, Timestamp, Timestamp)>,
    ) -> Self {
        let mut breaker = Self::new(policy);
        for (verdict, began_at, ended_at) in past {
            breaker.look(began_at);
            let sample = Sample::of(verdict);
            if breaker.state == BreakerState::Open && sample != Sample::Nothing {
                breaker.let_one_through();
            }
            breaker.note(sample, ended_at);
        }
        breaker
    }

    pub fn state(&self) -> BreakerState {
        self.state
    }

    /// When it half-opens, while it is open.
    pub fn until(&self) -> Option<Timestamp> {
        self.until
    }

    pub fn failures(&self) -> u32 {
        let failures = self.window.iter().filter(|s| **s == Sample::Failure);
        u32::try_from(failures.count()).unwrap_or(u32::MAX)
    }

    /// Returns how many iterations the failures are counted among.
    pub fn samples(&self) -> u32 {
        u32::try_from(self.window.len()).unwrap_or(u32::MAX)
    }

    /// Time passes: an open one lets one iteration through once its time is over.
    pub fn look(&mut self, now: Timestamp) {
        if self.state == BreakerState::Open && self.until.is_none_or(|at| at <= now) {
            self.let_one_through();
        }
    }

    /// A person wants one tried at once.
    pub fn let_one_through(&mut self) {
        match self.state {
            BreakerState::Open => {
                self.state = BreakerState::HalfOpen;
                self.until = None;
            }
            BreakerState::Closed | BreakerState::HalfOpen => {}
        }
    }

    /// An iteration ended.
    pub fn note(&mut self, sample: Sample, at: Timestamp) {
        match (self.state, sample) {
            (_, Sample::Nothing) => {}
            // No agent is started while it is open; should it be told of one all the same, it stays so.
            (BreakerState::Open, _) => {}
            (BreakerState::Closed, sample) => {
                self.push(sample);
                if self.failures() >= self.policy.failures {
                    self.open(at);
                }
            }
            (BreakerState::HalfOpen, Sample::Good) => {
                self.state = BreakerState::Closed;
                self.window.clear();
            }
            (BreakerState::HalfOpen, Sample::Failure) => {
                self.push(sample);
                self.open(at);
            }
        }
    }

    fn push(&mut self, sample: Sample) {
        self.window.push_back(sample);
        let most = usize::try_from(self.policy.window.max(1)).unwrap_or(usize::MAX);
        while self.window.len() > most {
            self.window.pop_front();
        }
    }

    fn open(&mut self, at: Timestamp) {
        let cooldown =
            SignedDuration::try_from(self.policy.cooldown).unwrap_or(SignedDuration::MAX);
        self.state = BreakerState::Open;
        self.until = Some(at.checked_add(cooldown).unwrap_or(Timestamp::MAX));
    }
}

#[cfg(test)]
mod tests;
