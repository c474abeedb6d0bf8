//! `ralph team cost`: what all machines spent.

use std::process::ExitCode;

use ralph_core::{dollars::Dollars, economics::Per};
use ralph_engine::store::{TeamCostBy, TeamCosts, TeamSum, day_of, first_day};
use serde::Serialize;

use super::{Team, machine_of, repository_of, short_id};
use crate::{
    cli::Global,
    error::CommandError,
    moment::Moment,
    output,
    project::Project,
    view::{
        Table, Tone, cell,
        figures::{compact, count},
        paint,
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sum up by this
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = CostBy::Machine)]
    by: CostBy,

    /// Only since this day: 2026-01-31 or 7d [default: the first of this month]
    #[arg(long, value_name = "WHEN", conflicts_with = "all")]
    since: Option<Moment>,

    /// All that was ever spent
    #[arg(long)]
    all: bool,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    most: u32,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
enum CostBy {
    Machine,
    Repository,
    Loop,
    Model,
    Day,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct TeamCostList {
    by: CostBy,
    since: Option<String>,
    rows: Vec<TeamCostRow>,
    more: bool,
    total: TeamCostRow,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TeamCostRow {
    /// The origin, repository, loop, model or day; none for calls to an unnamed model, and for the total.
    key: Option<String>,
    /// Its name; of a loop that of its machine.
    name: Option<String>,
    calls: u64,
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
    spent_usd: Dollars,
    estimated_usd: Dollars,
    unknown_tokens: u64,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let team = Team::open(global)?;
    let now = Project::now();
    let since = match (args.since, args.all) {
        (_, true) => None,
        (Some(since), false) => Some(day_of(since.at(now))),
        (None, false) => first_day(Per::Month, now),
    };
    let which = TeamCosts {
        by: match args.by {
            CostBy::Machine => TeamCostBy::Machine,
            CostBy::Repository => TeamCostBy::Repository,
            CostBy::Loop => TeamCostBy::Loop,
            CostBy::Model => TeamCostBy::Model,
            CostBy::Day => TeamCostBy::Day,
        },
        since: since.clone(),
        most: args.most + 1,
    };
    let found = team.ask(async |view| Ok(view.costs(&which).await?))?;
    let more = found.rows.len() > args.most as usize;
    let rows = found.rows.into_iter().take(args.most as usize);
    let listed = TeamCostList {
        by: args.by,
        since,
        rows: rows.map(|row| TeamCostRow::of(args.by, row)).collect(),
        more,
        total: TeamCostRow::of(CostBy::Day, found.total),
    };
    output::show(args.json, &listed, || render(&listed))
}

impl TeamCostRow {
    fn of(by: CostBy, sum: TeamSum) -> Self {
        let name = match by {
            CostBy::Machine => Some(machine_of(sum.name.as_deref(), &sum.key)),
            CostBy::Repository => sum.name.as_deref().map(repository_of),
            CostBy::Loop => sum.name,
            CostBy::Model | CostBy::Day => None,
        };
        Self {
            key: Some(sum.key).filter(|key| !key.is_empty()),
            name,
            calls: sum.calls,
            input_tokens: sum.input,
            output_tokens: sum.output,
            cache_read_tokens: sum.cache_read,
            cache_write_tokens: sum.cache_write,
            spent_usd: sum.spent,
            estimated_usd: sum.estimated,
            unknown_tokens: sum.unknown_tokens,
        }
    }

    fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }

    /// `$1.20`, `~$1.20` where a part of it is an estimate, `?` where nothing is known.
    fn spent(&self) -> String {
        let (estimated, unknown) = (self.estimated_usd, self.unknown_tokens);
        match (self.spent_usd, unknown) {
            (Dollars::NOTHING, 1..) => "?".to_owned(),
            (spent, 1..) => format!("≥ {spent}"),
            (spent, 0) if estimated > Dollars::NOTHING => format!("~{spent}"),
            (spent, 0) => spent.to_string(),
        }
    }
}

fn render(listed: &TeamCostList) -> String {
    let period = listed
        .since
        .as_ref()
        .map_or_else(|| "in all".to_owned(), |day| format!("since {day}"));
    if listed.rows.is_empty() {
        return format!("nothing was spent {period}\n");
    }
    let mut table = Table::new(0, 0);
    for row in &listed.rows {
        let key = row.key.as_deref().unwrap_or("(model not named)");
        let (first, second) = match listed.by {
            CostBy::Machine | CostBy::Repository => (row.name.as_deref().unwrap_or(key), ""),
            CostBy::Loop => (short_id(key), row.name.as_deref().unwrap_or_default()),
            CostBy::Model | CostBy::Day => (key, ""),
        };
        let calls = usize::try_from(row.calls).unwrap_or(usize::MAX);
        table.row([
            cell(Tone::Name, first),
            cell(Tone::Faint, second),
            cell(Tone::Plain, row.spent()),
            cell(Tone::Faint, format!("{} tokens", compact(row.tokens()))),
            cell(Tone::Faint, count(calls, "call", "calls")),
        ]);
    }
    let mut text = table.render(output::width());
    if listed.more {
        text.push_str("there are more: `--most N` shows them\n");
    }
    let label = paint(Tone::Heading, "total");
    text.push_str(&format!("{label} {} {period}\n", listed.total.spent()));
    text
}
