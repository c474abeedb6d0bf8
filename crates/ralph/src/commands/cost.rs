//! `ralph cost`: what was spent, by task, model, day or loop; what is still to come; what models cost.
//!
//! Only reads, and only sums that the journal keeps: how much is stored makes no difference.

mod budgets;
pub(crate) mod figures;
mod plot;
mod prices;
mod show;

use std::process::ExitCode;

use jiff::civil::Date;
use ralph_core::{
    board::Board,
    dollars::Dollars,
    economics::{ComparedForecast, Forecast},
    id::LoopId,
};
use ralph_engine::{
    forecast::{CostHistory, compared},
    store::{Journal, JournalError, RepositoryId, SpendingScope, SumBy, day_of},
};
use serde::Serialize;

pub(crate) use self::{prices::in_force as prices_in_force, show::table_against_agents};

use self::figures::Figures;
use crate::{
    error::CommandError,
    output,
    project::{self, Project, SourceUse},
    queue,
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Option<Sub>,

    /// What to group the cost by
    #[arg(long, value_enum, value_name = "WHAT", default_value_t = By::Task)]
    by: By,

    /// Only costs since this day: a date like 2026-01-31, or a number of days like 7d
    #[arg(long, value_name = "DAY", value_parser = parse_since)]
    since: Option<Since>,

    /// Show at most this many groups, the most expensive first; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u32,

    /// Estimate the cost of the remaining tasks from the finished ones
    #[arg(long, conflicts_with = "csv")]
    forecast: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    /// Print CSV instead of text
    #[arg(long, conflicts_with = "json")]
    csv: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Sub {
    /// List the prices in use, in dollars per million tokens
    Prices(prices::Args),
    /// Show each budget: what is spent, reserved and left of it, and who spent it
    Budgets(budgets::Args),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum By {
    Task,
    Model,
    Day,
    Loop,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    Day(Date),
    /// So many days, today included.
    Last(i64),
}

pub(crate) fn parse_since(text: &str) -> Result<Since, String> {
    let days = text.strip_suffix('d').and_then(|n| n.parse::<i64>().ok());
    if let Some(days) = days.filter(|n| (1..=36_500).contains(n)) {
        return Ok(Since::Last(days));
    }
    let date = text.parse::<Date>();
    date.map(Since::Day)
        .map_err(|_| "expected a date like 2026-01-31, or a number of days like 7d".to_owned())
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Costs {
    by: By,
    since: Option<String>,
    rows: Vec<Row>,
    /// There are others, which cost less; or days before.
    more: bool,
    total: Figures,
    prices_as_of: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    forecast: Option<Foreseen>,
    /// Only for the plot of days.
    #[serde(skip)]
    backdrop: plot::Backdrop,
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// The task, model, day or loop; none for calls to an unnamed model.
    key: Option<String>,
    #[serde(flatten)]
    figures: Figures,
}

/// The remaining cost; `forecast` is none if too few tasks are finished.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Foreseen {
    loop_id: Option<LoopId>,
    finished_tasks: usize,
    remaining_tasks: usize,
    range: Option<Forecast>,
    /// The earlier forecast of the loop and the real cost.
    earlier: Option<ComparedForecast>,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    match &args.command {
        Some(Sub::Prices(args)) => return prices::run(args, project),
        Some(Sub::Budgets(args)) => return budgets::run(args, project),
        None => {}
    }
    let query = CostQuery {
        by: args.by,
        since: args.since,
        limit: args.limit,
        forecast: args.forecast,
    };
    let costs = project::block_on(gather(project, query))?;
    output::show(args.json, &costs, || {
        if args.csv {
            show::csv(&costs)
        } else {
            show::render(&costs)
        }
    })
}

/// Which costs to sum up, and by what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CostQuery {
    pub(crate) by: By,
    pub(crate) since: Option<Since>,
    /// At most this many groups; 0 for all.
    pub(crate) limit: u32,
    pub(crate) forecast: bool,
}

pub(crate) async fn gather(project: &Project, query: CostQuery) -> Result<Costs, CommandError> {
    let since = query.since.map(first_day).transpose()?;
    let prices = prices::in_force(project)?;
    let mut costs = Costs {
        by: query.by,
        since,
        rows: Vec::new(),
        more: false,
        total: Figures::default(),
        prices_as_of: prices.as_of().to_owned(),
        forecast: None,
        backdrop: plot::Backdrop {
            budgets: project.config().budgets.clone(),
            ..plot::Backdrop::default()
        },
    };
    let mut journal = project.journal().await?;
    if let Some((journal, repository)) = &mut journal {
        sum_up(&mut **journal, repository, query.limit, &mut costs).await?;
    }
    if query.forecast {
        costs.forecast = Some(forecast(project, journal.as_mut()).await?);
    }
    Ok(costs)
}

async fn sum_up(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    limit: u32,
    costs: &mut Costs,
) -> Result<(), JournalError> {
    let by = match costs.by {
        By::Task => SumBy::Task,
        By::Model => SumBy::Model,
        By::Day => SumBy::Day,
        By::Loop => SumBy::Loop,
    };
    let most = if limit == 0 { u32::MAX } else { limit };
    let since = costs.since.as_deref();
    // One more than is shown: whether there are others.
    let asked = most.saturating_add(1);
    let mut rows = journal.costs(repository, by, since, asked).await?;
    costs.more = rows.len() > most as usize;
    rows.truncate(most as usize);
    let rows = rows.into_iter().map(|row| Row {
        key: Some(row.key).filter(|key| !key.is_empty()),
        figures: row.totals.into(),
    });
    costs.rows = rows.collect();
    let whole = SpendingScope::Repository;
    costs.total = journal.spending(repository, whole, since).await?.into();
    if costs.by == By::Day {
        let ever = journal.spending(repository, whole, None).await?;
        let shown = costs.rows.iter().map(|row| row.figures.spent_usd);
        let shown = shown.fold(Dollars::NOTHING, Dollars::plus);
        costs.backdrop.before = ever.spent.without(shown);
    }
    Ok(())
}

/// Forecasts the cost of the remaining tasks from those of the last loop.
async fn forecast(
    project: &Project,
    journal: Option<&mut (Box<dyn Journal>, RepositoryId)>,
) -> Result<Foreseen, CommandError> {
    let mut foreseen = Foreseen::default();
    let mut history = CostHistory::default();
    let usage = SourceUse::Look(SourceUse::CHOOSE);
    let path = match journal {
        Some((journal, repository)) => {
            let worktree = project.worktree();
            if let Some(last) = journal.last_loop(repository, &worktree).await? {
                history = CostHistory::of_loop(&mut **journal, repository, &last.id).await?;
                foreseen.earlier = compared(&mut **journal, repository, &last.id).await?;
                foreseen.loop_id = Some(last.id);
            }
            // What is foreseen is the rest of what the last loop worked at.
            queue::source_path(project, &mut **journal, repository, usage).await?
        }
        None => project.source_path(None, usage)?,
    };
    let (_, graph, _) = project.read_source(&path)?;
    let scope = project.scope(&graph)?;
    let counts = Board::new(graph, scope.parent())?.counts();
    foreseen.finished_tasks = history.finished.len();
    foreseen.remaining_tasks = counts.ready + counts.waiting;
    let multi_agent = project.config().economics.multi_agent;
    foreseen.range = history.forecast(foreseen.remaining_tasks, multi_agent);
    Ok(foreseen)
}

fn first_day(since: Since) -> Result<String, CommandError> {
    match since {
        Since::Day(date) => Ok(date.to_string()),
        Since::Last(days) => {
            let span = jiff::SignedDuration::from_hours(24 * (days - 1));
            let first = Project::now().checked_sub(span);
            first.map(day_of).map_err(CommandError::user)
        }
    }
}
