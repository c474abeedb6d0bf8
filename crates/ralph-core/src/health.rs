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

/// Says how well an agent does, in the words that users know.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HealthState {
    /// It makes progress.
    #[default]
    Healthy,
    /// Signs of trouble: slow, many errors, the same again and again.
    Degraded,
    /// No progress for too long.
    Stuck,
    /// Nothing but errors.
    Failing,
    /// It was ended for that.
    Terminated,
}

impl HealthState {
    pub const ALL: [Self; 5] = [
        Self::Healthy,
        Self::Degraded,
        Self::Stuck,
        Self::Failing,
        Self::Terminated,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Healthy => "healthy",
            Self::Degraded => "degraded",
            Self::Stuck => "stuck",
            Self::Failing => "failing",
            Self::Terminated => "terminated",
        }
    }
}

/// The limit of what ralph does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterventionLevel {
    /// The agent is reminded.
    Nudge,
    /// A person is asked.
    Escalate,
    /// The agent is ended.
    Terminate,
}

impl InterventionLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Nudge => "nudge",
            Self::Escalate => "escalate",
            Self::Terminate => "terminate",
        }
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
