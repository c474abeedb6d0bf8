//! Describes what may differ from one iteration to the next: what it is for, what lands, how often what is tried.
//!
//! Data alone. Its serialised form is the journal's.

use serde::{Deserialize, Serialize};

/// Describes what may differ from one iteration to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationPolicy {
    /// Fresh runs after a failed verification, within the iteration.
    pub max_verify_retries: u32,
    /// Fresh runs in a row after the agent's API was overloaded, each behind a wait.
    pub max_overload_retries: u32,
    /// False for a task that is right to end without a change.
    pub expects_change: bool,
    #[serde(default)]
    pub purpose: Purpose,
    #[serde(default)]
    pub lands: Lands,
    #[serde(default)]
    pub handoffs: Handoffs,
}

/// Tells whether the task may be handed over once more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Handoffs {
    #[default]
    Allowed,
    /// It was so often in a row already: one more is a failure.
    UsedUp { in_a_row: u32 },
}

/// Which of the changes that pass are landed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lands {
    /// Only one whose agent says that the task is done: what lands is a task.
    #[default]
    Claimed,
    /// Every one: a goal is reached step by step.
    Each,
}

impl Lands {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Describes what an iteration is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// To do its task.
    #[default]
    Attempt,
    /// To find out why the task goes round in circles. Whatever it changes is put aside.
    Diagnosis,
}

impl Purpose {
    pub fn word(self) -> &'static str {
        match self {
            Self::Attempt => "attempt",
            Self::Diagnosis => "diagnosis",
        }
    }
}
