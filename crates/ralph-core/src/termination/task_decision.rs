//! Describes what becomes of the task that was worked on: a question, circles, then attempts.
//!
//! Says nothing of the loop.

use super::{Diagnose, Last, Limits, Settled};
use crate::{
    config::OnGutter,
    economics::Budget,
    gutter::{Gutter, GutterFindings, Made},
    verdict::Verdict,
};

/// Describes what becomes of the task that was worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskDecision {
    /// It goes on as it is: completed, or to be tried again.
    Keep,
    /// A person has to answer before it is taken again.
    SetAside { question: String },
    /// It goes round in circles: its next iteration is to find out why.
    Diagnose { gutter: Gutter },
    /// It goes round in circles, and that is enough.
    Stuck { gutter: Gutter, then: OnGutter },
    /// It is out of attempts.
    Block { reason: String },
}

impl TaskDecision {
    /// Returns true if the task can be taken again.
    pub(super) fn goes_on(&self) -> bool {
        match self {
            Self::Keep | Self::Diagnose { .. } => true,
            Self::SetAside { .. } | Self::Stuck { .. } | Self::Block { .. } => false,
        }
    }

    /// Returns true if a person is asked.
    pub(super) fn asks(&self) -> bool {
        match self {
            Self::SetAside { .. } => true,
            Self::Stuck { then, .. } => match then {
                OnGutter::Ask | OnGutter::Pause => true,
                OnGutter::Block => false,
            },
            Self::Keep | Self::Diagnose { .. } | Self::Block { .. } => false,
        }
    }
}

/// Returns what becomes of the task that was worked on, by its own history.
pub fn task_decision(last: &Last<'_>, limits: &Limits) -> TaskDecision {
    match last.settled {
        Settled::Yes => return TaskDecision::Keep,
        Settled::NotYet => {}
    }
    if let (Verdict::Failed { .. }, Some(gutter)) = (last.verdict, &last.gutter_findings.reached) {
        return TaskDecision::Stuck {
            gutter: gutter.clone(),
            then: limits.gutter.then,
        };
    }
    match last.verdict {
        Verdict::Verified | Verdict::Progress | Verdict::Diagnosed => TaskDecision::Keep,
        Verdict::Escalated => TaskDecision::SetAside {
            question: "the agent asks a person".into(),
        },
        verdict if verdict.is_charged() && last.attempts >= last.max_attempts => {
            TaskDecision::Block {
                reason: format!(
                    "{} of {} attempts failed, the last one: {}",
                    last.attempts,
                    last.max_attempts,
                    verdict.sentence()
                ),
            }
        }
        // The money of one task is used up: others have theirs.
        Verdict::Budget { budget, .. } if budget.is_some_and(Budget::is_of_task) => {
            TaskDecision::Block {
                reason: last.verdict.sentence(),
            }
        }
        // After the last attempt no one would go by what it finds.
        Verdict::Failed { .. } => diagnosis(last.gutter_findings, limits),
        _ => TaskDecision::Keep,
    }
}

/// A diagnosis comes one step before a limit is reached, once.
fn diagnosis(gutter_findings: &GutterFindings, limits: &Limits) -> TaskDecision {
    match (
        &gutter_findings.near,
        gutter_findings.made,
        limits.gutter.diagnose,
    ) {
        (Some(gutter), Made::NotYet, Diagnose::Yes) => TaskDecision::Diagnose {
            gutter: gutter.clone(),
        },
        (_, _, _) => TaskDecision::Keep,
    }
}
