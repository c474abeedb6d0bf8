//! `ralph cost budgets`: what is spent, reserved and left of each budget, and by whom.
//!
//! Only reads. A task and a loop have a budget each: one line for each that has spent something.

use std::process::ExitCode;

use ralph_core::{
    dollars::Dollars,
    economics::{Budget, BudgetPolicy, Per, Reserve, Scope, reserve},
};
use ralph_engine::store::{CostRow, Journal, RepositoryId, SpendingScope, SumBy, first_day};
use serde::Serialize;

use crate::{
    error::CommandError,
    output,
    project::{self, Project},
    view::{Cell, Table, Tone, cell, paint},
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Show all tasks, loops and repositories that spent something, not only the five highest
    #[arg(long, short)]
    all: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The number of spenders that are shown without `--all`.
const MOST: u32 = 5;
/// Iterations that the reserve is judged by, as in a loop.
const RECENT: u32 = 50;

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct ListedBudgets {
    budgets: Vec<BudgetRow>,
    /// There are other tasks, loops or repositories, which spent less.
    more: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BudgetRow {
    #[serde(flatten)]
    budget: Budget,
    /// The task or the loop, where each has a budget of its own.
    whose: Option<String>,
    /// The first day that counts; none for a budget in total.
    since: Option<String>,
    spent_usd: Dollars,
    /// The amount that has to be left for another iteration; none where too little is known.
    reserved_usd: Option<Dollars>,
    left_usd: Dollars,
    /// The spenders, the highest first.
    by: Vec<Spender>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Spender {
    kind: SpenderKind,
    name: String,
    spent_usd: Dollars,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum SpenderKind {
    Repository,
    Task,
    Loop,
}

pub(super) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let listed = project::block_on(gather(project, args.all))?;
    output::show(args.json, &listed, || render(&listed))
}

async fn gather(project: &Project, all: bool) -> Result<ListedBudgets, CommandError> {
    let mut listed = ListedBudgets {
        budgets: Vec::new(),
        more: false,
    };
    let mut opened = project.journal().await?;
    for budget in &project.config().budgets {
        let row = |whose, spent: Dollars| BudgetRow {
            budget: *budget,
            whose,
            since: first_day(budget.per, Project::now()),
            spent_usd: spent,
            reserved_usd: None,
            left_usd: budget.usd.without(spent),
            by: Vec::new(),
        };
        let Some((journal, repository)) = &mut opened else {
            // Where ralph never ran, nothing is spent.
            listed.budgets.push(row(None, Dollars::NOTHING));
            continue;
        };
        let costs = journal.last_costs(repository, RECENT).await?;
        let reserved = match budget.action {
            BudgetPolicy::Deny | BudgetPolicy::Throttle => reserve(&costs).map(|Reserve(usd)| usd),
            BudgetPolicy::AlertOnly => None,
        };
        let mut spenders = spenders(&mut **journal, repository, budget).await?;
        if !all && spenders.len() > MOST as usize {
            spenders.truncate(MOST as usize);
            listed.more = true;
        }
        let since = first_day(budget.per, Project::now());
        let whole = match budget.scope {
            Scope::Organisation => Some(SpendingScope::All),
            Scope::Project => Some(SpendingScope::Repository),
            Scope::Task | Scope::Loop => None,
        };
        match whole {
            Some(whole) => {
                let spent = journal
                    .spending(repository, whole, since.as_deref())
                    .await?;
                listed.budgets.push(BudgetRow {
                    reserved_usd: reserved,
                    by: spenders,
                    ..row(None, spent.spent)
                });
            }
            None if spenders.is_empty() => listed.budgets.push(BudgetRow {
                reserved_usd: reserved,
                ..row(None, Dollars::NOTHING)
            }),
            None => listed
                .budgets
                .extend(spenders.into_iter().map(|one| BudgetRow {
                    reserved_usd: reserved,
                    ..row(Some(one.name), one.spent_usd)
                })),
        }
    }
    Ok(listed)
}

/// Lists the spenders of a budget, the highest first.
async fn spenders(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    budget: &Budget,
) -> Result<Vec<Spender>, CommandError> {
    let since = first_day(budget.per, Project::now());
    let since = since.as_deref();
    let (kind, rows) = match budget.scope {
        Scope::Organisation => {
            let rows = journal.costs_by_repository(since).await?;
            (SpenderKind::Repository, rows)
        }
        Scope::Project | Scope::Task => {
            let rows = journal.costs(repository, SumBy::Task, since, u32::MAX);
            (SpenderKind::Task, rows.await?)
        }
        Scope::Loop => {
            let rows = journal.costs(repository, SumBy::Loop, since, u32::MAX);
            (SpenderKind::Loop, rows.await?)
        }
    };
    let spent = |row: &CostRow| row.totals.spent > Dollars::NOTHING;
    let spender = |row: CostRow| Spender {
        kind,
        // The folder of a repository is known by the one that its git folder is in.
        name: row.key.trim_end_matches("/.git").to_owned(),
        spent_usd: row.totals.spent,
    };
    Ok(rows.into_iter().filter(spent).map(spender).collect())
}

fn render(listed: &ListedBudgets) -> String {
    if listed.budgets.is_empty() {
        return "no budgets are set; `budgets` in ralph.yaml sets them\n".to_owned();
    }
    let mut table = Table::new(0, 0);
    let heading = ["budget", "limit", "action", "spent", "reserved", "left"];
    table.row(heading.map(|text| cell(Tone::Heading, text)));
    let mut by = Table::new(1, 2);
    for row in &listed.budgets {
        table.row(cells(row));
        if !row.by.is_empty() {
            let spenders = row.by.iter();
            let spenders = spenders.map(|one| format!("{} {}", one.name, one.spent_usd));
            let spenders: Vec<String> = spenders.collect();
            by.row([
                cell(Tone::Name, name(row)),
                cell(Tone::Plain, spenders.join(", ")),
            ]);
        }
    }
    let width = output::width();
    let mut text = table.render(width);
    text.push_str(
        "\nreserved: what another iteration may cost; it begins only if that much is left\n",
    );
    let by = by.render(width);
    if !by.is_empty() {
        text.push_str(&format!("\n{}\n{by}", paint(Tone::Heading, "spent by")));
    }
    if listed.more {
        text.push_str("… and more; `--all` shows all\n");
    }
    text
}

fn name(row: &BudgetRow) -> String {
    let scope = row.budget.scope.as_str();
    match &row.whose {
        Some(whose) => format!("{scope} {whose}"),
        None => scope.to_owned(),
    }
}

fn cells(row: &BudgetRow) -> [Cell; 6] {
    let budget = &row.budget;
    let per = match budget.per {
        Per::Day => "a day",
        Per::Month => "a month",
        Per::Total => "in total",
    };
    let unfunded = row
        .reserved_usd
        .is_some_and(|reserved| reserved > row.left_usd);
    let tone = if row.left_usd == Dollars::NOTHING {
        Tone::Bad
    } else if unfunded {
        Tone::Careful
    } else {
        Tone::Plain
    };
    let action = match budget.action {
        BudgetPolicy::Deny => "deny",
        BudgetPolicy::Throttle => "throttle",
        BudgetPolicy::AlertOnly => "alert only",
    };
    [
        cell(Tone::Name, name(row)),
        cell(Tone::Plain, format!("{} {per}", budget.usd)),
        cell(Tone::Faint, action),
        cell(Tone::Plain, row.spent_usd.to_string()),
        match row.reserved_usd {
            Some(usd) => cell(Tone::Plain, usd.to_string()),
            None => cell(Tone::Faint, "–"),
        },
        cell(tone, row.left_usd.to_string()),
    ]
}
