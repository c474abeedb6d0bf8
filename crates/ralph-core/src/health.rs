//! Describes how well an agent does, and what is done about one that does not.
//!
//! Only decides, by a clock that it is given. Reminding an agent, asking a person and ending a process
//! are the engine's.

mod call;
mod ladder;
mod machine;
mod policy;
mod report;
mod words;

pub use machine::{Health, Reaction, Sign};
pub use policy::{HealthPolicy, Watching};
pub use report::HealthReport;
pub use words::{REMINDER, for_people};

use serde::{Deserialize, Serialize};

named! {
    /// Says how well an agent does, in the words that users know.
    #[derive(Default)]
    pub enum HealthState {
        /// It makes progress.
        #[default]
        Healthy = "healthy",
        /// Signs of trouble: slow, many errors, the same again and again.
        Degraded = "degraded",
        /// No progress for too long.
        Stuck = "stuck",
        /// Nothing but errors.
        Failing = "failing",
        /// It was ended for that.
        Terminated = "terminated",
    }
}

named! {
    /// The limit of what ralph does by itself.
    pub enum InterventionLevel {
        /// The agent is reminded.
        Nudge = "nudge",
        /// A person is asked.
        Escalate = "escalate",
        /// The agent is ended.
        Terminate = "terminate",
    }
}

/// Describes what a person decides about an agent that makes no progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    MoreTime,
    /// It hands over to a fresh agent.
    Handoff,
    Terminate,
}

impl Choice {
    pub const ALL: [Self; 3] = [Self::MoreTime, Self::Handoff, Self::Terminate];

    /// The word that a person types.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MoreTime => "more-time",
            Self::Handoff => "handoff",
            Self::Terminate => "terminate",
        }
    }
}

#[cfg(test)]
mod tests;
