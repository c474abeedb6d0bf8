//! Describes what the journal remembers of one task, and what is left of it when a person steps in.

use serde::{Deserialize, Serialize};

use crate::gutter::GutterState;
use crate::handoff::HandoffState;
use crate::id::QuestionId;
use crate::iteration::Failure;
use crate::signal::Escalation;
use crate::task::Task;

/// The history of a task, as far as the next attempt needs it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TaskHistory {
    /// Charged attempts since it was opened.
    pub attempts: u32,
    pub last_signature: Option<String>,
    /// The number of times in a row that signature came.
    pub same_failure: u32,
    /// The work of the last attempt, and whether the next one starts from it.
    pub kept_ref: Option<String>,
    pub goes_on: bool,
    /// Tells what the last attempt did wrong, for the next one.
    pub feedback: Option<Failure>,
    pub last_verdict: Option<String>,
    /// A person has to answer first.
    pub question: Option<String>,
    pub escalation: Option<Escalation>,
    /// The number of that question.
    pub asked: Option<QuestionId>,
    /// Tells what the task said when it was asked: a person who changes it has answered.
    pub asked_of: Option<String>,
    /// Out of attempts, and why.
    pub blocked: Option<String>,
    /// A person skipped it, and why.
    pub skipped: Option<String>,
    /// Steps towards it that landed, where it is a goal.
    #[serde(skip_serializing_if = "is_none")]
    pub progress: u32,
    #[serde(skip_serializing_if = "GutterState::is_empty")]
    pub gutter: GutterState,
    #[serde(skip_serializing_if = "HandoffState::is_empty")]
    pub handoff: HandoffState,
}

fn is_none(count: &u32) -> bool {
    *count == 0
}

impl TaskHistory {
    /// The history after a person opened a blocked task again: it starts again, with its work.
    pub(super) fn reopened(&self) -> Self {
        Self {
            kept_ref: self.kept_ref.clone(),
            goes_on: self.goes_on,
            gutter: self.gutter.clone().opened(),
            ..Self::default()
        }
    }

    /// The history after a person changed a task that a question was open about: the change is the
    /// answer.
    pub(super) fn answered_by_edit(&self) -> Self {
        Self {
            feedback: self.feedback.clone(),
            last_verdict: self.last_verdict.clone(),
            ..self.reopened()
        }
    }
}

/// A short hash of what a task says to its reader: a person who changes the task changes this.
pub fn wording(task: &Task) -> String {
    use sha2::Digest as _;
    let text = serde_json::to_string(&task.text).unwrap_or_default();
    let hash = sha2::Sha256::digest(text.as_bytes());
    hash[..8].iter().map(|b| format!("{b:02x}")).collect()
}
