//! `ralph team checkpoints`: the checkpoints of all machines, newest first.

use std::process::ExitCode;

use ralph_core::id::LoopId;
use ralph_engine::store::{TeamCheckpoint, TeamCheckpoints};
use serde::Serialize;

use super::{Team, TeamListArgs, find_loop, machine_of, short_id};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    view::{
        Table, Tone, cell,
        figures::{ago_text, short_commit},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only those of this loop: its id, or the beginning of it
    #[arg(long = "loop", value_name = "LOOP")]
    of_loop: Option<String>,

    #[command(flatten)]
    list: TeamListArgs,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct TeamCheckpointList {
    checkpoints: Vec<TeamCheckpointEntry>,
    more: bool,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TeamCheckpointEntry {
    id: String,
    machine: String,
    origin: String,
    repository_id: String,
    loop_id: LoopId,
    n: u64,
    iteration: Option<u64>,
    phase: String,
    at: String,
    hash: String,
    tip_commit: String,
}

impl From<TeamCheckpoint> for TeamCheckpointEntry {
    fn from(row: TeamCheckpoint) -> Self {
        Self {
            machine: machine_of(row.machine.as_deref(), &row.origin),
            id: row.id,
            origin: row.origin,
            repository_id: row.repository_id,
            loop_id: row.loop_id,
            n: row.n,
            iteration: row.iteration,
            phase: row.phase,
            at: row.at,
            hash: row.hash,
            tip_commit: row.tip_commit,
        }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let team = Team::open(global)?;
    let list = &args.list;
    let mut found = team.ask(async |view| {
        let loop_id = match &args.of_loop {
            Some(id) => Some(find_loop(view, id).await?.id),
            None => None,
        };
        let which = TeamCheckpoints {
            loop_id,
            since: list.since.map(|since| since.at(Project::now())),
            most: list.most + 1,
        };
        Ok(view.checkpoints(&which).await?)
    })?;
    let more = found.len() > list.most as usize;
    found.truncate(list.most as usize);
    let listed = TeamCheckpointList {
        checkpoints: found.into_iter().map(TeamCheckpointEntry::from).collect(),
        more,
    };
    output::show(list.json, &listed, || render(&listed))
}

fn render(listed: &TeamCheckpointList) -> String {
    if listed.checkpoints.is_empty() {
        return "no checkpoints\n".to_owned();
    }
    let now = Project::now();
    let mut table = Table::new(1, 0);
    for row in &listed.checkpoints {
        let iteration = row
            .iteration
            .map_or_else(String::new, |n| format!("iteration {n}"));
        table.row([
            cell(Tone::Name, short_id(&row.id)),
            cell(Tone::Faint, &row.machine),
            cell(
                Tone::Plain,
                format!("loop {} #{}", short_id(row.loop_id.as_str()), row.n),
            ),
            cell(Tone::Plain, iteration),
            cell(Tone::Faint, short_commit(&row.tip_commit)),
            cell(Tone::Faint, ago_text(&row.at, now)),
        ]);
    }
    let mut text = table.render(output::width());
    if listed.more {
        text.push_str("there are more: `--most N` shows them\n");
    }
    text
}
