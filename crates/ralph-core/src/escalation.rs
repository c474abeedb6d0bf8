//! Questions to a person: which one an answer is for, and what an answer tells the next agent.
//!
//! Pure. Who asks, how it is shown and where it is kept is the engine's; the block that an agent
//! writes is read in `signal`.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{command::Answer, id::QuestionId, signal::Escalation, task::TaskId};

/// A question as the journal keeps it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// Counts up in the journal and is never used again.
    pub id: QuestionId,
    pub task_id: TaskId,
    /// The number of the iteration that it came from.
    pub iteration: u64,
    pub asked_by: AskedBy,
    pub asked_at: Timestamp,
    /// In one sentence.
    pub question: String,
    /// The agent's own words; `None` where ralph asks.
    pub escalation: Option<Escalation>,
    pub answer: Option<Answered>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskedBy {
    Agent,
    /// The work goes round in circles.
    Ralph,
}

/// Describes what a person said to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    #[serde(flatten)]
    pub how: AnswerKind,
    pub by: String,
    pub at: Timestamp,
    /// Tells what the next agent is told; `None` where it is told nothing.
    pub told: Option<String>,
    /// The criterion that was amended, as it was and as it is.
    pub amended: Option<Amended>,
}

/// The way a question came to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum AnswerKind {
    Option {
        number: u8,
    },
    Guidance,
    Skip,
    Retry,
    /// A person has done the task.
    Done,
    /// The task says something else now.
    Edited,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Amended {
    pub before: String,
    pub after: String,
}

/// Why there is no question to answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoQuestion {
    #[error("no question is open: there is nothing to answer")]
    NoneOpen,
    #[error("{} questions are open, and it is not said which one is answered: {}", open.len(), open.join(", "))]
    Which { open: Vec<String> },
    #[error("question {named} is answered already ({how})")]
    Answered { named: String, how: String },
    #[error("there is no question {named}{}", list(open))]
    Unknown { named: String, open: Vec<String> },
    #[error("question {id} has no option {number}, {}", offered(*options))]
    NoOption {
        id: QuestionId,
        number: u8,
        options: usize,
    },
}

fn list(open: &[String]) -> String {
    match open {
        [] => ": no question is open".to_owned(),
        open => format!("; open: {}", open.join(", ")),
    }
}

fn offered(options: usize) -> String {
    match options {
        0 => "it has none at all".to_owned(),
        1 => "only 1".to_owned(),
        n => format!("only 1 to {n}"),
    }
}

/// The open question that is meant. `all` may hold answered ones, to say so of them.
pub fn find<'a>(all: &'a [Question], named: Option<&str>) -> Result<&'a Question, NoQuestion> {
    let open: Vec<&Question> = all.iter().filter(|q| q.answer.is_none()).collect();
    let names = || {
        let names = open.iter().map(|q| format!("{} ({})", q.id, q.task_id));
        names.collect::<Vec<_>>()
    };
    let Some(named) = named else {
        return match open.as_slice() {
            [] => Err(NoQuestion::NoneOpen),
            [one] => Ok(one),
            _ => Err(NoQuestion::Which { open: names() }),
        };
    };
    let is_meant = |q: &Question| q.id.to_string() == named || q.task_id.as_str() == named;
    // A number is the question's own before it is a task's.
    let by_number = open.iter().find(|q| q.id.to_string() == named);
    if let Some(found) = by_number.or_else(|| open.iter().find(|q| is_meant(q))) {
        return Ok(found);
    }
    let answered = all.iter().rev().find(|q| is_meant(q));
    match answered.and_then(|q| q.answer.as_ref()) {
        Some(answered) => Err(NoQuestion::Answered {
            named: named.to_owned(),
            how: format!("{} by {}", answered.how.word(), answered.by),
        }),
        None => Err(NoQuestion::Unknown {
            named: named.to_owned(),
            open: names(),
        }),
    }
}

impl AnswerKind {
    pub fn word(&self) -> String {
        match self {
            Self::Option { number } => format!("option {number}"),
            Self::Guidance => "guidance".into(),
            Self::Skip => "skip".into(),
            Self::Retry => "retry".into(),
            Self::Done => "the task was done by a person".into(),
            Self::Edited => "the task was edited".into(),
        }
    }
}

impl Question {
    /// The ways that are offered, in the order of their numbers.
    pub fn options(&self) -> &[String] {
        self.escalation.as_ref().map_or(&[], |e| &e.options)
    }

    /// Returns what an answer tells the next agent, besides what it does to the task.
    pub fn told(&self, answer: &Answer) -> Result<Option<String>, NoQuestion> {
        Ok(match answer {
            Answer::Option { number } => {
                let at = usize::from(*number).checked_sub(1);
                let Some(text) = at.and_then(|at| self.options().get(at)) else {
                    return Err(NoQuestion::NoOption {
                        id: self.id,
                        number: *number,
                        options: self.options().len(),
                    });
                };
                let asked = self.in_short();
                Some(format!(
                    "Asked: {asked}\nProceed with option {number}: {text}"
                ))
            }
            Answer::Guidance { text } => Some(format!("Asked: {}\n{text}", self.in_short())),
            Answer::Skip | Answer::Retry | Answer::Abort => None,
        })
    }

    /// Returns what was asked, in the words that were used for it.
    pub fn in_short(&self) -> &str {
        let own = self.escalation.as_ref();
        let words = own.map(|e| [e.question.trim(), e.summary.trim()]);
        let words = words.and_then(|words| words.into_iter().find(|text| !text.is_empty()));
        words.unwrap_or(&self.question)
    }
}

#[cfg(test)]
mod tests;
