//! Colours and marks. Whether there are colours is the caller's decision alone: no global state, no
//! environment.

use console::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    On,
    Off,
}

/// The meaning of a piece of text, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Heading,
    Good,
    Bad,
    Careful,
    Faint,
    /// A name to type: an id, a command.
    Name,
}

impl Tone {
    pub fn style(self) -> Style {
        let style = Style::new();
        match self {
            Self::Plain => style,
            Self::Heading => style.bold(),
            Self::Good => style.green(),
            Self::Bad => style.red(),
            Self::Careful => style.yellow(),
            Self::Faint => style.dim(),
            Self::Name => style.cyan(),
        }
    }
}

/// The mark at the beginning of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Good,
    Bad,
    /// A person should look.
    Look,
    /// Something begins.
    Begin,
}

impl Mark {
    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Good => "✓",
            Self::Bad => "✗",
            Self::Look => "!",
            Self::Begin => "▸",
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Paint(pub(super) Colours);

impl Paint {
    pub(super) fn mark(self, mark: Mark) -> String {
        let tone = match mark {
            Mark::Good => Tone::Good,
            Mark::Bad => Tone::Bad,
            Mark::Look => Tone::Careful,
            Mark::Begin => Tone::Name,
        };
        self.with(tone.style().bold(), mark.sign())
    }

    pub(super) fn text(self, tone: Tone, text: &str) -> String {
        self.with(tone.style(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        match self.0 {
            Colours::On => style.force_styling(true).apply_to(text).to_string(),
            Colours::Off => text.to_owned(),
        }
    }
}
