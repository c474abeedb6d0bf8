//! Events that a person should look at: questions, the health of the agent and what is done about it, work that
//! goes round in circles.

use ralph_core::{
    breaker::BreakerState,
    event::{AfterGutter, Event},
    health::{HealthState, InterventionLevel, RUN_FAILED},
    signal::{Escalation, EscalationKind},
};

use super::safe;
use crate::report::{
    page::{Extent, Page},
    paint::{Mark, Tone},
};

/// Lines of a diagnosis.
const DIAGNOSIS_LINES: usize = 40;
/// Lines of an escalation's context, or of a malformed block.
const ESCALATION_LINES: usize = 60;

pub(super) fn render(page: &mut Page, event: &Event) {
    match event {
        Event::Gutter {
            task,
            sentence,
            then,
            hint,
            ..
        } => {
            let follows = match then {
                AfterGutter::Diagnose => "a diagnosis follows",
                AfterGutter::Ask => "a person is asked",
                AfterGutter::Pause => "a person is asked, and the loop pauses",
                AfterGutter::Block => "it is blocked",
            };
            let (task, sentence) = (safe(task), safe(sentence));
            let said = format!("{task} goes round in circles: {sentence}; {follows}");
            page.marked(Mark::Look, &said);
            page.more(&format!("  {}", safe(hint)));
        }
        Event::Diagnosis { text, .. } => {
            page.line("  diagnosis:");
            page.quote(text, Extent::First(DIAGNOSIS_LINES));
        }
        Event::HandoffAsked { sentence, .. } => {
            let said = format!("the agent is to hand over: {}", safe(sentence));
            page.marked(Mark::Look, &said);
        }
        // That it was ended is said by the intervention.
        Event::Health {
            state: HealthState::Terminated,
            ..
        } => {}
        // The verdict says it, and how.
        Event::Health { sentence, .. } if sentence == RUN_FAILED => {}
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
            let sentence = safe(sentence);
            match level {
                InterventionLevel::Nudge | InterventionLevel::Escalate => {
                    page.marked(Mark::Look, &sentence);
                }
                InterventionLevel::Terminate => {
                    page.marked(Mark::Bad, &format!("the agent is ended: {sentence}"));
                }
            }
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
        Event::BudgetAlert { sentence, .. } => page.marked(Mark::Look, &safe(sentence)),
        Event::Question {
            id,
            task,
            question,
            escalation,
        } => {
            page.blank();
            let title = format!("A person is needed · {task}");
            page.banner(&title, &format!("question {id}"));
            ask(page, question, escalation.as_ref());
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

/// A question, shown whole: it is the one thing on the screen that must be read.
fn ask(page: &mut Page, question: &str, escalation: Option<&Escalation>) {
    let asked = |page: &Page, text: &str| page.paint().text(Tone::Heading, &safe(text));
    let Some(escalation) = escalation.filter(|escalation| is_readable(escalation)) else {
        page.marked(Mark::Look, &asked(page, question));
        if let Some(escalation) = escalation {
            page.quote(&escalation.raw, Extent::First(ESCALATION_LINES));
        }
        return;
    };
    let kind = match escalation.kind {
        EscalationKind::Stuck => "stuck",
        EscalationKind::Deviation => "deviation",
        EscalationKind::Other => "escalation",
    };
    let summary = format!("{kind}: {}", safe(&escalation.summary));
    page.marked(Mark::Look, summary.trim_end_matches(": "));
    page.quote(&escalation.context, Extent::First(ESCALATION_LINES));
    for (i, option) in escalation.options.iter().enumerate() {
        page.more(&format!("  {}. {}", i + 1, safe(option)));
    }
    let own = Some(escalation.question.as_str()).filter(|own| !own.trim().is_empty());
    page.more(&format!("  {}", asked(page, own.unwrap_or(question))));
}

/// A block of which nothing was understood is shown as it was written.
fn is_readable(escalation: &Escalation) -> bool {
    !(escalation.summary.is_empty()
        && escalation.context.is_empty()
        && escalation.options.is_empty()
        && escalation.question.is_empty())
}
