//! Why a run of an agent is over, and the one word for it.
//!
//! Says nothing of what the work is worth: that is a verdict.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{dollars::Dollars, economics::Budget, handoff::HandoffTrigger};

/// Why a run of an agent is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "how",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Ending {
    /// It ended well by its own account. What that is worth is found out next.
    Finished,
    /// It ended without a word on how it went.
    NoResult {
        message: String,
    },
    /// The agent failed.
    Error {
        message: String,
    },
    /// Its API refused what it asked: a bad request, a prompt that is too long.
    Api {
        message: String,
    },
    /// Its API will not serve it, no matter who asks: no credit, no such model.
    Rejected {
        message: String,
    },
    /// Too many requests, an overloaded or failing server, no network: it passes.
    Overloaded {
        message: String,
    },
    /// Not logged in, or with a key that does not fit.
    Auth {
        message: String,
    },
    /// It can't work at all: not installed.
    Unavailable {
        message: String,
    },
    /// A usage limit: not the agent's fault, and no attempt is charged.
    Limit {
        resets_at: Option<Timestamp>,
    },
    /// The agent's own limit of turns.
    MaxTurns {
        message: String,
    },
    /// The agent's own limit of cost.
    Budget {
        message: String,
    },
    /// The model refused to do it.
    Refused {
        message: String,
    },
    /// Someone ended it: a signal, or a request to stop that ralph did not make.
    Interrupted {
        message: String,
    },
    TimedOut {
        minutes: u64,
    },
    /// It said nothing for too long.
    Silent {
        minutes: u64,
    },
    /// ralph stopped it: what the run of the command may cost is used up.
    OverBudget {
        spent_usd: Dollars,
        max_usd: Dollars,
        /// The budget that it was, where it is not the limit of the command itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
    },
    /// It was asked to wrap up, and a fresh agent goes on.
    HandedOff {
        trigger: HandoffTrigger,
    },
    /// ralph ended it: it made no progress, and nothing else helped.
    Terminated {
        reason: String,
    },
    /// A person or a signal stopped it.
    Stopped,
}

impl Ending {
    /// The one word for it, as `ralph agent explain` prints it.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Finished => "completed",
            Self::NoResult { .. } => "no_result",
            Self::Error { .. } | Self::Unavailable { .. } => "agent_error",
            Self::Api { .. } | Self::Rejected { .. } => "api_error",
            Self::Overloaded { .. } => "overloaded",
            Self::Auth { .. } => "auth",
            Self::Limit { .. } => "usage_limit",
            Self::MaxTurns { .. } => "max_turns",
            Self::Budget { .. } | Self::OverBudget { .. } => "budget",
            Self::Refused { .. } => "refused",
            Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. }
            | Self::Terminated { .. }
            | Self::Stopped => "interrupted",
            Self::HandedOff { .. } => "handoff",
        }
    }

    /// Returns what the agent or its API said of it.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::NoResult { message }
            | Self::Error { message }
            | Self::Api { message }
            | Self::Rejected { message }
            | Self::Overloaded { message }
            | Self::Auth { message }
            | Self::Unavailable { message }
            | Self::MaxTurns { message }
            | Self::Budget { message }
            | Self::Refused { message }
            | Self::Interrupted { message }
            | Self::Terminated { reason: message } => Some(message),
            Self::Finished
            | Self::Limit { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. }
            | Self::OverBudget { .. }
            | Self::HandedOff { .. }
            | Self::Stopped => None,
        }
    }
}
