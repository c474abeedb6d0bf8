//! `ralph loops`: the loops of this repository, newest first, each with what it came to.
//!
//! Only reads, and of each loop one row: it takes as long as what is shown, not as what is stored.

use std::{path::Path, process::ExitCode};

use ralph_core::{
    dollars::Dollars,
    loop_state::{LoopState, TerminationReason},
    sanitize::one_line,
    termination::Stop,
};
use ralph_engine::{
    lock::Lock,
    store::{Journal, ListedLoop, LoopNote, LoopRow, RepositoryId, SessionLoopRow},
};
use serde::{Serialize, Serializer};
use serde_json::json;

use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
    view::{
        Table, Tone, cell,
        figures::{ago_text, usd},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Show all loops
    #[arg(long, conflicts_with = "limit")]
    all: bool,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

struct LoopEntry {
    row: ListedLoop,
    state: LoopState,
    /// True if a process works on it; one that has not ended and has none was interrupted.
    alive: bool,
    stop: Option<Stop>,
    /// The note of `ralph monitor` about one that was interrupted or told to stop.
    note: Option<LoopNote>,
}

/// The JSON form is a contract (docs/json.md).
impl Serialize for LoopEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let row = &self.row;
        let mut value = json!({
            "id": row.id, "state": self.state, "alive": self.alive, "source": row.source,
            // As `status.json` has them; empty where there is none.
            "projectId": row.project_id, "taskId": row.task_id,
            "goal": row.goal, "branch": row.branch, "worktree": row.worktree, "agent": row.agent,
            "iterations": row.iterations, "verified": row.verified,
            "costUsd": row.cost.map(Dollars::usd),
            "inputTokens": row.input_tokens, "outputTokens": row.output_tokens,
            "startedAt": row.started_at, "endedAt": row.ended_at,
            "reason": self.stop.as_ref().map(TerminationReason::of),
            "why": self.stop.as_ref().map(Stop::sentence),
            "note": self.note, "lastCheckpointId": row.last_checkpoint_id,
        });
        if row.unverified > 0 {
            value["unverified"] = row.unverified.into();
        }
        value.serialize(to)
    }
}

/// A loop in the session of an agent, as a list shows it.
struct SessionEntry(SessionLoopRow);

/// The JSON form is a contract (docs/json.md).
impl Serialize for SessionEntry {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let row = &self.0;
        let value = json!({
            "id": row.id, "agent": row.agent, "session": row.session, "worktree": row.worktree,
            "prompt": row.prompt, "iterations": row.iterations, "maxIterations": row.max_iterations,
            "errors": row.errors, "completionPromise": row.completion_promise,
            "verify": row.config.is_some(), "tokens": row.tokens, "costUsd": row.spent.usd(),
            "startedAt": row.started_at, "endedAt": row.ended_at, "reason": row.reason,
        });
        value.serialize(to)
    }
}

/// The loops to list, and whether there are more.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedLoops {
    loops: Vec<LoopEntry>,
    more: bool,
    /// Loops inside the sessions of agents.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sessions: Vec<SessionEntry>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    more_sessions: bool,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let most = if args.all { u32::MAX } else { args.limit };
    let listed = block_on(gather(project, most))?;
    output::show(args.json, &listed, || render(&listed))
}

async fn gather(project: &Project, most: u32) -> Result<ListedLoops, CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return Ok(ListedLoops::default());
    };
    let mut rows = journal.loops(&repository, most.saturating_add(1)).await?;
    let sessions = journal.session_loops(&repository, most.saturating_add(1));
    let mut sessions = sessions.await?;
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let more = rows.len() > most;
    rows.truncate(most);
    let data_dir = project.data_dir()?;
    let mut loops = Vec::new();
    for row in rows {
        let mut one = shown(row, &data_dir);
        // Only of those that were interrupted, or told to stop: they are few.
        let reason = one.stop.as_ref().map(TerminationReason::of);
        let told = reason == Some(TerminationReason::ExplicitStop);
        if told || (!one.state.is_final() && !one.alive) {
            one.note = journal.last_note(&one.row.id).await?;
        }
        loops.push(one);
    }
    let more_sessions = sessions.len() > most;
    sessions.truncate(most);
    Ok(ListedLoops {
        loops,
        more,
        sessions: sessions.into_iter().map(SessionEntry).collect(),
        more_sessions,
    })
}

fn shown(row: ListedLoop, data_dir: &Path) -> LoopEntry {
    let stop = row.stop.as_deref();
    let stop: Option<Stop> = stop.and_then(|text| serde_json::from_str(text).ok());
    let alive = row.ended_at.is_none() && Lock::is_held(data_dir, Path::new(&row.worktree));
    let state = match (&stop, &row.ended_at, &row.paused_at) {
        (Some(stop), _, _) => LoopState::after(stop),
        (None, Some(_), _) => LoopState::Terminated,
        (None, None, Some(_)) => LoopState::Paused,
        (None, None, None) => LoopState::Running,
    };
    LoopEntry {
        row,
        state,
        alive,
        stop,
        note: None,
    }
}

