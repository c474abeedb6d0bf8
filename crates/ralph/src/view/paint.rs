//! Applies colours to text for this process's output. Plain text without colours: output that
//! is no terminal, `NO_COLOR`, `TERM=dumb`.

pub(crate) use ralph_engine::report::Tone;

/// The text as standard output should show it.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    tone.style().apply_to(text).to_string()
}

/// The text as standard error should show it.
pub(crate) fn paint_for_stderr(tone: Tone, text: &str) -> String {
    tone.style().for_stderr().apply_to(text).to_string()
}
