//! `ralph db budget`: what a tenant may spend on all of its machines together.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_core::{dollars::Dollars, economics::Per};
use ralph_engine::team::{NewTeamBudget, machine_name};
use serde::Serialize;

use super::{Keeper, ServerArg, TenantArg};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{Table, Tone, cell, figures::ago},
};

subcommands! {
    BudgetCommand {
        /// Set what the tenant may spend in a day, a month or in total
        Set(self::BudgetSetArgs => set; writes),
        /// List the budgets, with what machines hold of them
        List(self::BudgetListArgs => list; reads),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum BudgetPer {
    Day,
    Month,
    Total,
}

/// Machines reserve what they spend on the server before they spend it, so that together they can't spend more. The
/// change is in the audit trail.
#[derive(Debug, clap::Args)]
pub(crate) struct BudgetSetArgs {
    /// Amount in dollars, such as 200 or 12.50
    #[arg(value_name = "USD", value_parser = dollars)]
    usd: Dollars,

    /// The period that it is for; days and months are those of UTC
    #[arg(long, value_name = "PERIOD", value_enum)]
    per: BudgetPer,

    #[command(flatten)]
    tenant: TenantArg,

    #[command(flatten)]
    server: ServerArg,
}

#[derive(Debug, clap::Args)]
pub(crate) struct BudgetListArgs {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    tenant: TenantArg,

    #[command(flatten)]
    server: ServerArg,
}

/// An amount that is one.
fn dollars(text: &str) -> Result<Dollars, String> {
    let number = text.strip_prefix('$').unwrap_or(text).parse::<f64>();
    let most = f64::from(Dollars::MAX);
    match number {
        Ok(usd) if (0.0..=most).contains(&usd) => Ok(Dollars::told(usd)),
        Ok(_) | Err(_) => Err(format!("expected an amount of dollars from 0 to {most}")),
    }
}

fn set(args: &BudgetSetArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let tenant = keeper.tenant(&args.tenant)?;
    let per = match args.per {
        BudgetPer::Day => Per::Day,
        BudgetPer::Month => Per::Month,
        BudgetPer::Total => Per::Total,
    };
    let (who, machine) = (keeper.project.who(), machine_name());
    let budget = NewTeamBudget {
        tenant: &tenant,
        per,
        usd: args.usd,
        who: &who,
        machine: &machine,
        at: Project::now(),
    };
    block_on(async { Ok(keeper.admin.set_budget(&budget).await?) })?;
    output::print(&format!(
        "tenant {tenant} may spend {} {}\n",
        args.usd,
        period(per)
    ));
    Ok(ExitCode::SUCCESS)
}

fn period(per: Per) -> &'static str {
    match per {
        Per::Day => "a day",
        Per::Month => "a month",
        Per::Total => "in total",
    }
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct ListedTeamBudgets {
    tenant: String,
    budgets: Vec<ListedTeamBudget>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTeamBudget {
    per: Per,
    usd: Dollars,
    /// The amount of the current period that machines hold.
    taken_usd: Dollars,
    left_usd: Dollars,
    set_by: String,
    set_at: Timestamp,
}

fn list(args: &BudgetListArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let mut keeper = Keeper::open(global, &args.server)?;
    let tenant = keeper.tenant(&args.tenant)?;
    let now = Project::now();
    let found = block_on(async { Ok(keeper.admin.budgets(&tenant, now).await?) })?;
    let budgets = found.into_iter().map(|budget| ListedTeamBudget {
        per: budget.per,
        usd: budget.usd,
        taken_usd: budget.taken,
        left_usd: budget.usd.without(budget.taken),
        set_by: budget.set_by,
        set_at: budget.set_at,
    });
    let listed = ListedTeamBudgets {
        tenant,
        budgets: budgets.collect(),
    };
    output::show(args.json, &listed, || render(&listed, now))
}

fn render(listed: &ListedTeamBudgets, now: Timestamp) -> String {
    if listed.budgets.is_empty() {
        return format!("tenant {} has no budget\n", listed.tenant);
    }
    let mut table = Table::new(3, 0);
    for budget in &listed.budgets {
        table.row([
            cell(
                Tone::Heading,
                format!("{} {}", budget.usd, period(budget.per)),
            ),
            cell(Tone::Plain, format!("{} held", budget.taken_usd)),
            cell(Tone::Good, format!("{} left", budget.left_usd)),
            cell(
                Tone::Faint,
                format!("set by {} {}", budget.set_by, ago(budget.set_at, now)),
            ),
        ]);
    }
    table.render(output::width())
}
