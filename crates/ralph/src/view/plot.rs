//! Plots on a terminal, made of blocks: a bar beside a figure, and columns over an axis. And where an axis
//! ends.

/// The next round figure: 1, 2, 4, 5 or 8 and noughts, so that its quarters are round as well.
pub(crate) fn ceiling(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 4.0, 5.0, 8.0, 10.0];
    // What was computed may be a trace above the figure that it is.
    let step = steps
        .into_iter()
        .find(|step| step * power * (1.0 + 1e-9) >= value);
    step.unwrap_or(10.0) * power
}

/// Eighths of a block.
const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// As long as the share of `width` columns; what is not nothing is seen.
pub(crate) fn bar(share: f64, width: usize) -> String {
    let share = if share.is_finite() {
        share.clamp(0.0, 1.0)
    } else {
        0.0
    };
    let mut eighths = (share * (width * 8) as f64).round() as usize;
    if share > 0.0 {
        eighths = eighths.max(1);
    }
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// Lines that the highest column has.
const LINES: usize = 8;
const EIGHTHS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Widest column, its gap included.
const WIDEST: usize = 8;

pub(crate) struct Columns<'a> {
    /// In the order in which they stand, each with its name.
    pub(crate) figures: &'a [(String, f64)],
    /// A level that is drawn across: a limit.
    pub(crate) mark: Option<f64>,
    /// Formats an amount at the axis.
    pub(crate) amount: &'a dyn Fn(f64) -> String,
}

/// The lines of the plot, without colour. Nothing where nothing is above nought.
pub(crate) fn columns(plot: &Columns<'_>, width: usize) -> Vec<String> {
    let highest = plot.figures.iter().map(|(_, n)| *n).fold(0.0, f64::max);
    let highest = plot.mark.map_or(highest, |mark| highest.max(mark));
    if highest <= 0.0 || !highest.is_finite() {
        return Vec::new();
    }
    let top = ceiling(highest);
    let half = LINES / 2;
    let labels = [top, top / 2.0, 0.0].map(|n| (plot.amount)(n));
    let margin = labels.iter().map(|l| l.chars().count()).max().unwrap_or(0);
    let room = width.saturating_sub(margin + 2).max(1);
    let figures = &plot.figures[plot.figures.len().saturating_sub(room)..];
    let wide = (room / figures.len().max(1)).clamp(1, WIDEST);
    let at_mark = plot.mark.map(|mark| line_of(mark, top));
    let mut lines = Vec::new();
    for line in (0..LINES).rev() {
        let label = match line + 1 {
            n if n == LINES => &labels[0],
            n if n == half => &labels[1],
            _ => "",
        };
        let tick = if label.is_empty() { '│' } else { '┤' };
        let empty = if at_mark == Some(line) { '┄' } else { ' ' };
        let mut text = format!("{label:>margin$} {tick}");
        for (_, figure) in figures {
            text.push_str(&cell(line_height(*figure, top, line), wide, empty));
        }
        lines.push(text.trim_end().to_owned());
    }
    let axis = "─".repeat(wide * figures.len());
    lines.push(format!("{:>margin$} ┼{axis}", labels[2]));
    let names: Vec<&str> = figures.iter().map(|(name, _)| name.as_str()).collect();
    lines.push(names_below(&names, wide, margin + 2, width));
    lines
}

/// The line in which a level lies.
fn line_of(level: f64, top: f64) -> usize {
    let line = (level / top * LINES as f64).ceil() as usize;
    line.clamp(1, LINES) - 1
}

/// The eighths of one line that a column fills.
fn line_height(figure: f64, top: f64, line: usize) -> usize {
    let mut eighths = (figure / top * (LINES * 8) as f64).round() as usize;
    if figure > 0.0 {
        // What is not nothing is seen.
        eighths = eighths.max(1);
    }
    eighths.saturating_sub(line * 8).min(8)
}

/// A column's part of one line.
fn cell(part: usize, wide: usize, empty: char) -> String {
    let block = if part == 0 { empty } else { EIGHTHS[part] };
    let gap = usize::from(wide > 2);
    let mut text: String = std::iter::repeat_n(block, wide - gap).collect();
    text.extend(std::iter::repeat_n(empty, gap));
    text
}

/// As many names as there is room for, each below its column.
fn names_below(names: &[&str], wide: usize, indent: usize, width: usize) -> String {
    let mut text = " ".repeat(indent);
    for (at, name) in names.iter().enumerate() {
        let place = indent + at * wide;
        let written = text.chars().count();
        let is_first = at == 0;
        let fits = place + name.chars().count() <= width.max(indent + name.chars().count());
        if fits && (is_first || written < place) {
            text.push_str(&" ".repeat(place.saturating_sub(written)));
            text.push_str(name);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_the_next_round_figure() {
        let cases = [
            (0.75, 0.8),
            (1.0, 1.0),
            (1.2, 2.0),
            (37.0, 40.0),
            (810.0, 1000.0),
            (0.1 + 0.2 + 0.1, 0.4),
        ];
        for (value, top) in cases {
            assert!((ceiling(value) - top).abs() < 1e-9, "{value}");
        }
    }

    #[test]
    fn a_bar_is_as_long_as_its_share_and_a_trace_is_seen() {
        for (share, shown) in [
            (0.0, ""),
            (0.001, "▏"),
            (0.5, "██"),
            (0.6, "██▍"),
            (1.0, "████"),
            (7.0, "████"),
            (f64::NAN, ""),
        ] {
            assert_eq!(bar(share, 4), shown);
        }
    }

    fn plot(figures: &[f64], mark: Option<f64>, width: usize) -> Vec<String> {
        let figures: Vec<(String, f64)> = (1..)
            .zip(figures)
            .map(|(day, n)| (format!("01-{day:02}"), *n))
            .collect();
        let amount = |n: f64| format!("${n:.2}");
        columns(
            &Columns {
                figures: &figures,
                mark,
                amount: &amount,
            },
            width,
        )
    }

    #[test]
    fn columns_are_as_high_as_their_figures_over_an_axis_with_amounts() {
        let expected = [
            "$0.80 ┤          ████",
            "      │          ████",
            "      │          ████",
            "      │████      ████",
            "$0.40 ┤████      ████",
            "      │████      ████",
            "      │████      ████",
            "      │████ ▁▁▁▁ ████",
            "$0.00 ┼───────────────",
            "       01-01     01-03",
        ];
        assert_eq!(plot(&[0.5, 0.001, 0.8], None, 22), expected);
    }

    #[test]
    fn a_limit_is_drawn_across_and_is_in_sight_when_it_is_far() {
        let lines = plot(&[0.1, 0.2], Some(0.8), 12);
        assert_eq!(lines[0], "$0.80 ┤┄┄┄┄");
        assert_eq!(lines[6], "      │  ██");
        assert_eq!(lines[7], "      │████");
    }

    #[test]
    fn of_too_many_columns_the_last_are_shown_and_nothing_is_no_plot() {
        let many: Vec<f64> = (1..=31).map(f64::from).collect();
        let lines = plot(&many, None, 19);
        assert!(
            lines.iter().all(|line| line.chars().count() <= 19),
            "{lines:?}"
        );
        assert!(lines[9].contains("01-21"), "{lines:?}");
        assert_eq!(plot(&[0.0], None, 40), Vec::<String>::new());
    }
}
