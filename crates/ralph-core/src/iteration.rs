//! The iteration as a state machine: says what to do next, and takes what was done.
//!
//! Does nothing by itself. The engine performs each `Action` and answers with a `StepDone`; the
//! journal holds every `StepDone`, so folding them through `apply` gives back the state after a
//! crash. An answer that does not fit the state is an `IllegalStep`, never a guess.

mod step;

pub use step::{
    Action, AgentChange, AgentEnded, ChangedFile, Check, Failure, Handoffs, IterationPolicy, Lands,
    Purpose, RanBy, RefusedChange, ReplayedChange, StepDone,
};

use crate::{
    agent::{AgentReport, Ending},
    verdict::{Halt, NOT_STARTED, Verdict},
};

/// The number of times that a change is brought to where a person moved the branch; then it is the next attempt's.
const MOST_REPLAYS: u32 = 5;

#[derive(Debug, Clone, PartialEq)]
enum IterationPhase {
    Bundling {
        fix: Option<Failure>,
    },
    Starting {
        fix: Option<Failure>,
    },
    Waiting {
        fix: Option<Failure>,
        message: String,
    },
    Inspecting,
    Verifying,
    Landing,
    Keeping {
        verdict: Verdict,
    },
    Recording {
        verdict: Verdict,
    },
    Over {
        verdict: Verdict,
    },
}

impl IterationPhase {
    fn keep(verdict: Verdict) -> Self {
        Self::Keeping { verdict }
    }
}

/// One iteration on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    policy: IterationPolicy,
    run: u32,
    /// Runs that were to repair a failed verification.
    repairs: u32,
    /// Runs in a row that an overloaded API ended.
    overloads: u32,
    /// The number of times that the change was brought to where the branch had moved.
    replays: u32,
    claimed: bool,
    escalated: bool,
    unverified: bool,
    phase: IterationPhase,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("step {step} does not fit the state {state} of the iteration")]
pub struct IllegalStep {
    step: String,
    state: String,
}

impl Iteration {
    pub fn new(policy: IterationPolicy) -> Self {
        Self {
            policy,
            run: 1,
            repairs: 0,
            overloads: 0,
            replays: 0,
            claimed: false,
            escalated: false,
            unverified: false,
            phase: IterationPhase::Bundling { fix: None },
        }
    }

    /// Which run of an agent this iteration is at, from 1.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Returns true if no command at all stood behind the verdict.
    pub fn is_unverified(&self) -> bool {
        self.unverified
    }

    /// Returns what it is that lands, or has landed: the whole task, or a step towards it.
    pub fn landed_as(&self) -> Verdict {
        match (self.claimed, self.unverified) {
            (true, false) => Verdict::Verified,
            (true, true) => Verdict::Unverified,
            (false, false) => Verdict::Progress,
            (false, true) => Verdict::UnverifiedProgress,
        }
    }

    pub fn next(&self) -> Action {
        match &self.phase {
            IterationPhase::Bundling { fix } => Action::Bundle {
                run: self.run,
                fix: fix.clone(),
            },
            IterationPhase::Starting { .. } => Action::StartAgent { run: self.run },
            IterationPhase::Waiting { message, .. } => Action::Wait {
                attempt: self.overloads,
                message: message.clone(),
            },
            IterationPhase::Inspecting => Action::Inspect,
            IterationPhase::Verifying => Action::Verify,
            IterationPhase::Landing => Action::Land,
            IterationPhase::Keeping { verdict } => Action::Keep {
                verdict: verdict.clone(),
            },
            IterationPhase::Recording { verdict } => Action::Record {
                verdict: verdict.clone(),
            },
            IterationPhase::Over { .. } => Action::Done,
        }
    }

