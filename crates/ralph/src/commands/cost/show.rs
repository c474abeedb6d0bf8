//! Sums for a person: a table with bars, what they come to, and what is not known. And as CSV.

use ralph_core::dollars::Dollars;

use super::{By, Costs, Figures, Foreseen, Row, figures::NO_MODEL, plot};
use crate::{
    output,
    view::{
        Cell, Table, Tone, cell,
        figures::{compact, count},
        paint,
        plot::bar,
    },
};

/// The length of the longest bar, and where the screen is narrow.
const BAR: usize = 20;
const SHORT_BAR: usize = 8;
/// Columns from which on the long one fits.
const WIDE: usize = 96;

pub(super) fn render(costs: &Costs) -> String {
    let mut text = if costs.rows.is_empty() {
        "nothing spent yet\n".to_owned()
    } else {
        let width = output::width().unwrap_or(WIDTH);
        let plot = match costs.by {
            By::Day => plot::render(&costs.rows, &costs.backdrop, width),
            By::Task | By::Model | By::Loop => String::new(),
        };
        plot + &table(costs) + &footer(costs)
    };
    if let Some(foreseen) = &costs.forecast {
        text.push('\n');
        text.push_str(&foresee(foreseen));
    }
    text
}

/// Columns if the width of the terminal is not known.
const WIDTH: usize = 80;

fn table(costs: &Costs) -> String {
    let dearest = costs.rows.iter().map(|row| row.figures.spent_usd).max();
    let dearest = dearest.unwrap_or_default();
    let mut table = Table::new(0, 0);
    let name = match costs.by {
        By::Task => "task",
        By::Model => "model",
        By::Day => "day (UTC)",
        By::Loop => "loop",
    };
    let kinds = ["tokens", "input", "output", "cache read", "cache write"];
    let heading = [name, "spent", ""].into_iter().chain(kinds);
    let heading: Vec<Cell> = heading.map(|text| cell(Tone::Heading, text)).collect();
    table.row(heading);
    for row in &costs.rows {
        table.row(cells(row, dearest));
    }
    table.render(output::width())
}

fn cells(row: &Row, dearest: Dollars) -> [Cell; 8] {
    let figures = &row.figures;
    let [input, output, cache_read, cache_write] = figures.kinds().map(|(_, _, cost)| match cost {
        None => cell(Tone::Faint, "–"),
        Some(cost) => cell(Tone::Plain, cost.to_string()),
    });
    let share = figures.spent_usd.usd() / dearest.usd().max(f64::MIN_POSITIVE);
    [
        match &row.key {
            Some(key) => cell(Tone::Name, key),
            None => cell(Tone::Faint, NO_MODEL),
        },
        cell(Tone::Plain, figures.spent().to_string()),
        cell(Tone::Good, bar(share, bar_width())),
        cell(Tone::Plain, compact(figures.tokens.total())),
        input,
        output,
        cache_read,
        cache_write,
    ]
}

fn bar_width() -> usize {
    match output::width() {
        Some(width) if width < WIDE => SHORT_BAR,
        Some(_) | None => BAR,
    }
}

fn footer(costs: &Costs) -> String {
    let total = &costs.total;
    let mut text = String::new();
    if costs.more {
        text.push_str("… and more; `--limit 0` shows all\n");
    }
    let since = costs.since.as_deref();
    let since = since.map_or_else(String::new, |day| format!(" since {day}"));
    let calls = count(total.calls as usize, "call", "calls");
    text.push_str(&format!(
        "\n{} {}{since}, {calls} to models, {} tokens\n",
        paint(Tone::Heading, "total"),
        total.spent(),
        compact(total.tokens.total()),
    ));
    text.push_str(&table_against_agents(total, &costs.prices_as_of));
    text
}

