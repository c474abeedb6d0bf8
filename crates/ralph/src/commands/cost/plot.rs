//! Days as a plot: what each cost, and what it came to beside the budget.

use jiff::{ToSpan as _, civil::Date};
use ralph_core::{
    dollars::Dollars,
    economics::{Budget, BudgetPolicy, Per, Scope},
};

use super::Row;
use crate::view::{
    Tone, paint,
    plot::{Columns, columns},
};

/// Days that are drawn at most.
const MOST_DAYS: usize = 366;

/// Data of the charts besides the rows.
#[derive(Debug, Default)]
pub(super) struct Backdrop {
    /// The cost before the first of the days.
    pub(super) before: Dollars,
    /// Of the project.
    pub(super) budgets: Vec<Budget>,
}

impl Backdrop {
    /// The strictest budget of the project for this time.
    fn budget(&self, per: Per) -> Option<Budget> {
        let of_project = |b: &&Budget| b.scope == Scope::Project && b.per == per;
        let budgets = self.budgets.iter().filter(of_project);
        budgets.min_by_key(|budget| budget.usd).copied()
    }
}

/// Both plots, for rows that are days, the newest first.
pub(super) fn render(rows: &[Row], backdrop: &Backdrop, width: usize) -> String {
    let days = continuous(rows);
    let Some((first, _)) = days.first() else {
        return String::new();
    };
    let figures: Vec<(String, f64)> = days.iter().map(|(d, n)| (named(*d), n.usd())).collect();
    let daily = backdrop.budget(Per::Day);
    let mut text = plot("spent per day (UTC)", &figures, daily, width);
    let months = backdrop.budget(Per::Month);
    let (budget, start) = match (backdrop.budget(Per::Total), months) {
        (None, Some(month)) => {
            let now = days.last().map_or(*first, |(day, _)| *day);
            (Some(month), now.first_of_month())
        }
        (total, _) => (total, *first),
    };
    // A month begins with nothing; else what was spent earlier is below the first column.
    let mut sum = if start == *first && budget.is_none_or(|b| b.per == Per::Total) {
        backdrop.before
    } else {
        Dollars::NOTHING
    };
    let mut sums = Vec::new();
    for (day, spent) in days.iter().filter(|(day, _)| *day >= start) {
        sum = sum.plus(*spent);
        sums.push((named(*day), sum.usd()));
    }
    text.push('\n');
    text.push_str(&plot("in all", &sums, budget, width));
    text.push('\n');
    text
}

fn plot(name: &str, figures: &[(String, f64)], budget: Option<Budget>, width: usize) -> String {
    let amount = |n: f64| Dollars::told(n).to_string();
    let lines = columns(
        &Columns {
            figures,
            mark: budget.map(|budget| budget.usd.usd()),
            amount: &amount,
        },
        width,
    );
    let against = budget.map_or_else(String::new, |budget| {
        let what = match budget.action {
            BudgetPolicy::Deny | BudgetPolicy::Throttle => "┄",
            BudgetPolicy::AlertOnly => "┄ (alert only)",
        };
        format!(", {what} {}", budget.describe())
    });
    let heading = paint(Tone::Heading, name);
    let lines: Vec<String> = lines.iter().map(|line| paint(Tone::Good, line)).collect();
    format!("{heading}{against}\n{}\n", lines.join("\n"))
}

/// All days from the first to the last, oldest first; those without a row cost nothing.
fn continuous(rows: &[Row]) -> Vec<(Date, Dollars)> {
    let day = |row: &Row| row.key.as_deref()?.parse::<Date>().ok();
    let mut known: Vec<(Date, Dollars)> = rows
        .iter()
        .filter_map(|row| Some((day(row)?, row.figures.spent_usd)))
        .collect();
    known.sort_unstable();
    let (Some((first, _)), Some((last, _))) = (known.first().copied(), known.last().copied())
    else {
        return Vec::new();
    };
    let mut days = Vec::new();
    let mut known = known.into_iter().peekable();
    for date in first.series(1.day()).take_while(|date| *date <= last) {
        let spent = known.next_if(|(day, _)| *day == date);
        days.push((date, spent.map_or(Dollars::NOTHING, |(_, spent)| spent)));
    }
    days.split_off(days.len().saturating_sub(MOST_DAYS))
}

fn named(day: Date) -> String {
    day.strftime("%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use ralph_core::economics::Totals;

    use super::*;

    fn row(day: &str, usd: f64) -> Row {
        let totals = Totals {
            spent: Dollars::told(usd),
            ..Totals::default()
        };
        Row {
            key: Some(day.to_owned()),
            figures: totals.into(),
        }
    }

    fn budget(per: Per, usd: f64) -> Budget {
        Budget {
            scope: Scope::Project,
            per,
            usd: Dollars::told(usd),
            action: BudgetPolicy::Deny,
        }
    }

    #[test]
    fn days_without_spending_have_their_place_and_sums_climb_to_the_budget() {
        let rows = [row("2026-01-04", 0.4), row("2026-01-02", 0.2)];
        let backdrop = Backdrop {
            before: Dollars::told(0.2),
            budgets: vec![budget(Per::Total, 1.0)],
        };
        let text = render(&rows, &backdrop, 22);
        // 0.2 and 0.4 of 0.4; then 0.4, 0.4 and 0.8 of 1.0 in all.
        let expected = "\
spent per day (UTC)
$0.40 ┤          ████
      │          ████
      │          ████
      │          ████
$0.20 ┤████      ████
      │████      ████
      │████      ████
      │████      ████
$0.00 ┼───────────────
       01-02     01-04

in all, ┄ the project's budget of $1.00 in total
$1.00 ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄
      │          ▃▃▃▃
      │          ████
      │          ████
$0.50 ┤▂▂▂▂ ▂▂▂▂ ████
      │████ ████ ████
      │████ ████ ████
      │████ ████ ████
$0.00 ┼───────────────
       01-02     01-04

";
        assert_eq!(text, expected);
    }

    #[test]
    fn a_budget_of_a_month_is_compared_with_that_month() {
        let rows = [row("2026-02-01", 0.3), row("2026-01-31", 0.5)];
        let backdrop = Backdrop {
            before: Dollars::told(9.0),
            budgets: vec![budget(Per::Month, 0.4)],
        };
        let text = render(&rows, &backdrop, 40);
        let sums = text.split_once("in all").unwrap().1;
        assert!(
            sums.starts_with(", ┄ the project's budget of $0.40 a month\n$0.40 ┤"),
            "{text}"
        );
        assert!(sums.contains("02-01") && !sums.contains("01-31"), "{text}");
    }
}
