//! Writing to the terminal: the one place that prints.
//!
//! A closed pipe ends output quietly. Whatever comes from an agent or a file is made safe first.

use std::io::{self, IsTerminal as _, Write};

use crate::error::CommandError;

/// Prints text to stdout as it is. A reader that went away is no error.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a value as JSON, one document.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value).map_err(CommandError::internal)?;
    print(&text);
    print("\n");
    Ok(())
}

/// Prints text to stderr.
pub(crate) fn print_to_stderr(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
}

pub(crate) fn print_error(error: &CommandError) {
    let paint = console::Style::new().for_stderr().red().bold();
    let mut sentences = error.sentences().into_iter();
    let first = sentences.next().unwrap_or_default();
    let mut text = format!("{} {first}\n", paint.apply_to("error:"));
    for cause in sentences {
        text.push_str(&format!("  because: {cause}\n"));
    }
    if let Some(hint) = error.hint_text() {
        let paint = console::Style::new().for_stderr().cyan();
        text.push_str(&format!("{} {hint}\n", paint.apply_to("hint:")));
    }
    print_to_stderr(&text);
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}
