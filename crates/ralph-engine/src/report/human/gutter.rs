//! Work that goes round in circles: which rule, with its figures, what follows, what a person can do; and
//! what an agent found out about it.

use ralph_core::event::{AfterGutter, Event};

use super::safe;
use crate::report::{
    page::{Extent, Page},
    paint::Mark,
};

/// Lines of a diagnosis.
const MAX_LINES: usize = 40;

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
            let said = format!(
                "{} goes round in circles: {}; {follows}",
                safe(task),
                safe(sentence)
            );
            page.marked(Mark::Look, &said);
            page.more(&format!("  {}", safe(hint)));
        }
        Event::Diagnosis { text, .. } => {
            page.line("  diagnosis:");
            page.quote(text, Extent::First(MAX_LINES));
        }
        _ => {}
    }
}
