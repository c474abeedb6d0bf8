//! The form of a text: for a terminal, a plain file, or Markdown.
//!
//! Whatever others wrote goes through [`Dress::said`]: on one line, unable to move a cursor, and in
//! Markdown unable to be anything but text.

use ralph_core::sanitize::one_line;

use crate::view::{Tone, paint};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dress {
    Terminal,
    Plain,
    Markdown,
}

impl Dress {
    pub(super) fn paint(self, tone: Tone, text: &str) -> String {
        match self {
            Self::Terminal => paint(tone, text),
            Self::Plain | Self::Markdown => text.to_owned(),
        }
    }

    /// Ralph's own words. Two dollar signs on a line of Markdown would be read as a formula.
    pub(super) fn plain(self, text: String) -> String {
        match self {
            Self::Terminal | Self::Plain => text,
            Self::Markdown => text.replace('$', "\\$"),
        }
    }

    /// Text by others, at most `width` columns of it.
    pub(super) fn said(self, text: &str, width: usize) -> String {
        let line = one_line(text, width);
        match self {
            Self::Terminal | Self::Plain => line,
            Self::Markdown => escaped(&line),
        }
    }

    /// The same as code.
    pub(super) fn code(self, text: &str, width: usize) -> String {
        let line = one_line(text, width);
        match self {
            Self::Terminal | Self::Plain => format!("`{line}`"),
            Self::Markdown => code_span(&line),
        }
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' | '!' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

/// Between more backticks than stand in a row within it.
fn code_span(text: &str) -> String {
    let mut longest = 0;
    let mut row = 0;
    for c in text.chars() {
        row = if c == '`' { row + 1 } else { 0 };
        longest = longest.max(row);
    }
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_that_others_wrote_is_only_text() {
        let said = "# [x](y) <b>**a**</b> ![i](u) a_b `c` | $d$";
        assert_eq!(
            Dress::Markdown.said(said, 100),
            r"\# \[x\](y) &lt;b&gt;\*\*a\*\*&lt;/b&gt; \!\[i\](u) a\_b \`c\` \| \$d\$"
        );
        assert_eq!(Dress::Plain.said(said, 100), said);
    }

    #[test]
    fn code_keeps_its_backticks_inside() {
        assert_eq!(Dress::Markdown.code("cargo test", 100), "`cargo test`");
        assert_eq!(Dress::Markdown.code("echo ``x`", 100), "``` echo ``x` ```");
    }
}
