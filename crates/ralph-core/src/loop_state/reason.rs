//! Why a loop ended, in the words that its users know.
//!
//! A pure mapping from `Stop`. Decides nothing: which rule speaks first is `termination::decide`'s.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::termination::Stop;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminationReason {
    GoalAchieved,
    MaxIterations,
    BudgetExhausted,
    MaxDuration,
    HealthFailure,
    ConsecutiveErrors,
    CircuitBreakerOpen,
    ExplicitStop,
    NoProgress,
    /// A task is out of attempts, and that is to halt the loop.
    AttemptsExhausted,
    /// Work is left, and none of it can be taken.
    NothingReady,
    /// The tasks that are left wait for a person's answer.
    PersonNeeded,
    /// A person must look at something first.
    Halted,
    /// The agent's own limit, and no wait was allowed.
    UsageLimit,
    /// It is not installed or not logged in.
    AgentUnavailable,
    /// ralph itself could not go on.
    InternalError,
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
    pub fn as_str(self) -> &'static str {
        match self {
            Self::GoalAchieved => "goal_achieved",
            Self::MaxIterations => "max_iterations",
            Self::BudgetExhausted => "budget_exhausted",
            Self::MaxDuration => "max_duration",
            Self::HealthFailure => "health_failure",
            Self::ConsecutiveErrors => "consecutive_errors",
            Self::CircuitBreakerOpen => "circuit_breaker_open",
            Self::ExplicitStop => "explicit_stop",
            Self::NoProgress => "no_progress",
            Self::AttemptsExhausted => "attempts_exhausted",
            Self::NothingReady => "nothing_ready",
            Self::PersonNeeded => "person_needed",
            Self::Halted => "halted",
            Self::UsageLimit => "usage_limit",
            Self::AgentUnavailable => "agent_unavailable",
            Self::InternalError => "internal_error",
        }
    }

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
