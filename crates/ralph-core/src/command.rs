//! Describes what a person tells a loop from another terminal, and what became of it.
//!
//! Plain data: the journal keeps it, the engine obeys. Nothing here changes a task or stops anything.

use serde::{Deserialize, Serialize};

use crate::{health::Choice, id::CheckpointId, task::TaskId};

/// One command to a loop, as the journal's queue holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "command",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Command {
    Pause {
        when: When,
    },
    Resume,
    /// Asks whether the loop still listens, for `ralph monitor`. Changes nothing.
    Ping,
    Retry {
        task: TaskId,
        feedback: Option<String>,
    },
    Skip {
        task: TaskId,
        reason: String,
    },
    Unblock {
        task: TaskId,
    },
    /// A person has done a task.
    Done {
        task: TaskId,
        note: Option<String>,
    },
    Revert {
        iteration: u64,
        others: Others,
        extent: Extent,
    },
    /// The branch goes back to the commit of a checkpoint, which is named by its whole id.
    Restore {
        checkpoint: CheckpointId,
        others: Others,
        extent: Extent,
    },
    Say {
        text: String,
        when: When,
    },
    Answer {
        /// The number of a question, or the task that it is about; `None`: the only one there is.
        of: Option<String>,
        answer: Answer,
        amend: Option<Amendment>,
    },
    /// Tells what becomes of the agent that works now.
    Intervene {
        choice: Choice,
    },
}

/// The moment at which a command is obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// Between two iterations.
    InTurn,
    /// While an agent runs.
    Now,
}

/// Describes what becomes of commits that are not ralph's where a branch goes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    Refuse,
    Drop,
}

/// Tells whether something is done, or only said what it would come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    Plan,
    All,
}

/// Describes what a person says to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// One of the ways that the agent offered, from 1.
    Option {
        number: u8,
    },
    Guidance {
        text: String,
    },
    Skip,
    Retry,
    /// The loop ends; the question stays open.
    Abort,
}

/// An acceptance criterion that a person puts another one in the place of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amendment {
    /// Which criterion, from 1; `None`: the only one there is.
    pub number: Option<usize>,
    pub text: String,
}

/// Describes what became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CommandReport {
    pub state: CommandState,
    /// Tells what was done, or why nothing was, without a full stop.
    pub sentence: String,
    pub hint: Option<String>,
    /// All there is to know of it, where a sentence is too little: what a revert took back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<serde_json::Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandState {
    Done,
    /// It can't be done, and nothing was changed.
    Refused,
}

impl CommandReport {
    pub fn done(sentence: impl Into<String>) -> Self {
        Self {
            state: CommandState::Done,
            sentence: sentence.into(),
            hint: None,
            detail: None,
        }
    }

    pub fn refused(sentence: impl Into<String>, hint: Option<String>) -> Self {
        Self {
            state: CommandState::Refused,
            sentence: sentence.into(),
            hint,
            detail: None,
        }
    }
}

impl Command {
    /// The word that a person types.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Ping => "ping",
            Self::Retry { .. } => "retry",
            Self::Skip { .. } => "skip",
            Self::Unblock { .. } => "unblock",
            Self::Done { .. } => "tasks done",
            Self::Revert { .. } => "revert",
            Self::Restore { .. } => "checkpoint restore",
            Self::Say { .. } => "say",
            Self::Answer { .. } => "answer",
            Self::Intervene { .. } => "intervene",
        }
    }

    /// Returns true if it can be obeyed while an agent works: it leaves the tasks and their files alone.
    pub fn leaves_tasks_alone(&self) -> bool {
        matches!(
            self,
            Self::Pause { .. }
                | Self::Resume
                | Self::Ping
                | Self::Say { .. }
                | Self::Intervene { .. }
        )
    }
}

