//! The health of the agent and the reactions: changes of health, reminders, handing over, the
//! circuit breaker.

use ralph_core::{
    breaker::BreakerState,
    event::Event,
    health::{HealthState, InterventionLevel},
};

use super::safe;
use crate::report::{page::Page, paint::Mark};

pub(super) fn render(page: &mut Page, event: &Event) {
    match event {
        Event::HandoffAsked { sentence, .. } => {
            page.marked(
                Mark::Look,
                &format!("the agent is to hand over: {}", safe(sentence)),
            );
        }
        // That it was ended is said by the intervention.
        Event::Health {
            state: HealthState::Terminated,
            ..
        } => {}
        Event::Health {
            state, sentence, ..
        } => {
            let mark = match state {
                HealthState::Healthy => Mark::Good,
                HealthState::Degraded | HealthState::Stuck => Mark::Look,
                HealthState::Failing | HealthState::Terminated => Mark::Bad,
            };
            page.marked(mark, &format!("{}: {}", state.as_str(), safe(sentence)));
        }
        Event::Intervention {
            level,
            sentence,
            hint,
            ..
        } => {
            let mark = match level {
                InterventionLevel::Nudge | InterventionLevel::Escalate => Mark::Look,
                InterventionLevel::Terminate => Mark::Bad,
            };
            let said = match level {
                InterventionLevel::Nudge | InterventionLevel::Escalate => safe(sentence),
                InterventionLevel::Terminate => format!("the agent is ended: {}", safe(sentence)),
            };
            page.marked(mark, &said);
            if let Some(hint) = hint {
                page.more(&format!("  {}", safe(hint)));
            }
        }
        Event::Breaker { state, sentence } => {
            let mark = match state {
                BreakerState::Closed => Mark::Good,
                BreakerState::HalfOpen => Mark::Look,
                BreakerState::Open => Mark::Bad,
            };
            page.marked(mark, &safe(sentence));
        }
        _ => {}
    }
}

/// Returns true if it needs a person, even one who asked for quiet output.
pub(super) fn needs_a_person(event: &Event) -> bool {
    matches!(
        event,
        Event::Intervention {
            level: InterventionLevel::Escalate | InterventionLevel::Terminate,
            ..
        }
    )
}
