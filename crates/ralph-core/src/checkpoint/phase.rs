//! The phase that the work at a task is in: what ralph found first, then what the agent said, then
//! what follows from the traces of the iteration.
//!
//! An agent's word alone never makes a task complete.

use crate::{record::IterationRecord, verdict::Verdict};

named! {
    pub enum ExecutionPhase {
        Planning = "planning",
        Implementing = "implementing",
        Testing = "testing",
        Reviewing = "reviewing",
        Handoff = "handoff",
        Complete = "complete",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no phase")]
pub struct UnknownPhase(pub String);

impl std::str::FromStr for ExecutionPhase {
    type Err = UnknownPhase;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim();
        let known = Self::ALL.into_iter();
        let mut known = known.filter(|phase| word.eq_ignore_ascii_case(phase.as_str()));
        known.next().ok_or_else(|| UnknownPhase(word.to_owned()))
    }
}

/// Describes what the traces of an iteration show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Its task is verified.
    Verified,
    /// The verification commands were run.
    Checked,
    /// Files were changed, and nothing was checked.
    Changed,
    Nothing,
}

impl Found {
    pub fn in_record(record: &IterationRecord) -> Self {
        match (&record.verdict, &record.verification[..]) {
            (Verdict::Verified, _) => Self::Verified,
            (_, [_, ..]) => Self::Checked,
            // What an agent left that was cut off is kept, and no one has looked at it.
            (_, []) if record.git.kept_ref.is_some() => Self::Changed,
            (_, []) if !record.git.files_changed.is_empty() => Self::Changed,
            (_, []) => Self::Nothing,
        }
    }
}

/// The phase at the end of an agent's work. `told` and `handoff` are from its closing block.
pub fn phase(found: Found, told: Option<&str>, handoff: Option<&str>) -> ExecutionPhase {
    let told = told.and_then(|told| told.parse().ok());
    match (found, handoff, told) {
        (Found::Verified, _, _) => ExecutionPhase::Complete,
        (_, Some(_), _) => ExecutionPhase::Handoff,
        // The agent thinks that it is done, and ralph did not find it so: someone has to look.
        (_, None, Some(ExecutionPhase::Complete)) => ExecutionPhase::Reviewing,
        (_, None, Some(told)) => told,
        (Found::Checked, None, None) => ExecutionPhase::Testing,
        (Found::Changed, None, None) => ExecutionPhase::Implementing,
        (Found::Nothing, None, None) => ExecutionPhase::Planning,
    }
}
