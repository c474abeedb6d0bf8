//! Writing to the terminal: the one place that prints.
//!
//! A closed pipe ends output quietly. Whatever comes from an agent or a file is made safe first.

use std::{
    borrow::Cow,
    io::{self, BufRead, IsTerminal as _, Write},
    process::ExitCode,
    sync::OnceLock,
};

use ralph_core::{sanitize::terminal_safe, secret::Redaction};

use crate::{
    error::CommandError,
    view::{Tone, paint_for_stderr},
};

/// Hides secrets in all that is printed: those of known formats, and values once they are known.
static REDACTION: OnceLock<Redaction> = OnceLock::new();

/// Has these values hidden in all that is printed from now on; the first who says so is obeyed.
pub(crate) fn hide_values(redaction: &Redaction) {
    let _ = REDACTION.set(redaction.clone());
}

/// The text as it may leave ralph.
pub(crate) fn without_secrets(text: &str) -> Cow<'_, str> {
    match REDACTION.get() {
        Some(redaction) => redaction.hide(text),
        None => Cow::Owned(Redaction::default().hide(text).into_owned()),
    }
}

/// A value as it may be written down.
pub(crate) fn without_secrets_in<T>(value: T) -> T
where
    T: serde::Serialize + serde::de::DeserializeOwned + std::fmt::Debug,
{
    let redaction = REDACTION.get().cloned().unwrap_or_default();
    redaction.hide_in(value)
}

/// Prints text to stdout, without secrets. A reader that went away is no error.
pub(crate) fn print(text: &str) {
    let mut out = io::stdout().lock();
    let text = without_secrets(text);
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints a value as JSON, one document.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value)?;
    print(&text);
    print("\n");
    Ok(())
}

/// Prints a value as JSON on a line of its own.
pub(crate) fn print_json_line<T: serde::Serialize>(value: &T) -> Result<(), CommandError> {
    print(&(serde_json::to_string(value)? + "\n"));
    Ok(())
}

/// Prints the answer of a command: as JSON if that was asked for, else as text.
pub(crate) fn show<T: serde::Serialize>(
    json: bool,
    value: &T,
    text: impl FnOnce() -> String,
) -> Result<ExitCode, CommandError> {
    if json {
        print_json(value)?;
    } else {
        print(&text());
    }
    Ok(ExitCode::SUCCESS)
}

/// Says if the copied text may contain terminal control sequences.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    Safe,
    AsTheyAre,
}

impl Escapes {
    fn applied(self, bytes: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Self::Safe => {
                let text = String::from_utf8_lossy(bytes);
                let text = without_secrets(&text);
                Cow::Owned(terminal_safe(&text).into_owned().into_bytes())
            }
            Self::AsTheyAre => match REDACTION.get() {
                Some(redaction) => redaction.hide_bytes(bytes),
                None => Cow::Borrowed(bytes),
            },
        }
    }
}

/// Copies a file to stdout, a line at a time: a log can be larger than memory should be.
pub(crate) fn copy(mut from: impl BufRead, escapes: Escapes) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let mut write = |bytes: &[u8]| match out.write_all(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
    };
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line)? > 0 {
        if !write(&escapes.applied(&line))? {
            return Ok(());
        }
        line.clear();
    }
    match out.flush() {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Writes a part of a log to stdout; a reader that went away is told, so that one who follows can end.
pub(crate) fn write(bytes: &[u8], escapes: Escapes) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(&escapes.applied(bytes))?;
    out.flush()
}

/// Prints text to stderr.
pub(crate) fn print_to_stderr(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(without_secrets(text).as_bytes());
}

/// Prints something that a person should hear, and need not act on at once.
pub(crate) fn print_warning(text: &str) {
    let label = paint_for_stderr(Tone::Careful, "warning:");
    print_to_stderr(&format!("{label} {}\n", terminal_safe(text)));
}

/// The same for several.
pub(crate) fn print_warnings(texts: &[String]) {
    for text in texts {
        print_warning(text);
    }
}

pub(crate) fn print_error(error: &CommandError) {
    let paint = console::Style::new().for_stderr().red().bold();
    let mut sentences = error.sentences().into_iter();
    let first = sentences.next().unwrap_or_default();
    let label = paint.apply_to("error:");
    let mut text = format!("{label} {}\n", terminal_safe(&first));
    for cause in sentences {
        text.push_str(&format!("  because: {}\n", terminal_safe(&cause)));
    }
    if let Some(hint) = error.hint_text() {
        let label = paint_for_stderr(Tone::Name, "hint:");
        text.push_str(&format!("{label} {}\n", terminal_safe(hint)));
    }
    print_to_stderr(&text);
}

pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// The columns that a line may have; `None` where nothing limits it.
pub(crate) fn width() -> Option<usize> {
    stdout_is_terminal().then(|| usize::from(console::Term::stdout().size().1).max(40))
}
