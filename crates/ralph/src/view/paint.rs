//! The few colours there are, by what they mean. Plain text where nobody wants colours: output that
//! is no terminal, `NO_COLOR`, `TERM=dumb`.

use console::Style;

/// What a piece of text means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Plain,
    Heading,
    Good,
    Bad,
    Careful,
    Faint,
    /// A name to type: an id, a command.
    Name,
}

/// The text as standard output should show it.
pub(crate) fn paint(tone: Tone, text: &str) -> String {
    style(tone).apply_to(text).to_string()
}

/// The text as standard error should show it.
pub(crate) fn paint_for_stderr(tone: Tone, text: &str) -> String {
    style(tone).for_stderr().apply_to(text).to_string()
}

fn style(tone: Tone) -> Style {
    let style = Style::new();
    match tone {
        Tone::Plain => style,
        Tone::Heading => style.bold(),
        Tone::Good => style.green(),
        Tone::Bad => style.red(),
        Tone::Careful => style.yellow(),
        Tone::Faint => style.dim(),
        Tone::Name => style.cyan(),
    }
}
