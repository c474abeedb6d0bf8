//! Notifications for a person who is away: a question, the end, a halt, a limit, the budget.
//!
//! Says which events of a loop are an occasion, and makes the message. Sends nothing; what must not
//! leave the machine is taken out by [`Redaction`] before anything is sent.

mod occasion;
mod redaction;
#[cfg(test)]
mod tests;
mod watch;

pub use occasion::{Occasion, occasion};
pub use redaction::Redaction;
pub use watch::{BudgetAlert, NotificationWatch};

use jiff::Timestamp;
use serde::Serialize;

use crate::{id::LoopId, sanitize::one_line};

/// Longest title and longest text, in columns: a message is read at a glance.
const TITLE_COLUMNS: usize = 120;
const TEXT_COLUMNS: usize = 1000;

/// One message. The JSON form is a contract (docs/notify.md): fields are added, never renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Notification {
    pub event: Occasion,
    pub title: String,
    /// One sentence.
    pub text: String,
    /// A hint for the person.
    pub hint: Option<String>,
    pub task: Option<String>,
    pub loop_id: LoopId,
    /// The task file, or the folder of them.
    pub source: String,
    pub branch: String,
    /// The exit code of `ralph run`, if it has ended.
    pub exit_code: Option<u8>,
    pub at: Timestamp,
}

impl Notification {
    /// The message as it may be sent: without secrets, each text on one line and cut.
    #[must_use]
    pub fn fit_to_send(self, redaction: &Redaction) -> Self {
        // Secrets go first: one that was cut in two would no longer be known.
        let fit = |text: &str, columns| one_line(&redaction.hide(text), columns);
        Self {
            title: fit(&self.title, TITLE_COLUMNS),
            text: fit(&self.text, TEXT_COLUMNS),
            hint: self.hint.map(|hint| fit(&hint, TEXT_COLUMNS)),
            task: self.task.map(|task| fit(&task, TITLE_COLUMNS)),
            source: fit(&self.source, TEXT_COLUMNS),
            branch: fit(&self.branch, TEXT_COLUMNS),
            ..self
        }
    }

    /// The sample that `ralph notify test` sends.
    pub fn sample(event: Occasion, project: &str, at: Timestamp) -> Self {
        Self {
            event,
            title: format!("ralph in {project}: a test"),
            text: format!("this is what a message about {event} looks like"),
            hint: Some("nothing is to be done: `ralph notify test` sent it".into()),
            task: None,
            loop_id: LoopId::default(),
            source: String::new(),
            branch: String::new(),
            exit_code: None,
            at,
        }
    }
}
