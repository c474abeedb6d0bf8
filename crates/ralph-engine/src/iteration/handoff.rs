//! Handoffs within an iteration: the watcher of a run, and what the end of a run comes to.
//!
//! When to hand over is decided in the core; what follows from it, by the machine of the iteration.

use std::time::Instant;

use ralph_core::{
    agent::AgentReport,
    handoff::{HandoffTrigger, HandoffWatch, Handover, Room, Start, from_block},
    iteration::{Lands, Purpose},
    sanitize::one_line,
    signal::Signals,
};

use super::{IterationContext, LimitOwner, cost::cost_limit};
use crate::supervisor::HandoffWatcher;

/// Most characters of a call that failed, where it is named.
const CALL: usize = 120;

/// Watches a run of an agent for the moment to hand over. No agent continues a diagnosis.
pub(super) fn handoff_watcher(context: &IterationContext<'_>) -> Option<HandoffWatcher> {
    match context.job.purpose() {
        Purpose::Attempt => {}
        Purpose::Diagnosis => return None,
    }
    let deadline = context.deadline;
    let time = match deadline.whose {
        LimitOwner::Iteration => Some(deadline.at.saturating_duration_since(Instant::now())),
        // The command ends with it: no agent would go on.
        LimitOwner::Command => None,
    };
    let room = cost_limit(context).map(|limit| Room {
        spent: limit.spent,
        max: limit.max,
    });
    let config = &context.job.config.handoff;
    let watch = HandoffWatch::new(config.enabled.then_some(config), &Start { time, room });
    let task = context.job.task.id.to_string();
    Some(HandoffWatcher::new(watch, context.job.number, task))
}

/// Why a run hands over, if it does: it was asked to, or its last words ask for it.
pub(super) fn handoff_of_run(
    context: &IterationContext<'_>,
    asked: Option<Handover>,
    report: &AgentReport,
    signals: &Signals,
) -> Option<Handover> {
    let job = context.job;
    if job.purpose() == Purpose::Diagnosis {
        return None;
    }
    let own = || {
        let own = from_block(&signals.block, job.history.phase)?;
        // Each step towards a goal lands with its phase, and a fresh agent follows anyway.
        let is_step = job.lands() == Lands::Each && own.trigger == HandoffTrigger::PhaseComplete;
        (job.config.handoff.enabled && !is_step).then_some(own)
    };
    let mut handover = asked.or_else(own)?;
    match handover.trigger {
        HandoffTrigger::ErrorThreshold if !context.log.failed_calls.is_empty() => {
            let calls = context.log.failed_calls.iter();
            let calls: Vec<String> = calls.map(|call| one_line(call, CALL)).collect();
            handover.sentence += &format!(", the last of them: {}", calls.join("; "));
        }
        HandoffTrigger::TokenBudget => {
            if let Some(limit) = cost_limit(context) {
                let own = report.usage.told();
                let left = limit.max.without(limit.spent.plus(own));
                handover.sentence += &format!("; {left} of {} are left now", limit.max);
            }
        }
        HandoffTrigger::ContextThreshold
        | HandoffTrigger::PhaseComplete
        | HandoffTrigger::ErrorThreshold
        | HandoffTrigger::ExplicitRequest
        | HandoffTrigger::Timeout => {}
    }
    Some(handover)
}
