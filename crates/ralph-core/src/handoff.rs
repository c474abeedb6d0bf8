//! Handing over: why an agent is asked to wrap up, so that a fresh one goes on where it stopped.
//!
//! Only decides. Asking the agent, stopping it and keeping its work are the engine's.

use serde::{Deserialize, Serialize};

/// Why an agent hands over, in the words that users know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandoffTrigger {
    /// Its context is nearly full.
    ContextThreshold,
    /// A phase of the work is over.
    PhaseComplete,
    /// Too many of its steps in a row failed.
    ErrorThreshold,
    /// It, or a person, asked for it.
    ExplicitRequest,
    /// The budget is nearly used up.
    TokenBudget,
    /// Its time is nearly over.
    Timeout,
}

impl HandoffTrigger {
    pub const ALL: [Self; 6] = [
        Self::ContextThreshold,
        Self::PhaseComplete,
        Self::ErrorThreshold,
        Self::ExplicitRequest,
        Self::TokenBudget,
        Self::Timeout,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ContextThreshold => "context_threshold",
            Self::PhaseComplete => "phase_complete",
            Self::ErrorThreshold => "error_threshold",
            Self::ExplicitRequest => "explicit_request",
            Self::TokenBudget => "token_budget",
            Self::Timeout => "timeout",
        }
    }

    /// For a person, as the end of "handed over: …".
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ContextThreshold => "its context was nearly full",
            Self::PhaseComplete => "a phase of the work is over",
            Self::ErrorThreshold => "too many of its steps in a row failed",
            Self::ExplicitRequest => "it was asked for",
            Self::TokenBudget => "the budget is nearly used up",
            Self::Timeout => "its time was nearly over",
        }
    }
}
