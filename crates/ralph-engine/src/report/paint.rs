//! Colours and marks. Whether there are colours is the caller's decision alone: no global state, no
//! environment.

use console::Style;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    On,
    Off,
}

/// What a line is, before it is anything else.
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
        let style = match mark {
            Mark::Good => Style::new().green().bold(),
            Mark::Bad => Style::new().red().bold(),
            Mark::Look => Style::new().yellow().bold(),
            Mark::Begin => Style::new().cyan().bold(),
        };
        self.with(style, mark.sign())
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with(Style::new().bold(), text)
    }

    pub(super) fn dim(self, text: &str) -> String {
        self.with(Style::new().dim(), text)
    }

    pub(super) fn accent(self, text: &str) -> String {
        self.with(Style::new().cyan(), text)
    }

    pub(super) fn warn(self, text: &str) -> String {
        self.with(Style::new().yellow(), text)
    }

    fn with(self, style: Style, text: &str) -> String {
        style
            .force_styling(self.0 == Colours::On)
            .apply_to(text)
            .to_string()
    }
}
