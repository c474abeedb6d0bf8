//! Decides whether the work on a task goes round in circles: the same failure again, the same files changed
//! again without anything getting better, or a change that goes back and forth.
//!
//! Pure: looks at what is kept of the last attempts, and says which rule fires. What follows is decided
//! in `termination`; nothing here reads git or the journal.

mod churn;
mod diagnosis;
mod oscillation;
mod trace;

pub use diagnosis::{Diagnosis, GutterFindings, GutterState, MOST_CHARS, Made};
pub use trace::{HunkHash, Trace, trace_of_diff};

use serde::{Deserialize, Serialize};

use crate::{
    record::{IterationRecord, VerificationRecord},
    verdict::Verdict,
};

/// The number of attempts to look at, at least: what fires has to be seen as a whole.
const WINDOW: usize = 10;
/// And at most, whatever the limits are set to.
const MOST_ATTEMPTS: usize = 100;

/// Describes what is allowed before a rule fires; `None` for a rule that can't.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GutterLimits {
    /// Attempts in a row whose verification failed in the same way.
    pub same_failure: Option<u32>,
    /// Attempts in a row that changed again what the one before had changed, and were no better.
    pub churn: Option<u32>,
    /// Attempts in a row that went back to where the work had been.
    pub oscillations: Option<u32>,
}

impl GutterLimits {
    /// One step before these: where a diagnosis still comes in time. A first failure is no circle yet.
    pub fn one_before(&self) -> Self {
        let before = |limit: Option<u32>, least: u32| {
            let limit = limit?.checked_sub(1)?;
            (limit >= least).then_some(limit)
        };
        Self {
            same_failure: before(self.same_failure, 2),
            churn: before(self.churn, 1),
            oscillations: before(self.oscillations, 1),
        }
    }

    /// Returns how many of a task's attempts have to be known.
    pub fn window(&self) -> usize {
        let most = self.churn.max(self.oscillations).unwrap_or(0);
        let most = usize::try_from(most).unwrap_or(MOST_ATTEMPTS);
        most.saturating_add(2).clamp(WINDOW, MOST_ATTEMPTS)
    }
}

/// A rule that fired, with its figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "rule",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Gutter {
    SameFailure {
        command: String,
        signature: String,
        count: u32,
    },
    /// `attempts` in a row changed all of `files`, and the later ones were no better than the first.
    Churn { files: Vec<String>, attempts: u32 },
    /// The work went back `count` times in a row to where it had been; `trees` are the two states.
    Oscillation {
        count: u32,
        attempts: u32,
        trees: [String; 2],
    },
}

/// Files that a sentence names.
const FILES_NAMED: usize = 3;

impl Gutter {
    /// Returns what fired, with the figures, in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::SameFailure { command, count, .. } => {
                format!("`{command}` failed the same way {count} times in a row")
            }
            Self::Churn { files, attempts } => {
                let named: Vec<&str> = files.iter().take(FILES_NAMED).map(String::as_str).collect();
                let more = match files.len().saturating_sub(FILES_NAMED) {
                    0 => String::new(),
                    n => format!(" and {n} more"),
                };
                format!(
                    "{attempts} attempts in a row changed {}{more}, and nothing got better",
                    named.join(", ")
                )
            }
            Self::Oscillation {
                count, attempts, ..
            } => {
                let times = match count {
                    1 => "once".to_owned(),
                    n => format!("{n} times"),
                };
                format!(
                    "the last {attempts} attempts go back and forth: what one changed, the next undid, {times}"
                )
            }
        }
    }

    /// Returns what a person is asked.
    pub fn question(&self) -> String {
        format!("{}: how to proceed?", self.sentence())
    }

    /// The key whose limit it is.
    pub fn key(&self) -> &'static str {
        match self {
            Self::SameFailure { .. } => "loop.gutter.max_same_failure",
            Self::Churn { .. } => "loop.gutter.max_churn_commits",
            Self::Oscillation { .. } => "loop.gutter.max_oscillations",
        }
    }
}

/// The failures in a row of the task's verification in one way; counted by the journal, which forgets
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeated<'a> {
    pub command: &'a str,
    pub signature: &'a str,
    pub count: u32,
}

/// One attempt, as far as the rules go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    pub state: AttemptState,
    pub trace: Option<Trace>,
}

/// The way an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptState {
    /// Its verification failed.
    Failed(Failing),
    /// It was charged for something else, so a row ends here.
    Other,
    /// A stop, a usage limit, a diagnosis: it says nothing of the work.
    Nothing,
}

/// Describes what failed of the verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failing {
    pub commands: usize,
    /// Which command was the first to fail, from 0.
    pub first: usize,
    /// The number of tests that failed in that one, where its output says so.
    pub tests: Option<u64>,
}

impl Failing {
    /// Fewer commands fail, or the first that fails comes later, or fewer tests fail in it.
    fn is_better_than(&self, other: &Self) -> bool {
        if self.commands != other.commands {
            return self.commands < other.commands;
        }
        if self.first != other.first {
            return self.first > other.first;
        }
        matches!((self.tests, other.tests), (Some(a), Some(b)) if a < b)
    }
}

impl Attempt {
    pub fn of(record: &IterationRecord) -> Self {
        let state = match &record.verdict {
            Verdict::Failed { .. } => {
                let last = record.verification.iter().map(|v| v.run).max();
                let run = record.verification.iter().filter(|v| Some(v.run) == last);
                AttemptState::Failed(failing(&run.collect::<Vec<_>>()))
            }
            // A diagnosis is no attempt, however it ended.
            _ if record.diagnoses.is_some() => AttemptState::Nothing,
            verdict if verdict.is_charged() => AttemptState::Other,
            _ => AttemptState::Nothing,
        };
        Self {
            state,
            trace: record.trace.clone(),
        }
    }

    fn failing(&self) -> Option<&Failing> {
        match &self.state {
            AttemptState::Failed(failing) => Some(failing),
            AttemptState::Other | AttemptState::Nothing => None,
        }
    }
}

fn failing(run: &[&VerificationRecord]) -> Failing {
    let first = run.iter().position(|v| !v.passed);
    Failing {
        commands: run.iter().filter(|v| !v.passed).count(),
        first: first.unwrap_or(run.len()),
        tests: first.and_then(|first| churn::failing_tests(&run[first].tail)),
    }
}

/// The rule that fires at these limits: the most telling one if there are several. `attempts` are the
/// task's own since it was opened, oldest first; the last one has just failed.
pub fn evaluate(
    repeated: Option<Repeated<'_>>,
    attempts: &[Attempt],
    limits: &GutterLimits,
) -> Option<Gutter> {
    let row = row(attempts);
    same_failure(repeated, limits)
        .or_else(|| oscillation::evaluate(&row, limits.oscillations?))
        .or_else(|| churn::evaluate(&row, limits.churn?))
}

fn same_failure(repeated: Option<Repeated<'_>>, limits: &GutterLimits) -> Option<Gutter> {
    let (repeated, limit) = (repeated?, limits.same_failure?);
    (repeated.count >= limit).then(|| Gutter::SameFailure {
        command: repeated.command.to_owned(),
        signature: repeated.signature.to_owned(),
        count: repeated.count,
    })
}

/// The failed attempts in a row that end with the last one; what says nothing of the work is left out.
fn row(attempts: &[Attempt]) -> Vec<&Attempt> {
    let mut row: Vec<&Attempt> = attempts
        .iter()
        .rev()
        .filter(|a| a.state != AttemptState::Nothing)
        .take_while(|a| a.failing().is_some())
        .collect();
    row.reverse();
    row
}

#[cfg(test)]
mod tests;
