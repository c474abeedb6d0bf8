//! The iteration as a state machine: says what to do next, and takes what was done.
//!
//! Does nothing by itself. The engine performs each `Action` and answers with a `StepDone`; the
//! journal holds every `StepDone`, so folding them through `apply` gives back the state after a
//! crash. An answer that does not fit the state is an `IllegalStep`, never a guess.

mod policy;
mod step;

pub use policy::{Handoffs, IterationPolicy, Lands, Purpose};
pub use step::{Action, AgentEnded, Change, ChangedFile, Check, Failure, RanBy, Refusal, StepDone};

use crate::{
    agent::{AgentReport, Ending},
    verdict::{Halt, Verdict},
};

#[derive(Debug, Clone, PartialEq)]
enum Phase {
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

/// One iteration on its way.
#[derive(Debug, Clone, PartialEq)]
pub struct Iteration {
    policy: IterationPolicy,
    run: u32,
    /// Runs that were to repair a failed verification.
    repairs: u32,
    /// Runs in a row that an overloaded API ended.
    overloads: u32,
    claimed: bool,
    escalated: bool,
    unverified: bool,
    phase: Phase,
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
            claimed: false,
            escalated: false,
            unverified: false,
            phase: Phase::Bundling { fix: None },
        }
    }

    /// Which run of an agent this iteration is at, from 1.
    pub fn run(&self) -> u32 {
        self.run
    }

    /// Whether no command at all stood behind the verdict.
    pub fn is_unverified(&self) -> bool {
        self.unverified
    }

    /// What it is that lands, or has landed: the whole task, or a step towards it.
    pub fn landed_as(&self) -> Verdict {
        match self.claimed {
            true => Verdict::Verified,
            false => Verdict::Progress,
        }
    }

    pub fn next(&self) -> Action {
        match &self.phase {
            Phase::Bundling { fix } => Action::Bundle {
                run: self.run,
                fix: fix.clone(),
            },
            Phase::Starting { .. } => Action::StartAgent { run: self.run },
            Phase::Waiting { message, .. } => Action::Wait {
                attempt: self.overloads,
                message: message.clone(),
            },
            Phase::Inspecting => Action::Inspect,
            Phase::Verifying => Action::Verify,
            Phase::Landing => Action::Land,
            Phase::Keeping { verdict } => Action::Keep {
                verdict: verdict.clone(),
            },
            Phase::Recording { verdict } => Action::Record {
                verdict: verdict.clone(),
            },
            Phase::Over { .. } => Action::Done,
        }
    }

    pub fn apply(&mut self, done: &StepDone) -> Result<(), IllegalStep> {
        let next = match (&self.phase, done) {
            (Phase::Bundling { fix }, StepDone::Bundled { .. }) => {
                Phase::Starting { fix: fix.clone() }
            }
            (Phase::Starting { fix }, StepDone::AgentEnded(ended)) => {
                let fix = fix.clone();
                self.claimed = ended.signals.claims_done();
                self.escalated = ended.signals.escalation.is_some();
                match self.handed_over(ended) {
                    Some(verdict) => Phase::Keeping { verdict },
                    None => self.after_run(&ended.report, fix),
                }
            }
            (Phase::Waiting { fix, .. }, StepDone::Waited { .. }) => {
                let fix = fix.clone();
                self.run += 1;
                Phase::Bundling { fix }
            }
            (Phase::Inspecting, StepDone::Inspected { change }) => self.after_inspection(change),
            (Phase::Verifying, StepDone::Verified { check }) => self.after_verification(check),
            (Phase::Landing, StepDone::Landed { .. }) => Phase::Recording {
                verdict: self.landed_as(),
            },
            (Phase::Landing, StepDone::LandRefused { reason }) => Phase::Keeping {
                verdict: Verdict::Refused {
                    reason: reason.clone(),
                    halt: Halt::Loop,
                },
            },
            (Phase::Keeping { verdict }, StepDone::Kept { .. }) => Phase::Recording {
                verdict: verdict.clone(),
            },
            (Phase::Recording { verdict }, StepDone::Recorded) => Phase::Over {
                verdict: verdict.clone(),
            },
            (
                Phase::Bundling { .. }
                | Phase::Starting { .. }
                | Phase::Waiting { .. }
                | Phase::Inspecting
                | Phase::Verifying
                | Phase::Landing,
                StepDone::Interrupted,
            ) => Phase::Keeping {
                verdict: Verdict::Interrupted,
            },
            // Before an agent is started again: what is there already is kept.
            (
                Phase::Bundling { .. } | Phase::Waiting { .. },
                StepDone::OutOfBudget { spent_usd, max_usd },
            ) => Phase::Keeping {
                verdict: Verdict::Budget {
                    spent_usd: *spent_usd,
                    max_usd: *max_usd,
                },
            },
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

    /// What it comes to that a run hands over, if it does. One that ended by itself and says that the
    /// task is done, or asks a person, is judged by that.
    fn handed_over(&self, ended: &AgentEnded) -> Option<Verdict> {
        let asks_for_more = self.claimed || self.escalated;
        let trigger = match (&ended.report.ending, &ended.handoff) {
            (Ending::HandedOff { trigger }, _) => *trigger,
            (Ending::Finished, Some(handoff)) if !asks_for_more => handoff.trigger,
            (_, _) => return None,
        };
        match (self.policy.purpose, self.policy.handoffs) {
            // Nobody goes on with a diagnosis: what it found so far is what there is.
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
    fn after_run(&mut self, report: &AgentReport, fix: Option<Failure>) -> Phase {
        match &report.ending {
            Ending::Overloaded { message } if self.overloads < self.policy.max_overload_retries => {
                self.overloads += 1;
                let message = message.clone();
                Phase::Waiting { fix, message }
            }
            _ => {
                self.overloads = 0;
                after_agent(report)
            }
        }
    }

    fn after_inspection(&self, change: &Change) -> Phase {
        match self.policy.purpose {
            Purpose::Attempt => {}
            Purpose::Diagnosis => return after_diagnosis(change),
        }
        // An escalation ends the attempt whatever it changed: the answer may make it worthless.
        if self.escalated {
            return Phase::Keeping {
                verdict: Verdict::Escalated,
            };
        }
        if let Some(refusal) = &change.refusal {
            return Phase::Keeping {
                verdict: Verdict::Refused {
                    reason: refusal.reason.clone(),
                    halt: refusal.halt,
                },
            };
        }
        // A step towards a goal is a change; that it is reached may be found without one.
        let is_step = self.policy.lands == Lands::Each && !self.claimed;
        if change.files.is_empty() && (self.policy.expects_change || is_step) {
            return Phase::Keeping {
                verdict: Verdict::NoChange {
                    claimed: self.claimed,
                },
            };
        }
        Phase::Verifying
    }

    fn after_verification(&mut self, check: &Check) -> Phase {
        self.unverified = check.unverified;
        match &check.failure {
            None if self.claimed || self.policy.lands == Lands::Each => Phase::Landing,
            None => Phase::Keeping {
                verdict: Verdict::Unclaimed,
            },
            Some(failure) if self.repairs < self.policy.max_verify_retries => {
                self.run += 1;
                self.repairs += 1;
                Phase::Bundling {
                    fix: Some(failure.clone()),
                }
            }
            Some(failure) => Phase::Keeping {
                verdict: Verdict::Failed {
                    command: failure.command.clone(),
                    signature: failure.signature.clone(),
                },
            },
        }
    }
}

/// A diagnosis is neither verified nor landed; what halts a loop halts it all the same.
fn after_diagnosis(change: &Change) -> Phase {
    let verdict = match &change.refusal {
        Some(refusal) if refusal.halt == Halt::Loop => Verdict::Refused {
            reason: refusal.reason.clone(),
            halt: Halt::Loop,
        },
        Some(_) | None => Verdict::Diagnosed,
    };
    Phase::Keeping { verdict }
}

fn after_agent(report: &AgentReport) -> Phase {
    let verdict = match &report.ending {
        Ending::Finished => return Phase::Inspecting,
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
        Ending::OverBudget { spent_usd, max_usd } => Verdict::Budget {
            spent_usd: *spent_usd,
            max_usd: *max_usd,
        },
        // Of a diagnosis; any other is judged before.
        Ending::HandedOff { .. } => return Phase::Inspecting,
        Ending::Terminated { reason } => Verdict::Terminated {
            reason: reason.clone(),
        },
        Ending::Stopped => Verdict::Interrupted,
    };
    Phase::Keeping { verdict }
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
