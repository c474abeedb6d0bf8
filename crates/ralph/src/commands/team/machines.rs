//! `ralph team` and `ralph team machines`: each machine, with what is open on it and what it spent this month.

use std::process::ExitCode;

use jiff::Timestamp;
use ralph_core::{dollars::Dollars, economics::Per};
use ralph_engine::store::{TeamMachine, first_day};
use serde::Serialize;

use super::{Team, machine_of, short_id};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    view::{
        Table, Tone, cell,
        figures::{ago, count, duration},
    },
};

#[derive(Debug, clap::Args)]
#[group(id = "machines")]
pub(crate) struct Args {
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TeamOverview {
    tenant: String,
    /// The first day that counts for what was spent.
    since: String,
    open_loops: u64,
    open_questions: u64,
    spent_usd: Dollars,
    machines: Vec<MachineEntry>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct MachineEntry {
    origin: String,
    name: String,
    first_seen: Option<Timestamp>,
    last_seen: Option<Timestamp>,
    server_ahead_ms: Option<i64>,
    open_loops: u64,
    open_questions: u64,
    spent_usd: Dollars,
}

impl From<TeamMachine> for MachineEntry {
    fn from(machine: TeamMachine) -> Self {
        Self {
            name: machine_of(Some(&machine.name), &machine.origin),
            origin: machine.origin,
            first_seen: machine.first_seen,
            last_seen: machine.last_seen,
            server_ahead_ms: machine.server_ahead_ms,
            open_loops: machine.open_loops,
            open_questions: machine.open_questions,
            spent_usd: machine.spent,
        }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let team = Team::open(global)?;
    let now = Project::now();
    let since = first_day(Per::Month, now).unwrap_or_default();
    let found = team.ask(async |view| Ok(view.machines(&since).await?))?;
    let spent = found.iter().map(|machine| machine.spent);
    let overview = TeamOverview {
        tenant: team.tenant,
        since,
        open_loops: found.iter().map(|machine| machine.open_loops).sum(),
        open_questions: found.iter().map(|machine| machine.open_questions).sum(),
        spent_usd: spent.fold(Dollars::NOTHING, Dollars::plus),
        machines: found.into_iter().map(MachineEntry::from).collect(),
    };
    output::show(args.json, &overview, || render(&overview, now))
}

/// The difference of clocks from which on it is said.
const TELLING_SKEW_MS: u64 = 5 * 60 * 1_000;

fn render(overview: &TeamOverview, now: Timestamp) -> String {
    let tenant = &overview.tenant;
    if overview.machines.is_empty() {
        return format!("tenant {tenant}: no machine has sent anything yet\n");
    }
    let machines = count(overview.machines.len(), "machine", "machines");
    let mut text = format!(
        "tenant {tenant}: {machines}, {}, {}, {} this month\n",
        of(overview.open_loops, "open loop", "open loops"),
        of(overview.open_questions, "open question", "open questions"),
        overview.spent_usd
    );
    let mut table = Table::new(0, 0);
    let is_repeated = |name: &str| {
        let named = overview.machines.iter().filter(|other| other.name == name);
        named.count() > 1
    };
    for machine in &overview.machines {
        let origin = if is_repeated(&machine.name) {
            short_id(&machine.origin)
        } else {
            ""
        };
        let seen = machine.last_seen;
        let seen = seen.map_or_else(String::new, |seen| format!("seen {}", ago(seen, now)));
        let skew = machine.server_ahead_ms.unwrap_or_default();
        let clock = if skew.unsigned_abs() < TELLING_SKEW_MS {
            String::new()
        } else {
            let by = duration(skew.unsigned_abs() as f64 / 1000.0);
            let side = if skew > 0 { "behind" } else { "ahead" };
            format!("clock {by} {side}")
        };
        table.row([
            cell(Tone::Name, &machine.name),
            cell(Tone::Faint, origin),
            cell(Tone::Faint, seen),
            cell(Tone::Plain, of(machine.open_loops, "loop", "loops")),
            cell(
                Tone::Careful,
                some(machine.open_questions, "question", "questions"),
            ),
            cell(Tone::Plain, machine.spent_usd.to_string()),
            cell(Tone::Careful, clock),
        ]);
    }
    text.push_str(&table.render(output::width()));
    if overview.open_questions > 0 {
        text.push_str("`ralph team questions` shows the questions, `ralph team answer` answers\n");
    }
    text
}

fn of(n: u64, one: &str, many: &str) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), one, many)
}

fn some(n: u64, one: &str, many: &str) -> String {
    if n == 0 {
        String::new()
    } else {
        of(n, one, many)
    }
}
