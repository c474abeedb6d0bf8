//! Describes what counts as sick, and how long each step of the ladder takes.
//!
//! Only figures; what follows from them is the machine's.

use std::time::Duration;

/// When an agent is sick, and how patient ralph is with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HealthPolicy {
    pub watching: Watching,
    /// Without progress for so long, it is stuck.
    pub stuck_after: Duration,
    /// Between one reminder and the next, and between the last one and the question to a person.
    pub nudge_wait: Duration,
    pub max_nudges: u32,
    /// The time that a person has to answer before the agent is ended.
    pub escalation_wait: Duration,
    /// So many of a hundred steps that failed are a sign of trouble…
    pub degraded_error_percent: u32,
    /// …once there are so many steps.
    pub degraded_steps: u32,
    /// So many steps with nothing but errors: it fails.
    pub failing_steps: u32,
    /// The same tool call with the same result, so often without progress: a sign of trouble.
    pub degraded_repeats: u32,
    /// So often: it is stuck.
    pub stuck_repeats: u32,
}

/// Tells whether ralph acts by itself. A person's choice is obeyed either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watching {
    Yes,
    No,
}
