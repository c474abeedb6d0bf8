//! Where a loop stands, in the words that its users know, and which state may follow which.
//!
//! Only words and what follows from them: nothing here starts, stops or records anything.

mod status;

pub use status::{IterationResult, LoopStatus, LoopStatusConfig, MOST_ERRORS, MOST_ITERATIONS};

use std::time::Duration;

use crate::{termination::Stop, verdict::Verdict};

named! {
    pub enum LoopState {
        /// It is being set up: no iteration yet.
        Initializing = "initializing",
        Running = "running",
        /// A person let it rest.
        Paused = "paused",
        /// A fresh agent takes over from one that was asked to wrap up.
        Handoff = "handoff",
        /// Nothing is left to do but to write that down.
        Completing = "completing",
        /// Everything asked for is complete.
        Completed = "completed",
        /// It could not go on by itself.
        Failed = "failed",
        /// A limit or a person ended it.
        Terminated = "terminated",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a loop that is {} can't become {}", from.as_str(), to.as_str())]
pub struct IllegalTransition {
    pub from: LoopState,
    pub to: LoopState,
}

impl LoopState {
    /// Returns true if nothing follows.
    pub fn is_final(self) -> bool {
        self.followers().is_empty()
    }

    /// The next state, if it may follow this one.
    pub fn to(self, next: Self) -> Result<Self, IllegalTransition> {
        if self.followers().contains(&next) {
            return Ok(next);
        }
        Err(IllegalTransition {
            from: self,
            to: next,
        })
    }

    fn followers(self) -> &'static [Self] {
        match self {
            // A limit, or a task list without anything to do, can end it before its first iteration.
            Self::Initializing => &[
                Self::Running,
                Self::Completing,
                Self::Failed,
                Self::Terminated,
            ],
            Self::Running => &[
                Self::Paused,
                Self::Handoff,
                Self::Completing,
                Self::Failed,
                Self::Terminated,
            ],
            Self::Paused | Self::Handoff => &[Self::Running, Self::Failed, Self::Terminated],
            // What is written down at the end can fail; then it is not complete.
            Self::Completing => &[Self::Completed, Self::Failed, Self::Terminated],
            Self::Completed | Self::Failed | Self::Terminated => &[],
        }
    }

    /// The state that a loop ends in.
    pub fn after(stop: &Stop) -> Self {
        use TerminationReason as Reason;
        let is_verified =
            matches!(stop, Stop::OnceDone { verdict } if *verdict == Verdict::Verified);
        match TerminationReason::of(stop) {
            Reason::GoalAchieved => Self::Completed,
            Reason::MaxIterations if is_verified => Self::Completed,
            Reason::MaxIterations
            | Reason::MaxDuration
            | Reason::BudgetExhausted
            | Reason::UsageLimit
            | Reason::ExplicitStop => Self::Terminated,
            Reason::HealthFailure
            | Reason::ConsecutiveErrors
            | Reason::CircuitBreakerOpen
            | Reason::NoProgress
            | Reason::AttemptsExhausted
            | Reason::NothingReady
            | Reason::PersonNeeded
            | Reason::Halted
            | Reason::AgentUnavailable
            | Reason::InternalError => Self::Failed,
        }
    }
}

named! {
    pub enum TerminationReason {
        GoalAchieved = "goal_achieved",
        MaxIterations = "max_iterations",
        BudgetExhausted = "budget_exhausted",
        MaxDuration = "max_duration",
        HealthFailure = "health_failure",
        ConsecutiveErrors = "consecutive_errors",
        CircuitBreakerOpen = "circuit_breaker_open",
        ExplicitStop = "explicit_stop",
        NoProgress = "no_progress",
        /// A task is out of attempts, and that is to halt the loop.
        AttemptsExhausted = "attempts_exhausted",
        /// Work is left, and none of it can be taken.
        NothingReady = "nothing_ready",
        /// The tasks that are left wait for a person's answer.
        PersonNeeded = "person_needed",
        /// A person must look at something first.
        Halted = "halted",
        /// The agent's own limit, and no wait was allowed.
        UsageLimit = "usage_limit",
        /// It is not installed or not logged in.
        AgentUnavailable = "agent_unavailable",
        /// ralph itself could not go on.
        InternalError = "internal_error",
    }
}

/// The point up to which a loop had come when it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    pub iterations: u32,
    pub elapsed: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    pub reason: TerminationReason,
    pub details: String,
}

impl TerminationReason {
    pub fn of(stop: &Stop) -> Self {
        match stop {
            Stop::AllComplete => Self::GoalAchieved,
            // `--once` is a limit of one iteration.
            Stop::OnceDone { .. } | Stop::Iterations { .. } => Self::MaxIterations,
            Stop::Minutes { .. } => Self::MaxDuration,
            Stop::Budget { .. } | Stop::BudgetDenied(_) => Self::BudgetExhausted,
            Stop::Attempts { .. } => Self::AttemptsExhausted,
            Stop::NothingReady => Self::NothingReady,
            Stop::Question => Self::PersonNeeded,
            Stop::Aborted | Stop::Interrupted { .. } => Self::ExplicitStop,
            Stop::Halted { .. } => Self::Halted,
            Stop::Errors { .. } => Self::ConsecutiveErrors,
            Stop::NoProgress { .. } => Self::NoProgress,
            Stop::CircuitBreakerOpen { .. } => Self::CircuitBreakerOpen,
            Stop::HealthFailure { .. } => Self::HealthFailure,
            Stop::UsageLimit { .. } => Self::UsageLimit,
            Stop::AgentUnavailable { .. } => Self::AgentUnavailable,
            Stop::Failed { .. } => Self::InternalError,
        }
    }
}

impl Termination {
    pub fn of(stop: &Stop, reached: Reached) -> Self {
        let details = match stop {
            Stop::Iterations { max } => {
                format!("Iteration {} >= {max} max", reached.iterations)
            }
            Stop::OnceDone { .. } => format!("Iteration {} >= 1 max", reached.iterations.max(1)),
            Stop::Minutes { max } => {
                format!("{} min >= {max} max", reached.elapsed.as_secs() / 60)
            }
            Stop::Budget {
                spent_usd, max_usd, ..
            } => {
                format!("${:.2} >= ${:.2} budget", spent_usd.usd(), max_usd.usd())
            }
            Stop::Errors { count } => format!("{count} consecutive errors"),
            Stop::NoProgress { iterations } => {
                format!("No completed items after {iterations} iterations")
            }
            Stop::CircuitBreakerOpen { .. } => {
                "Too many failures — circuit breaker tripped".to_owned()
            }
            Stop::HealthFailure { state } => format!("Agent health state: {}", state.as_str()),
            Stop::AllComplete
            | Stop::BudgetDenied(_)
            | Stop::Attempts { .. }
            | Stop::NothingReady
            | Stop::Question
            | Stop::Aborted
            | Stop::Halted { .. }
            | Stop::UsageLimit { .. }
            | Stop::AgentUnavailable { .. }
            | Stop::Interrupted { .. }
            | Stop::Failed { .. } => stop.sentence(),
        };
        Self {
            reason: TerminationReason::of(stop),
            details,
        }
    }
}

#[cfg(test)]
mod tests;
