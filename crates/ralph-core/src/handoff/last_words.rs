//! Decides whether an agent that ended by itself hands over, by the closing block of its final message.
//!
//! Only for one that does not claim to be done: a claim is verified as always.

use super::{HandoffTrigger, Handover};
use crate::{checkpoint::ExecutionPhase, sanitize::one_line, signal::ClosingBlock};

/// Most characters of the agent's own reason.
const REASON: usize = 300;

/// `before` is the phase that the work at this task was last said to be in.
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
