//! A diagnosis: an iteration in which an agent finds out why a task goes round in circles, and changes
//! nothing.
//!
//! Data alone, as the journal keeps it with the task and with the iteration's record.

use serde::{Deserialize, Serialize};

use super::Gutter;
use crate::signal::{Escalation, EscalationKind};

/// Defines what is kept of a diagnosis at most, in characters.
pub const MOST_CHARS: usize = 12_000;

/// Describes what an agent found out. None of it is evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnosis {
    pub iteration: u64,
    /// Tells what made it necessary.
    pub gutter: Gutter,
    /// The agent's file, or the end of its final message.
    pub text: String,
    /// The question that it would ask, with its options.
    pub escalation: Option<Escalation>,
}

impl Diagnosis {
    /// The text within its bound: from a file that was written for it, else from the final message.
    pub fn text_of(file: Option<&str>, message: &str) -> String {
        let written = file.map(str::trim).filter(|text| !text.is_empty());
        let text = written.unwrap_or_else(|| message.trim());
        text.chars().take(MOST_CHARS).collect()
    }

    /// The question to a person: what fired, what was found out, and the options that the agent sees.
    pub fn escalation_about(&self, gutter: &Gutter) -> Escalation {
        let own = self.escalation.as_ref();
        let asks = own.map(|e| e.question.trim()).filter(|q| !q.is_empty());
        Escalation {
            kind: EscalationKind::Stuck,
            summary: gutter.sentence(),
            context: format!("Diagnosis of iteration {}:\n{}", self.iteration, self.text),
            options: own.map(|e| e.options.clone()).unwrap_or_default(),
            question: asks.map_or_else(|| gutter.question(), str::to_owned),
            raw: String::new(),
        }
    }
}

/// Describes what a task's history comes to for diagnoses.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GutterState {
    /// The task's next iteration is to find out why this happens.
    pub due: Option<Gutter>,
    pub made: Made,
    /// The last one, which the next attempts are told of.
    pub diagnosis: Option<Diagnosis>,
}

impl GutterState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same for a task that a person opened again: it is counted again, what was found out stays.
    pub fn opened(self) -> Self {
        Self {
            diagnosis: self.diagnosis,
            ..Self::default()
        }
    }
}

/// Tells whether a diagnosis was made since the task was opened: it gets one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Made {
    #[default]
    NotYet,
    Once,
}

/// Describes what the rules say of a task after its last attempt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GutterFindings {
    /// A limit is reached.
    pub reached: Option<Gutter>,
    /// One step before a limit.
    pub near: Option<Gutter>,
    pub made: Made,
}
