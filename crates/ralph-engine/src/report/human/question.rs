//! A question to a person, shown whole: it is the one thing on the screen that must be read.

use ralph_core::{
    event::Event,
    signal::{Escalation, EscalationKind},
};

use super::safe;
use crate::report::{
    page::{Extent, Page},
    paint::{Mark, Tone},
};

/// Lines of an escalation's context, or of a malformed block.
const MAX_LINES: usize = 60;

pub(super) fn render(page: &mut Page, event: &Event) {
    let Event::Question {
        id,
        task,
        question,
        escalation,
    } = event
    else {
        return;
    };
    page.blank();
    page.banner(
        &format!("A person is needed · {task}"),
        &format!("question {id}"),
    );
    match escalation {
        Some(escalation) if is_readable(escalation) => parts(page, escalation, question),
        Some(escalation) => {
            page.marked(Mark::Look, &asked(page, question));
            page.quote(&escalation.raw, Extent::First(MAX_LINES));
        }
        None => page.marked(Mark::Look, &asked(page, question)),
    }
}

fn parts(page: &mut Page, escalation: &Escalation, question: &str) {
    let kind = match escalation.kind {
        EscalationKind::Stuck => "stuck",
        EscalationKind::Deviation => "deviation",
        EscalationKind::Other => "escalation",
    };
    page.marked(
        Mark::Look,
        format!("{kind}: {}", safe(&escalation.summary)).trim_end_matches(": "),
    );
    page.quote(&escalation.context, Extent::First(MAX_LINES));
    for (i, option) in escalation.options.iter().enumerate() {
        page.more(&format!("  {}. {}", i + 1, safe(option)));
    }
    let words = if escalation.question.trim().is_empty() {
        question
    } else {
        &escalation.question
    };
    page.more(&format!("  {}", asked(page, words)));
}

fn asked(page: &Page, question: &str) -> String {
    page.paint().text(Tone::Heading, &safe(question))
}

/// A block of which nothing was understood is shown as it was written.
fn is_readable(escalation: &Escalation) -> bool {
    !(escalation.summary.is_empty()
        && escalation.context.is_empty()
        && escalation.options.is_empty()
        && escalation.question.is_empty())
}