/// The criteria with one of them replaced, and what stood there before.
pub fn amend(
    criteria: &[String],
    amendment: &Amendment,
) -> Result<(Vec<String>, String), CantAmend> {
    let at = match (amendment.number, criteria.len()) {
        (_, 0) => return Err(CantAmend::NoCriteria),
        (None, 1) => 0,
        (None, count) => return Err(CantAmend::WhichOne { count }),
        (Some(number), count) => match number.checked_sub(1).filter(|at| *at < count) {
            Some(at) => at,
            None => return Err(CantAmend::NoSuch { number, count }),
        },
    };
    let mut amended = criteria.to_vec();
    let before = std::mem::replace(&mut amended[at], amendment.text.clone());
    Ok((amended, before))
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CantAmend {
    #[error("the task has no acceptance criterion")]
    NoCriteria,
    #[error("the task has {count} acceptance criteria, and it is not said which one is amended")]
    WhichOne { count: usize },
    #[error("the task has no acceptance criterion {number}, only {count}")]
    NoSuch { number: usize, count: usize },
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).unwrap()
    }

    #[test]
    fn the_queue_holds_commands_in_a_form_that_does_not_change() {
        let table = [
            (
                Command::Pause { when: When::Now },
                json!({"command": "pause", "when": "now"}),
            ),
            (Command::Resume, json!({"command": "resume"})),
            (Command::Ping, json!({"command": "ping"})),
            (
                Command::Skip {
                    task: id("A"),
                    reason: "not now".into(),
                },
                json!({"command": "skip", "task": "A", "reason": "not now"}),
            ),
            (
                Command::Done {
                    task: id("HUMAN-A"),
                    note: Some("key bought".into()),
                },
                json!({"command": "done", "task": "HUMAN-A", "note": "key bought"}),
            ),
            (
                Command::Revert {
                    iteration: 7,
                    others: Others::Drop,
                    extent: Extent::All,
                },
                json!({"command": "revert", "iteration": 7, "others": "drop", "extent": "all"}),
            ),
            (
                Command::Restore {
                    checkpoint: "0190".into(),
                    others: Others::Refuse,
                    extent: Extent::Plan,
                },
                json!({"command": "restore", "checkpoint": "0190", "others": "refuse", "extent": "plan"}),
            ),
            (
                Command::Answer {
                    of: Some("3".into()),
                    answer: Answer::Option { number: 2 },
                    amend: Some(Amendment {
                        number: Some(1),
                        text: "v2 is used".into(),
                    }),
                },
                json!({
                    "command": "answer", "of": "3",
                    "answer": {"answer": "option", "number": 2},
                    "amend": {"number": 1, "text": "v2 is used"},
                }),
            ),
        ];
        for (command, written) in table {
            assert_eq!(serde_json::to_value(&command).unwrap(), written);
            let read: Command = serde_json::from_value(written).unwrap();
            assert_eq!(read, command);
        }
    }

    #[test]
    fn one_criterion_is_replaced_and_the_others_stay() {
        let criteria = ["one".to_owned(), "two".to_owned()];
        let amendment = |number, text: &str| Amendment {
            number,
            text: text.into(),
        };
        assert_eq!(
            amend(&criteria, &amendment(Some(2), "three")),
            Ok((vec!["one".into(), "three".into()], "two".into()))
        );
        assert_eq!(
            amend(&criteria[..1], &amendment(None, "three")),
            Ok((vec!["three".into()], "one".into()))
        );
    }

    #[test]
    fn a_criterion_that_is_not_there_or_not_named_is_not_amended() {
        let criteria = ["one".to_owned(), "two".to_owned()];
        let amended = |number, criteria: &[String]| {
            let amendment = Amendment {
                number,
                text: "x".into(),
            };
            amend(criteria, &amendment).map_err(|e| e.to_string())
        };
        let table = [
            (None, &criteria[..0], "the task has no acceptance criterion"),
            (
                None,
                &criteria[..],
                "the task has 2 acceptance criteria, and it is not said which one is amended",
            ),
            (
                Some(3),
                &criteria[..],
                "the task has no acceptance criterion 3, only 2",
            ),
            (
                Some(0),
                &criteria[..],
                "the task has no acceptance criterion 0, only 2",
            ),
        ];
        for (number, criteria, said) in table {
            assert_eq!(amended(number, criteria), Err(said.to_owned()));
        }
    }
}