    pub fn apply(&mut self, done: &StepDone) -> Result<(), IllegalStep> {
        let next = match (&self.phase, done) {
            (IterationPhase::Bundling { fix }, StepDone::Bundled { .. }) => {
                IterationPhase::Starting { fix: fix.clone() }
            }
            (IterationPhase::Starting { fix }, StepDone::AgentEnded(ended)) => {
                let fix = fix.clone();
                self.claimed = ended.signals.claims_done();
                self.escalated = ended.signals.escalation.is_some();
                match self.handed_over(ended) {
                    Some(verdict) => IterationPhase::Keeping { verdict },
                    None => self.after_run(&ended.report, fix),
                }
            }
            (IterationPhase::Waiting { fix, .. }, StepDone::Waited { .. }) => {
                let fix = fix.clone();
                self.run += 1;
                IterationPhase::Bundling { fix }
            }
            (IterationPhase::Inspecting, StepDone::Inspected { change }) => {
                self.after_inspection(change)
            }
            (IterationPhase::Verifying, StepDone::Verified { check }) => {
                self.after_verification(check)
            }
            (IterationPhase::Landing, StepDone::Landed { .. }) => IterationPhase::Recording {
                verdict: self.landed_as(),
            },
            (IterationPhase::Landing, StepDone::LandMoved) => IterationPhase::Verifying,
            (IterationPhase::Verifying, StepDone::Replayed { .. }) => {
                self.replays += 1;
                if self.replays <= MOST_REPLAYS {
                    IterationPhase::Verifying
                } else {
                    IterationPhase::keep(Verdict::Overtaken {
                        reason: format!(
                            "the branch moved {} times while the change was verified",
                            self.replays
                        ),
                    })
                }
            }
            (IterationPhase::Verifying, StepDone::Overtaken { reason }) => {
                IterationPhase::keep(Verdict::Overtaken {
                    reason: reason.clone(),
                })
            }
            (
                IterationPhase::Verifying | IterationPhase::Landing,
                StepDone::LandRefused { reason },
            ) => IterationPhase::keep(Verdict::Refused {
                reason: reason.clone(),
                halt: Halt::Loop,
            }),
            (IterationPhase::Keeping { verdict }, StepDone::Kept { .. }) => {
                IterationPhase::Recording {
                    verdict: verdict.clone(),
                }
            }
            (IterationPhase::Recording { verdict }, StepDone::Recorded) => IterationPhase::Over {
                verdict: verdict.clone(),
            },
            (
                IterationPhase::Bundling { .. }
                | IterationPhase::Starting { .. }
                | IterationPhase::Waiting { .. }
                | IterationPhase::Inspecting
                | IterationPhase::Verifying
                | IterationPhase::Landing,
                StepDone::Interrupted,
            ) => IterationPhase::keep(Verdict::Interrupted),
            // Before an agent is started again: what is there already is kept.
            (
                IterationPhase::Bundling { .. } | IterationPhase::Waiting { .. },
                StepDone::OutOfBudget {
                    spent_usd,
                    max_usd,
                    budget,
                },
            ) => IterationPhase::keep(Verdict::Budget {
                spent_usd: *spent_usd,
                max_usd: *max_usd,
                budget: *budget,
            }),
            (state, step) => {
                return Err(IllegalStep {
                    step: first_word(step),
                    state: first_word(state),
                });
            }
        };
        self.phase = next;
        Ok(())
    }

    /// Returns what it comes to that a run hands over, if it does. One that ended by itself and says that the
    /// task is done, or asks a person, is judged by that.
    fn handed_over(&self, ended: &AgentEnded) -> Option<Verdict> {
        let asks_for_more = self.claimed || self.escalated;
        let trigger = match (&ended.report.ending, &ended.handoff) {
            (Ending::HandedOff { trigger }, _) => *trigger,
            (Ending::Finished, Some(handoff)) if !asks_for_more => handoff.trigger,
            (_, _) => return None,
        };
        match (self.policy.purpose, self.policy.handoffs) {
            // No one goes on with a diagnosis: what it found so far is what there is.
            (Purpose::Diagnosis, _) => None,
            (Purpose::Attempt, Handoffs::Allowed) => Some(Verdict::Handoff { trigger }),
            (Purpose::Attempt, Handoffs::UsedUp { in_a_row }) => Some(Verdict::AgentError {
                message: format!(
                    "it was handed over {in_a_row} times in a row already, which is all that \
                     `handoff.max_in_a_row` allows, and again because {}",
                    trigger.sentence()
                ),
            }),
        }
    }

