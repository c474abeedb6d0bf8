//! `ralph team`: the loops, costs, questions and checkpoints of all machines of a tenant, and what their loops are told.
//!
//! Asks the server alone. A command goes to the machine that has the loop, which takes it with its next sync.

mod checkpoints;
mod cost;
mod loops;
mod machines;
mod questions;
mod steer;

use std::process::ExitCode;

use ralph_core::sanitize::one_line;
use ralph_engine::{
    store::{TeamLoop, TeamLoops},
    team::{TeamError, TeamView, open_view},
};

use super::{CommandAccess, db::refuse_unbuilt};
use crate::{
    cli::Global,
    error::CommandError,
    moment::Moment,
    project::{Project, block_on},
};

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: Option<TeamCommand>,

    #[command(flatten)]
    machines: machines::Args,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        self.what
            .as_ref()
            .map_or(CommandAccess::Reads, TeamCommand::access)
    }
}

subcommands! {
    TeamCommand {
        /// List the machines: when each was heard of, what is open on it, what it spent
        Machines(machines::Args => run; reads),
        /// List the loops, newest first
        Loops(loops::Args => run; reads),
        /// Show what was spent, by machine, repository, loop, model or day
        Cost(cost::Args => run; reads),
        /// List the questions that wait for an answer, newest first
        Questions(questions::Args => run; reads),
        /// List the checkpoints, newest first
        Checkpoints(checkpoints::Args => run; reads),
        /// Answer a question of a loop on any machine
        Answer(steer::TeamAnswerArgs => answer; writes),
        /// Pause a loop on any machine after its current iteration, or immediately with `--now`
        Pause(steer::TeamPauseArgs => pause; writes),
        /// Resume a paused loop on any machine
        Resume(steer::TeamResumeArgs => resume; writes),
        /// Send a message to the next agent of a loop on any machine, or to the running one with `--now`
        Say(steer::TeamSayArgs => say; writes),
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.what {
        Some(command) => dispatch(command, global),
        None => machines::run(&args.machines, global),
    }
}

/// The extent and the form of a list.
#[derive(Debug, Clone, clap::Args)]
struct TeamListArgs {
    /// Only from then on: 2026-01-31, 2026-01-31T12:00:00Z, or 7d, 12h, 30m ago
    #[arg(long, value_name = "WHEN")]
    since: Option<Moment>,

    /// Show at most this many
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    most: u32,

    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

/// The tenant that is shown, and the settings that name it.
struct Team {
    project: Project,
    tenant: String,
}

impl Team {
    fn open(global: &Global) -> Result<Self, CommandError> {
        refuse_unbuilt()?;
        let project = Project::look(global, Vec::new())?;
        let store = &project.config().store;
        if store.url.is_none() {
            return Err(TeamError::NoServer.into());
        }
        let tenant = store.tenant.clone().ok_or(TeamError::NoTenant)?;
        Ok(Self { project, tenant })
    }

    /// Connects, asks, and ends the connection in order.
    fn ask<T>(
        &self,
        question: impl AsyncFnOnce(&mut dyn TeamView) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        let address = self.project.store_address()?;
        block_on(async {
            let mut view = open_view(&address, &self.tenant).await?;
            let answer = question(&mut *view).await;
            view.close().await;
            answer
        })
    }
}

/// The beginning of an id, long enough to tell it from others of a team.
const SHORT_ID: usize = 13;

/// The beginning of an id, as lists show it. Commands take it as well as the whole id.
fn short_id(id: &str) -> &str {
    id.get(..SHORT_ID).unwrap_or(id)
}

/// The name of a machine, for people.
fn machine_of(name: Option<&str>, origin: &str) -> String {
    match (name, origin) {
        (Some(name), _) => one_line(name, 40),
        (None, "") => "on the server".to_owned(),
        (None, origin) => short_id(origin).to_owned(),
    }
}

/// The name of the repository with this git folder.
fn repository_of(common_dir: &str) -> String {
    let folder = std::path::Path::new(common_dir);
    let folder = match folder.file_name().and_then(|name| name.to_str()) {
        Some(".git") => folder.parent().unwrap_or(folder),
        Some(_) | None => folder,
    };
    let name = folder.file_name().map(|name| name.to_string_lossy());
    name.map_or_else(|| common_dir.to_owned(), |name| one_line(&name, 40))
}

/// The one loop of the team whose id begins with this.
async fn find_loop(view: &mut dyn TeamView, id: &str) -> Result<TeamLoop, CommandError> {
    let which = TeamLoops {
        like: Some(id.to_owned()),
        most: 2,
        ..TeamLoops::default()
    };
    let mut found = view.loops(&which).await?;
    match (found.pop(), found.is_empty()) {
        (Some(row), true) if !id.is_empty() => Ok(row),
        (Some(_), _) => Err(CommandError::user(format!(
            "more than one loop has an id that begins with {id:?}"
        ))
        .hint("use more characters of the id; `ralph team loops` lists them")),
        (None, _) => Err(
            CommandError::user(format!("the team has no loop {id}")).hint(
                "`ralph team loops` lists them; one that has just begun is there after the next sync of its machine",
            ),
        ),
    }
}
