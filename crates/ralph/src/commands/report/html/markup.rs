//! Writes HTML and SVG. Only what stands in the program's own text goes in as it is: everything that
//! is worked out or was said by somebody goes in escaped, so that no page can be made otherwise.

use ralph_core::sanitize::terminal_safe;

/// A piece of a page.
#[derive(Debug, Default)]
pub(super) struct Markup(String);

impl Markup {
    /// Markup of the program itself.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Text, whoever wrote it.
    pub(super) fn text(&mut self, text: impl AsRef<str>) -> &mut Self {
        // What a reader would not see, or what turns letters around, is written out as well.
        for c in terminal_safe(text.as_ref()).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    /// A whole number.
    pub(super) fn number(&mut self, n: usize) -> &mut Self {
        self.text(n.to_string())
    }

    /// A place in a drawing.
    pub(super) fn place(&mut self, at: f64) -> &mut Self {
        // Tenths of a pixel are seen by nobody.
        self.text(format!("{at:.1}"))
    }

    /// Another piece.
    pub(super) fn piece(&mut self, piece: &Self) -> &mut Self {
        self.0.push_str(&piece.0);
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_said_is_text_in_an_element_and_in_an_attribute() {
        let mut page = Markup::default();
        page.raw("<p title=\"")
            .text("a\" onload='x' &")
            .raw("\">")
            .text("<script>alert(1)</script>\u{202e}")
            .raw("</p>");
        assert_eq!(
            page.into_text(),
            "<p title=\"a&quot; onload=&#39;x&#39; &amp;\">&lt;script&gt;alert(1)&lt;/script&gt;\\u{202e}</p>"
        );
    }
}