fn render(listed: &ListedLoops) -> String {
    if listed.loops.is_empty() && listed.sessions.is_empty() {
        return "no loops yet\n".to_owned();
    }
    let now = Project::now();
    let mut table = Table::new(2, 0);
    for one in &listed.loops {
        let (tone, state) = state_of(one);
        let what = if one.row.goal.is_empty() {
            one.row.source.clone()
        } else {
            format!("{} ({})", one.row.goal, one.row.source)
        };
        let cost = one.row.cost;
        let cost = cost.map_or_else(String::new, |cost| usd(cost.usd()));
        let counts = counts(&one.row);
        let ended = match &one.row.ended_at {
            Some(at) => format!("ended {}", ago_text(at, now)),
            None => String::new(),
        };
        table.row([
            cell(Tone::Name, one.row.id.as_str()),
            cell(tone, state),
            cell(Tone::Plain, what),
            cell(Tone::Faint, &one.row.branch),
            cell(Tone::Plain, counts),
            cell(Tone::Plain, cost),
            cell(
                Tone::Faint,
                format!("started {}", ago_text(&one.row.started_at, now)),
            ),
            cell(Tone::Faint, ended),
            cell(Tone::Faint, why(one)),
        ]);
    }
    let mut text = table.render(output::width());
    if !listed.sessions.is_empty() {
        text.push_str("in sessions of agents:\n");
        text.push_str(&render_sessions(&listed.sessions));
    }
    if listed.more || listed.more_sessions {
        text.push_str("there are more: `ralph loops --all`\n");
    }
    text
}

fn render_sessions(sessions: &[SessionEntry]) -> String {
    let now = Project::now();
    let mut table = Table::new(2, 0);
    for SessionEntry(row) in sessions {
        let (tone, state) = match row.reason.as_deref() {
            Some("promise") => (Tone::Good, "promise"),
            Some(reason) => (Tone::Careful, reason),
            None => (Tone::Plain, "open"),
        };
        let count = match row.max_iterations {
            0 => format!("{} iterations", row.iterations),
            max => format!("{} of {max} iterations", row.iterations),
        };
        table.row([
            cell(Tone::Name, row.id.as_str()),
            cell(tone, state.replace('_', " ")),
            cell(Tone::Plain, one_line(&row.prompt, 60)),
            cell(Tone::Faint, &row.agent),
            cell(Tone::Plain, count),
            cell(Tone::Plain, usd(row.spent.usd())),
            cell(
                Tone::Faint,
                format!("started {}", ago_text(&row.started_at, now)),
            ),
        ]);
    }
    table.render(output::width())
}

/// `2 verified of 3`, `1 verified, 2 unverified of 3`, `2 unverified of 2`
fn counts(row: &ListedLoop) -> String {
    let (verified, unverified) = (row.verified, row.unverified);
    let landed = match (verified, unverified) {
        (_, 0) => format!("{verified} verified"),
        (0, _) => format!("{unverified} unverified"),
        (_, _) => format!("{verified} verified, {unverified} unverified"),
    };
    format!("{landed} of {}", row.iterations)
}

/// Why it ended, and what the monitor did about it.
fn why(one: &LoopEntry) -> String {
    let note = one.note.as_ref().map(|note| note.sentence.clone());
    let parts = [one.stop.as_ref().map(Stop::sentence), note];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn state_of(one: &LoopEntry) -> (Tone, &'static str) {
    match one.state {
        state if !state.is_final() && !one.alive => (Tone::Careful, "interrupted"),
        LoopState::Completed => (Tone::Good, one.state.as_str()),
        LoopState::Failed => (Tone::Bad, one.state.as_str()),
        LoopState::Paused | LoopState::Terminated => (Tone::Careful, one.state.as_str()),
        LoopState::Initializing
        | LoopState::Running
        | LoopState::Handoff
        | LoopState::Completing => (Tone::Plain, one.state.as_str()),
    }
}

/// The one loop whose id begins with this.
pub(crate) async fn find_loop(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    id: &str,
) -> Result<LoopRow, CommandError> {
    let mut found = journal.loops_like(repository, id).await?;
    match (found.pop(), found.is_empty()) {
        (Some(row), true) => Ok(row),
        (Some(_), false) => Err(CommandError::user(format!(
            "more than one loop has an id that begins with {id}"
        ))
        .hint("use more characters of the id")),
        (None, _) => Err(no_loop(id)),
    }
}

pub(crate) fn no_loop(id: &str) -> CommandError {
    CommandError::user(format!("there is no loop {id}")).hint("`ralph loops` lists them")
}
