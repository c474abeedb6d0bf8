//! The occasions, and which events are one.
//!
//! Looks at an event alone. What needs a memory (the budget, a question told twice) is `watch`.

use std::str::FromStr;

use schemars::JsonSchema;

use crate::{
    event::{Event, WaitReason},
    health::InterventionLevel,
    termination::Stop,
    verdict::Verdict,
};

named! {
    /// An event that a person may want to be notified of.
    #[derive(JsonSchema)]
    pub enum Occasion {
        Escalation = "escalation",
        Complete = "complete",
        Halt = "halt",
        Limit = "limit",
        BudgetAlert = "budget_alert",
    }
}

impl FromStr for Occasion {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::from_word(word).ok_or_else(|| {
            let words = Self::WORDS.join(", ");
            format!("unknown occasion {word:?} (one of: {words})")
        })
    }
}

/// Which occasion an event is, if any. What the budget makes of it is not seen here.
pub fn occasion(event: &Event) -> Option<Occasion> {
    match event {
        Event::Question { .. }
        | Event::Intervention {
            level: InterventionLevel::Escalate,
            ..
        } => Some(Occasion::Escalation),
        // A wait is told of again and again; a person needs to hear of it once.
        Event::Waiting {
            reason: WaitReason::UsageLimit,
            nth: 1,
            ..
        } => Some(Occasion::Limit),
        Event::LoopEnded { stop, .. } => of_stop(stop),
        Event::LoopStarted { .. }
        | Event::Notice { .. }
        | Event::Warning { .. }
        | Event::BaselineStarted { .. }
        | Event::BaselineEnded { .. }
        | Event::IterationStarted { .. }
        | Event::RunStarted { .. }
        | Event::Agent(_)
        | Event::Inspected { .. }
        | Event::VerifyStarted { .. }
        | Event::VerifyEnded { .. }
        | Event::Landed { .. }
        | Event::IterationEnded { .. }
        | Event::Waiting { .. }
        | Event::TaskBlocked { .. }
        | Event::Gutter { .. }
        | Event::Diagnosis { .. }
        | Event::HandoffAsked { .. }
        | Event::Health { .. }
        | Event::Intervention { .. }
        | Event::Breaker { .. }
        | Event::Commanded { .. } => None,
    }
}

fn of_stop(stop: &Stop) -> Option<Occasion> {
    match stop {
        Stop::AllComplete => Some(Occasion::Complete),
        Stop::OnceDone { verdict } => Some(of_only_iteration(verdict)),
        // A budget that is spent is a limit that was set, as those of iterations and minutes are.
        Stop::Iterations { .. }
        | Stop::Minutes { .. }
        | Stop::Budget { .. }
        | Stop::BudgetDenied(_)
        | Stop::UsageLimit { .. } => Some(Occasion::Limit),
        Stop::Attempts { .. }
        | Stop::NothingReady
        | Stop::Question
        | Stop::Halted { .. }
        | Stop::Errors { .. }
        | Stop::NoProgress { .. }
        | Stop::CircuitBreakerOpen { .. }
        | Stop::HealthFailure { .. }
        | Stop::AgentUnavailable { .. }
        | Stop::Failed { .. } => Some(Occasion::Halt),
        // The person who ended it knows.
        Stop::Aborted | Stop::Interrupted { .. } => None,
    }
}

/// `--once`: what was asked for is done, a limit was met, or a person has to look.
fn of_only_iteration(verdict: &Verdict) -> Occasion {
    match verdict {
        Verdict::Verified | Verdict::Progress => Occasion::Complete,
        Verdict::LimitHit { .. } | Verdict::Budget { .. } => Occasion::Limit,
        Verdict::Unclaimed
        | Verdict::Failed { .. }
        | Verdict::NoChange { .. }
        | Verdict::Refused { .. }
        | Verdict::Escalated
        | Verdict::Diagnosed
        | Verdict::Interrupted
        | Verdict::Handoff { .. }
        | Verdict::TimedOut { .. }
        | Verdict::Terminated { .. }
        | Verdict::Overloaded { .. }
        | Verdict::AgentError { .. }
        | Verdict::AgentUnavailable { .. } => Occasion::Halt,
    }
}
