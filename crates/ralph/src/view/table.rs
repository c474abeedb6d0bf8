//! Columns that line up. One of them gives way where the terminal is too narrow; output that is no
//! terminal is never cut.

use ralph_core::sanitize::{columns, one_line, wrapped};

use super::{Tone, paint};

/// Least columns that the one that gives way keeps.
const LEAST: usize = 16;
const GAP: usize = 2;

pub(crate) struct Table {
    rows: Vec<Vec<Cell>>,
    /// Which column gives way.
    elastic: usize,
    indent: usize,
}

pub(crate) struct Cell {
    text: String,
    tone: Tone,
}

/// A cell; whatever the text comes from, it is one line and safe to show.
pub(crate) fn cell(tone: Tone, text: impl AsRef<str>) -> Cell {
    Cell {
        text: one_line(text.as_ref(), usize::MAX),
        tone,
    }
}

impl Table {
    pub(crate) fn new(elastic: usize, indent: usize) -> Self {
        Self {
            rows: Vec::new(),
            elastic,
            indent,
        }
    }

    pub(crate) fn row(&mut self, cells: impl Into<Vec<Cell>>) {
        self.rows.push(cells.into());
    }

    /// The lines, at most `width` columns wide where one is given.
    pub(crate) fn render(&self, width: Option<usize>) -> String {
        let mut widths = self.widths();
        if let (Some(width), Some(elastic)) = (width, widths.get(self.elastic).copied()) {
            let shown = widths.iter().filter(|w| **w > 0).count();
            let all = self.indent + widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1);
            let over = all.saturating_sub(width);
            widths[self.elastic] = elastic.saturating_sub(over).max(LEAST.min(elastic));
        }
        let mut text = String::new();
        for row in &self.rows {
            self.render_row(&mut text, row, &widths);
        }
        text
    }

    /// The lines with nothing cut off: what does not fit in the last column goes on below it.
    pub(crate) fn render_wrapped(&self, width: Option<usize>) -> String {
        let text = self.render(None);
        let Some(width) = width else {
            return text;
        };
        let widths = self.widths();
        let before = widths.iter().rev().skip(1).filter(|width| **width > 0);
        let indent = self.indent + before.map(|width| width + GAP).sum::<usize>();
        let lines = text.lines();
        lines
            .flat_map(|line| [wrapped(line, width, indent), "\n".into()])
            .collect()
    }

    fn render_row(&self, text: &mut String, row: &[Cell], widths: &[usize]) {
        let mut line = " ".repeat(self.indent);
        let mut owed = 0;
        for (cell, width) in row.iter().zip(widths) {
            if *width == 0 {
                continue;
            }
            let shown = one_line(&cell.text, *width);
            if !shown.is_empty() {
                line.push_str(&" ".repeat(owed));
                owed = 0;
                line.push_str(&paint(cell.tone, &shown));
            }
            // Spaces are owed until something follows, so that no line ends in them.
            owed += width - columns(&shown) + GAP;
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths = Vec::new();
        for row in &self.rows {
            for (at, cell) in row.iter().enumerate() {
                if widths.len() <= at {
                    widths.push(0);
                }
                widths[at] = widths[at].max(columns(&cell.text));
            }
        }
        widths
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(1, 2);
        let plain = |text: &str| cell(Tone::Plain, text);
        table.row([
            plain("A"),
            plain("a long title that has no room"),
            plain("x"),
        ]);
        table.row([plain("LONG-1"), plain("short"), plain("")]);
        table
    }

    #[test]
    fn columns_line_up_and_no_line_ends_in_spaces() {
        assert_eq!(
            table().render(None),
            "  A       a long title that has no room  x\n  LONG-1  short\n"
        );
    }

    #[test]
    fn only_the_elastic_column_gives_way_and_not_below_its_least() {
        assert_eq!(
            table().render(Some(30)),
            "  A       a long title tha…  x\n  LONG-1  short\n"
        );
        assert_eq!(
            table().render(Some(5)),
            "  A       a long title th…  x\n  LONG-1  short\n"
        );
    }

    #[test]
    fn what_does_not_fit_in_the_last_column_goes_on_below_it() {
        let mut table = Table::new(1, 0);
        let plain = |text: &str| cell(Tone::Plain, text);
        table.row([plain("loop"), plain("not running; ended long ago")]);
        table.row([plain("checkpoint"), plain("none")]);
        assert_eq!(
            table.render_wrapped(Some(30)),
            "loop        not running; ended\n            long ago\ncheckpoint  none\n"
        );
        assert_eq!(table.render_wrapped(None), table.render(None));
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_text() {
        let mut table = Table::new(0, 0);
        table.row([cell(Tone::Plain, "\x1b[31mred\nline")]);
        assert_eq!(table.render(None), "\\x1b[31mred line\n");
    }
}
