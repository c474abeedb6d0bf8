//! Views that several commands share: colours, tables, plots, places in files, the screen.
//!
//! Makes text; `output` prints it. Colours only where standard output is a terminal that wants them.

pub(crate) mod key_mode;
pub(crate) mod places;
pub(crate) mod plot;
pub(crate) mod screen;
mod table;

pub(crate) use ralph_core::figures;
pub(crate) use ralph_engine::report::Tone;

pub(crate) use table::{Cell, Table, cell};

/// The text as standard output should show it. Plain text without colours: output that is no terminal,
/// `NO_COLOR`, `TERM=dumb`.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    tone.style().apply_to(text).to_string()
}

/// The text as standard error should show it.
pub(crate) fn paint_for_stderr(tone: Tone, text: &str) -> String {
    tone.style().for_stderr().apply_to(text).to_string()
}
