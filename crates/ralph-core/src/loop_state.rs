//! Where a loop stands, in the words that its users know, and which state may follow which.
//!
//! Only words and what follows from them: nothing here starts, stops or records anything.

mod reason;
mod status;

pub use reason::{Reached, Termination, TerminationReason};
pub use status::{IterationResult, LoopStatus, LoopStatusConfig, MOST_ERRORS, MOST_ITERATIONS};

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
        match stop {
            Stop::AllComplete
            | Stop::OnceDone {
                verdict: Verdict::Verified,
            } => Self::Completed,
            Stop::OnceDone { .. }
            | Stop::Iterations { .. }
            | Stop::Minutes { .. }
            | Stop::Budget { .. }
            | Stop::BudgetDenied(_)
            | Stop::UsageLimit { .. }
            | Stop::Aborted
            | Stop::Interrupted { .. } => Self::Terminated,
            Stop::Attempts { .. }
            | Stop::NothingReady
            | Stop::Question
            | Stop::Halted { .. }
            | Stop::Errors { .. }
            | Stop::NoProgress { .. }
            | Stop::CircuitBreakerOpen { .. }
            | Stop::HealthFailure { .. }
            | Stop::AgentUnavailable { .. }
            | Stop::Failed { .. } => Self::Failed,
        }
    }
}

#[cfg(test)]
mod tests;
