//! Handing over: why an agent is asked to wrap up, so that a fresh one goes on where it stopped.
//!
//! Only decides. Asking the agent, stopping it and keeping its work are the engine's.

mod watch;

pub use watch::{HandoffStep, HandoffWatch, Room, Start};

use serde::{Deserialize, Serialize};

use crate::{
    checkpoint::ExecutionPhase, sanitize::one_line, signal::ClosingBlock, verdict::Verdict,
};

named! {
    /// Why an agent hands over, in the words that users know.
    pub enum HandoffTrigger {
        /// Its context is nearly full.
        ContextThreshold = "context_threshold",
        /// A phase of the work is over.
        PhaseComplete = "phase_complete",
        /// Too many of its steps in a row failed.
        ErrorThreshold = "error_threshold",
        /// It, or a person, asked for it.
        ExplicitRequest = "explicit_request",
        /// The budget is nearly used up.
        TokenBudget = "token_budget",
        /// Its time is nearly over.
        Timeout = "timeout",
    }
}

impl HandoffTrigger {
    /// For a person, as the end of "handed over: …".
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ContextThreshold => "its context was nearly full",
            Self::PhaseComplete => "a phase of the work is over",
            Self::ErrorThreshold => "too many of its steps in a row failed",
            Self::ExplicitRequest => "it was asked for",
            Self::TokenBudget => "the budget is nearly used up",
            Self::Timeout => "its time was nearly over",
        }
    }
}

/// An agent's handover, with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    pub trigger: HandoffTrigger,
    /// Tells what it comes from, with its figures; without a full stop.
    pub sentence: String,
}

/// Describes what is remembered of a task's handoffs until it comes to something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HandoffState {
    /// Handoffs since the task last came to something else.
    pub in_a_row: u32,
    /// The phase that an agent last said to be in.
    pub phase: Option<ExecutionPhase>,
}

impl HandoffState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if a fresh agent is to go on before anything else is done.
    pub fn is_under_way(&self) -> bool {
        self.in_a_row > 0
    }

    /// After an iteration at the task in which its agent said to be in this phase.
    pub fn after(self, verdict: &Verdict, told: Option<ExecutionPhase>) -> Self {
        let phase = told.or(self.phase);
        let goes_on = |in_a_row| Self { in_a_row, phase };
        match verdict {
            Verdict::Handoff { .. } => goes_on(self.in_a_row.saturating_add(1)),
            // It is not the agent's doing, and it says nothing of the work.
            Verdict::Interrupted
            | Verdict::Budget { .. }
            | Verdict::LimitHit { .. }
            | Verdict::Overloaded { .. }
            | Verdict::AgentUnavailable { .. }
            | Verdict::Overtaken { .. } => goes_on(self.in_a_row),
            Verdict::Terminated { .. } => goes_on(0),
            Verdict::Verified
            | Verdict::Unverified
            | Verdict::Progress
            | Verdict::UnverifiedProgress => Self::default(),
            Verdict::Diagnosed => self,
            Verdict::Unclaimed
            | Verdict::Failed { .. }
            | Verdict::NoChange { .. }
            | Verdict::Refused { .. }
            | Verdict::Escalated
            | Verdict::TimedOut { .. }
            | Verdict::AgentError { .. } => Self {
                phase,
                ..Self::default()
            },
        }
    }
}

/// The request to wrap up.
pub fn wrap_up(why: &Handover) -> String {
    let (trigger, sentence) = (why.trigger.as_str(), &why.sentence);
    format!(
        "A message from ralph, which drives this loop: please wrap up now. The reason: {sentence}.\n\
         \n\
         What happens: a fresh agent goes on with this task, from the files as they are. It knows \
         nothing of this conversation but what you write in your next message, and your run ends \
         with that message.\n\
         \n\
         What to do: stop here. Start nothing new, use no more tools (one that you start now is cut \
         off), and leave the working tree as it is, finished or not. If the task is done already, and \
         its verify commands pass, say so in the way that your prompt asks for. If it is not, claim \
         nothing, and end your message with this block:\n\
         \n\
         <ralph>\n\
         summary: what is done, and what state the files are in\n\
         decisions:\n\
         \x20 - what you decided, and why\n\
         next: what the next agent should do first, exactly\n\
         handoff: {trigger}\n\
         </ralph>"
    )
}

/// Most characters of the agent's own reason.
const REASON: usize = 300;

/// `before` is the phase that the work at this task was last said to be in.
///
/// Only for an agent that does not claim to be done: a claim is verified as always.
pub fn from_block(block: &ClosingBlock, before: Option<ExecutionPhase>) -> Option<Handover> {
    if let Some(reason) = &block.handoff {
        return Some(Handover {
            trigger: HandoffTrigger::ExplicitRequest,
            sentence: format!("the agent asks for it: {}", one_line(reason, REASON)),
        });
    }
    let told: ExecutionPhase = block.phase.as_deref()?.parse().ok()?;
    let before = before.unwrap_or(ExecutionPhase::Planning);
    (place(told)? > place(before)?).then(|| Handover {
        trigger: HandoffTrigger::PhaseComplete,
        sentence: format!("the work went from {before} on to {told}"),
    })
}

/// The place of a phase in the course of the work. Two are none of it: handing over is no phase of the
/// work, and that it is complete is a claim, which is made otherwise.
fn place(phase: ExecutionPhase) -> Option<u8> {
    match phase {
        ExecutionPhase::Planning => Some(0),
        ExecutionPhase::Implementing => Some(1),
        ExecutionPhase::Testing => Some(2),
        ExecutionPhase::Reviewing => Some(3),
        ExecutionPhase::Handoff | ExecutionPhase::Complete => None,
    }
}

/// A share of a whole, more than nothing, at most all. Compared without rounding: exactly 70 % of
/// something is not more than 70 % of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share {
    /// Whole ten-thousandths, so that two equal settings compare equal.
    parts: u32,
}

impl Share {
    const WHOLE: u32 = 10_000;

    /// In percent; what is out of range is brought into it.
    pub const fn percent(percent: u32) -> Self {
        let parts = percent * 100;
        Self {
            parts: match parts {
                0 => 1,
                parts if parts > Self::WHOLE => Self::WHOLE,
                parts => parts,
            },
        }
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.parts) / f64::from(Self::WHOLE)
    }

    /// Returns true if `part` is more than this share of `whole`; never, where there is no whole.
    pub fn is_exceeded(self, part: u64, whole: u64) -> bool {
        let part = u128::from(part) * u128::from(Self::WHOLE);
        whole > 0 && part > u128::from(whole) * u128::from(self.parts)
    }
}

impl TryFrom<f64> for Share {
    type Error = String;

    fn try_from(share: f64) -> Result<Self, String> {
        if !(share > 0.0 && share <= 1.0) {
            return Err(format!(
                "expected a share greater than 0 and at most 1, such as 0.7, found {share}"
            ));
        }
        // In range by the check above.
        let parts = (share * f64::from(Self::WHOLE)).round().max(1.0) as u32;
        Ok(Self { parts })
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> Self {
        share.as_f64()
    }
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} %", f64::from(self.parts) / 100.0)
    }
}

schema_of!(Share, { "type": "number", "exclusiveMinimum": 0, "maximum": 1 });

#[cfg(test)]
mod tests;