/// The source of the columns by kind, and the difference from what agents reported.
pub(crate) fn table_against_agents(total: &Figures, as_of: &str) -> String {
    let mut text = format!("by kind: as the prices of {as_of} have it");
    // Where no model has a price, there is nothing to compare with.
    if total.told_usd > Dollars::NOTHING && total.told_by_table_usd > Dollars::NOTHING {
        let sign = if total.difference_usd < 0.0 { '-' } else { '+' };
        text.push_str(&format!(
            "; agents say {} where these make {} ({sign}{}), and theirs counts",
            total.told_usd,
            total.told_by_table_usd,
            Dollars::told(total.difference_usd.abs()),
        ));
    }
    text.push('\n');
    if total.estimated_tokens > 0 {
        text.push_str(&format!(
            "~ estimated: {} tokens are of models that only their family has a price for; \
             `economics.prices` sets one\n",
            compact(total.estimated_tokens)
        ));
    }
    if total.unpriced_tokens > 0 {
        let spent = match total.unknown_tokens {
            0 => String::new(),
            n => format!(", and what {} of them cost is not known", compact(n)),
        };
        text.push_str(&format!(
            "? {} tokens are of models without a price{spent}; `economics.prices` sets one\n",
            compact(total.unpriced_tokens)
        ));
    }
    text
}

fn foresee(foreseen: &Foreseen) -> String {
    let left = count(foreseen.remaining_tasks, "task is", "tasks are");
    let head = paint(Tone::Heading, "forecast");
    let mut text = match &foreseen.range {
        _ if foreseen.remaining_tasks == 0 => format!("{head} no tasks left\n"),
        None => format!(
            "{head} {left} left; a forecast needs three finished tasks in one loop; there are {}\n",
            foreseen.finished_tasks
        ),
        Some(range) => {
            let factor = match range.factor {
                1 => String::new(),
                n => format!(", times {n} for subagents"),
            };
            format!(
                "{head} {left} left: {}, in eight cases of ten {} to {}; by {} finished ones{factor}\n",
                range.expected_usd, range.low_usd, range.high_usd, range.finished_tasks,
            )
        }
    };
    // One that nothing has come of yet says what the new one says.
    let earlier = foreseen.earlier;
    if let Some(earlier) = earlier.filter(|e| e.came_to_usd > Dollars::NOTHING) {
        let at = earlier.kept.made_at.strftime("%Y-%m-%d %H:%M UTC");
        text.push_str(&format!("made {at}: {}\n", earlier.sentence()));
    }
    text
}

pub(super) fn csv(costs: &Costs) -> String {
    let cells = |row: &Row| {
        let figures = &row.figures;
        let (tokens, cost) = (figures.tokens, figures.cost_usd);
        [
            ("key", quoted(row.key.as_deref().unwrap_or_default())),
            ("spent_usd", plain(figures.spent_usd)),
            ("calls", figures.calls.to_string()),
            ("input_tokens", tokens.input.to_string()),
            ("output_tokens", tokens.output.to_string()),
            ("cache_read_tokens", tokens.cache_read.to_string()),
            ("cache_write_tokens", tokens.cache_write.to_string()),
            ("input_usd", plain(cost.input)),
            ("output_usd", plain(cost.output)),
            ("cache_read_usd", plain(cost.cache_read)),
            ("cache_write_usd", plain(cost.cache_write)),
            ("unpriced_tokens", figures.unpriced_tokens.to_string()),
            ("told_usd", plain(figures.told_usd)),
            ("told_by_table_usd", plain(figures.told_by_table_usd)),
            ("estimated_usd", plain(figures.estimated_usd)),
            ("unknown_tokens", figures.unknown_tokens.to_string()),
        ]
    };
    let names = cells(&Row::default()).map(|(name, _)| name.to_owned());
    let rows = costs
        .rows
        .iter()
        .map(|row| cells(row).map(|(_, value)| value));
    let lines = std::iter::once(names).chain(rows);
    lines.map(|cells| cells.join(",") + "\n").collect()
}

/// To the millionth, without a sign of what it is.
fn plain(amount: Dollars) -> String {
    format!("{:.6}", amount.usd())
}

/// A text as a cell. A spreadsheet must not take it for a formula.
fn quoted(text: &str) -> String {
    let safe = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        format!("'{text}")
    } else {
        text.to_owned()
    };
    if safe.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", safe.replace('"', "\"\""))
    } else {
        safe
    }
}
