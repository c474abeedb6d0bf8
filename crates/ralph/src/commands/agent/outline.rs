//! What ralph makes of a run, for a person: a line an event, and a line a finding.
//!
//! Agents wrote most of it: it is made safe and short here, whatever it holds.

use ralph_core::{
    agent::{AgentEvent, ContextUse, Ending},
    sanitize::one_line,
};
use ralph_engine::agent::Conclusion;

use crate::view::{Table, Tone, cell};

/// Columns of a line where no terminal says how many.
const COLUMNS: usize = 200;
/// Characters of a text that are looked at for a line of it.
const LOOKED_AT: usize = 8_000;

/// An event in one line.
pub(super) fn event_line(event: &AgentEvent, columns: Option<usize>) -> String {
    in_a_line(&event.line(), columns.unwrap_or(COLUMNS))
}

/// Several lines in one: where one ended is shown.
fn in_a_line(text: &str, columns: usize) -> String {
    let beginning: String = text.trim_end().chars().take(LOOKED_AT).collect();
    one_line(&beginning.replace('\n', " ⏎ "), columns)
}

/// How the run ended and what it came to.
pub(super) fn render(conclusion: &Conclusion, columns: Option<usize>) -> String {
    let columns = columns.unwrap_or(COLUMNS);
    let room = columns.saturating_sub(LABEL_COLUMNS);
    let mut table = Table::new(1, 0);
    let mut row = |label: &str, tone: Tone, text: String| {
        table.row([cell(Tone::Faint, label), cell(tone, in_a_line(&text, room))]);
    };
    let ending = &conclusion.ending;
    let tone = match ending {
        Ending::Finished => Tone::Good,
        _ => Tone::Careful,
    };
    row("outcome", tone, ending.outcome().to_owned());
    if let Some(message) = ending.message() {
        row("message", Tone::Plain, message.to_owned());
    }
    if let Ending::Limit { resets_at } = ending {
        let when = resets_at.map_or_else(|| "not said".to_owned(), |at| at.to_string());
        row("resets at", Tone::Plain, when);
    }
    let unknown = || "not said".to_owned();
    let said = |text: &Option<String>| text.clone().unwrap_or_else(unknown);
    row("model", Tone::Plain, said(&conclusion.model));
    row("version", Tone::Plain, said(&conclusion.version));
    let turns = conclusion.turns.map(|turns| turns.to_string());
    row("turns", Tone::Plain, turns.unwrap_or_else(unknown));
    row("usage", Tone::Plain, conclusion.usage.line());
    row("context", Tone::Plain, context(&conclusion.context));
    for denied in &conclusion.denied {
        row("denied", Tone::Careful, denied.clone());
    }
    if !conclusion.final_message.trim().is_empty() {
        row("said", Tone::Plain, conclusion.final_message.clone());
    }
    table.render(None)
}

/// Columns of a label and the gap behind it.
const LABEL_COLUMNS: usize = 11;

fn context(context: &ContextUse) -> String {
    let (Some(last), Some(peak)) = (context.turns.last(), context.turns.iter().max()) else {
        return "not said".to_owned();
    };
    let share = |used: u64| match context.window {
        Some(window) if window > 0 => {
            format!(" ({:.1} %)", used as f64 * 100.0 / window as f64)
        }
        Some(_) | None => String::new(),
    };
    let window = context
        .window
        .map_or_else(String::new, |window| format!(" of {window}"));
    format!(
        "{last}{window}{} at the last turn, {peak}{} at most",
        share(*last),
        share(*peak)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_safe_line_however_long_it_is() {
        let text = |text: &str| AgentEvent::Text { text: text.into() };
        assert_eq!(
            event_line(&text("one\n\ntwo\x1b[2J\n"), None),
            "one ⏎ ⏎ two\\x1b[2J"
        );
        assert_eq!(
            event_line(&text("four words and more"), Some(8)),
            "four wo…"
        );
        let long = event_line(&text(&"x".repeat(1_000_000)), None);
        assert_eq!(long.chars().count(), 200);
    }

    #[test]
    fn the_use_of_the_context_is_told_at_the_end_and_at_its_peak() {
        let used = ContextUse {
            window: Some(200_000),
            turns: vec![20_100, 195_100, 32_100],
        };
        assert_eq!(
            context(&used),
            "32100 of 200000 (16.1 %) at the last turn, 195100 (97.5 %) at most"
        );
        let unknown = ContextUse {
            window: None,
            turns: vec![7],
        };
        assert_eq!(context(&unknown), "7 at the last turn, 7 at most");
        assert_eq!(context(&ContextUse::default()), "not said");
    }
}
