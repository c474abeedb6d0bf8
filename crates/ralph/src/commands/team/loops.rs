//! `ralph team loops`: the loops of all machines, newest first.

use std::process::ExitCode;

use ralph_core::{
    dollars::Dollars,
    loop_state::{LoopState, TerminationReason},
    termination::Stop,
};
use ralph_engine::store::{TeamLoop, TeamLoops};
use serde::{Serialize, Serializer};
use serde_json::json;

use super::{Team, TeamListArgs, machine_of, repository_of, short_id};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::Project,
    view::{
        Table, Tone, cell,
        figures::{ago_text, usd},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only loops that have not ended
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    list: TeamListArgs,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct TeamLoopList {
    loops: Vec<TeamLoopEntry>,
    more: bool,
}

#[derive(Debug)]
struct TeamLoopEntry {
    row: TeamLoop,
    state: LoopState,
    stop: Option<Stop>,
}

impl Serialize for TeamLoopEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let row = &self.row;
        let value = json!({
            "id": row.id, "state": self.state, "machine": machine_of(row.machine.as_deref(), &row.origin),
            "origin": row.origin, "lastSeen": row.last_seen, "repository": repository_of(&row.common_dir),
            "repositoryId": row.repository_id, "worktree": row.worktree, "source": row.source, "goal": row.goal,
            "branch": row.branch, "agent": row.agent, "iterations": row.iterations, "verified": row.verified,
            "costUsd": row.spent.map(Dollars::usd), "inputTokens": row.input_tokens,
            "outputTokens": row.output_tokens, "startedAt": row.started_at, "endedAt": row.ended_at,
            "pausedAt": row.paused_at, "reason": self.stop.as_ref().map(TerminationReason::of),
            "why": self.stop.as_ref().map(Stop::sentence),
        });
        value.serialize(to)
    }
}

impl From<TeamLoop> for TeamLoopEntry {
    fn from(row: TeamLoop) -> Self {
        let stop = row.stop.as_deref();
        let stop: Option<Stop> = stop.and_then(|text| serde_json::from_str(text).ok());
        let state = match (&stop, &row.ended_at, &row.paused_at) {
            (Some(stop), _, _) => LoopState::after(stop),
            (None, Some(_), _) => LoopState::Terminated,
            (None, None, Some(_)) => LoopState::Paused,
            (None, None, None) => LoopState::Running,
        };
        Self { row, state, stop }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let team = Team::open(global)?;
    let list = &args.list;
    let which = TeamLoops {
        open: args.open,
        like: None,
        since: list.since.map(|since| since.at(Project::now())),
        most: list.most + 1,
    };
    let mut found = team.ask(async |view| Ok(view.loops(&which).await?))?;
    let more = found.len() > list.most as usize;
    found.truncate(list.most as usize);
    let listed = TeamLoopList {
        loops: found.into_iter().map(TeamLoopEntry::from).collect(),
        more,
    };
    output::show(list.json, &listed, || render(&listed))
}

fn render(listed: &TeamLoopList) -> String {
    if listed.loops.is_empty() {
        return "no loops\n".to_owned();
    }
    let now = Project::now();
    let mut table = Table::new(3, 0);
    for TeamLoopEntry { row, state, .. } in &listed.loops {
        let repository = repository_of(&row.common_dir);
        let what = if row.goal.is_empty() {
            &row.source
        } else {
            &row.goal
        };
        let tone = match state {
            LoopState::Completed => Tone::Good,
            LoopState::Failed => Tone::Bad,
            LoopState::Paused | LoopState::Terminated => Tone::Careful,
            LoopState::Initializing
            | LoopState::Running
            | LoopState::Handoff
            | LoopState::Completing => Tone::Plain,
        };
        let cost = row.spent.map_or_else(String::new, |cost| usd(cost.usd()));
        table.row([
            cell(Tone::Name, short_id(row.id.as_str())),
            cell(Tone::Faint, machine_of(row.machine.as_deref(), &row.origin)),
            cell(tone, state.as_str()),
            cell(Tone::Plain, format!("{repository}: {what}")),
            cell(Tone::Plain, format!("{}/{}", row.verified, row.iterations)),
            cell(Tone::Plain, cost),
            cell(Tone::Faint, ago_text(&row.started_at, now)),
        ]);
    }
    let mut text = table.render(output::width());
    if listed.more {
        text.push_str("there are more: `--most N` shows them\n");
    }
    text
}