    /// An API that is overloaded for a while costs the task nothing, and the loop little.
    fn after_run(&mut self, report: &AgentReport, fix: Option<Failure>) -> IterationPhase {
        match &report.ending {
            Ending::Overloaded { message } if self.overloads < self.policy.max_overload_retries => {
                self.overloads += 1;
                let message = message.clone();
                IterationPhase::Waiting { fix, message }
            }
            _ => {
                self.overloads = 0;
                after_agent(report)
            }
        }
    }

    fn after_inspection(&self, change: &AgentChange) -> IterationPhase {
        match self.policy.purpose {
            Purpose::Attempt => {}
            Purpose::Diagnosis => return after_diagnosis(change),
        }
        // An escalation ends the attempt whatever it changed: the answer may make it worthless.
        if self.escalated {
            return IterationPhase::keep(Verdict::Escalated);
        }
        if let Some(refusal) = &change.refusal {
            return IterationPhase::keep(Verdict::Refused {
                reason: refusal.reason.clone(),
                halt: refusal.halt,
            });
        }
        // A step towards a goal is a change; that it is reached may be found without one.
        let is_step = self.policy.lands == Lands::Each && !self.claimed;
        if change.files.is_empty() && (self.policy.expects_change || is_step) {
            return IterationPhase::keep(Verdict::NoChange {
                claimed: self.claimed,
            });
        }
        IterationPhase::Verifying
    }

    fn after_verification(&mut self, check: &Check) -> IterationPhase {
        self.unverified = check.unverified;
        match &check.failure {
            None if self.claimed || self.policy.lands == Lands::Each => IterationPhase::Landing,
            None => IterationPhase::keep(Verdict::Unclaimed),
            // No agent can repair what is not installed.
            Some(failure)
                if self.repairs < self.policy.max_verify_retries
                    && failure.signature != NOT_STARTED =>
            {
                self.run += 1;
                self.repairs += 1;
                IterationPhase::Bundling {
                    fix: Some(failure.clone()),
                }
            }
            Some(failure) => IterationPhase::keep(Verdict::Failed {
                command: failure.command.clone(),
                signature: failure.signature.clone(),
            }),
        }
    }
}

/// A diagnosis is neither verified nor landed; what halts a loop halts it all the same.
fn after_diagnosis(change: &AgentChange) -> IterationPhase {
    let verdict = match &change.refusal {
        Some(refusal) if refusal.halt == Halt::Loop => Verdict::Refused {
            reason: refusal.reason.clone(),
            halt: Halt::Loop,
        },
        Some(_) | None => Verdict::Diagnosed,
    };
    IterationPhase::Keeping { verdict }
}

fn after_agent(report: &AgentReport) -> IterationPhase {
    let verdict = match &report.ending {
        Ending::Finished => return IterationPhase::Inspecting,
        Ending::Error { message }
        | Ending::NoResult { message }
        | Ending::Api { message }
        | Ending::MaxTurns { message }
        | Ending::Budget { message }
        | Ending::Refused { message }
        // Not by ralph: it may be the machine's memory, and comes again.
        | Ending::Interrupted { message } => Verdict::AgentError {
            message: message.clone(),
        },
        Ending::Overloaded { message } => Verdict::Overloaded {
            message: message.clone(),
        },
        Ending::Unavailable { message }
        | Ending::Auth { message }
        | Ending::Rejected { message } => Verdict::AgentUnavailable {
            message: message.clone(),
        },
        Ending::Limit { resets_at } => Verdict::LimitHit {
            resets_at: *resets_at,
        },
        Ending::TimedOut { minutes } => Verdict::TimedOut {
            reason: format!("the iteration took more than {minutes} min"),
        },
        Ending::Silent { minutes } => Verdict::TimedOut {
            reason: format!("the agent said nothing for {minutes} min"),
        },
        Ending::OverBudget {
            spent_usd,
            max_usd,
            budget,
        } => Verdict::Budget {
            spent_usd: *spent_usd,
            max_usd: *max_usd,
            budget: *budget,
        },
        // Of a diagnosis; any other is judged before.
        Ending::HandedOff { .. } => return IterationPhase::Inspecting,
        Ending::Terminated { reason } => Verdict::Terminated {
            reason: reason.clone(),
        },
        Ending::Stopped => Verdict::Interrupted,
    };
    IterationPhase::Keeping { verdict }
}

/// The name of an enum's variant, for an error that a person reads.
fn first_word(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests;
