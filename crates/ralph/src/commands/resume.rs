//! `ralph resume`: lifts a pause; where no loop runs, starts one again on the same tasks, or towards the
//! same goal.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::command::Command;
use ralph_engine::{
    lock::Lock,
    loop_runner::{AllowanceStart, LoopBounds, allowance_of, bounds_of, goal_of, project_of},
    store::{Journal, LoopRow, RepositoryId},
};

use super::{
    loops::{find_loop, no_loop},
    run::{self, Options, Order, RunTarget, SourceArg},
};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{Project, SourceUse, block_on},
    queue,
};

/// Where a loop runs here, it goes on in its own terminal. Where none does, this is `ralph run`, `ralph
/// execute` or `ralph loop` again, as the loop was started, in this terminal.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The loop, by its id or the beginning of it [default: the last one here]
    #[arg(value_name = "LOOP")]
    loop_id: Option<String>,

    /// The agent to use if the loop is restarted
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Stop after this many more iterations; 0 for no limit [default: what the loop has left]
    #[arg(long, visible_alias = "iterations", value_name = "N")]
    max_iterations: Option<u32>,

    /// Stop after this many more minutes [default: what the loop has left]
    #[arg(long, value_name = "N", value_parser = run::finite)]
    max_minutes: Option<f64>,

    /// Stop when this many more dollars are spent [default: what the loop has left]
    #[arg(long, value_name = "N", value_parser = run::finite)]
    max_cost: Option<f64>,

    #[command(flatten)]
    look: run::OutputArgs,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let is_held = Lock::is_held(&project.data_dir()?, project.root());
    let found = block_on(found(&project, args))?;
    if is_held {
        let said = queue::AnswerForm::new(args.look.is_json());
        return queue::send(global, &Command::Resume, &said, queue::PATIENCE);
    }
    again(args, &project, found, global)
}

/// Work goes on only on tasks that a person has chosen.
const AGAIN: SourceUse = SourceUse::Work("ralph run");

/// The work to resume.
struct Found {
    row: Option<LoopRow>,
    /// The tasks where no loop is named: those of the last one, or the only ones there are.
    source: Option<PathBuf>,
}

async fn found(project: &Project, args: &Args) -> Result<Found, CommandError> {
    let Some((mut journal, repository)) = project.journal().await? else {
        return match &args.loop_id {
            Some(id) => Err(no_loop(id)),
            None => Ok(Found {
                row: None,
                source: project.source_path(None, AGAIN).ok(),
            }),
        };
    };
    let row = wanted(project, &mut *journal, &repository, args).await?;
    let source = match &args.loop_id {
        Some(_) => None,
        None => queue::source_path(project, &mut *journal, &repository, AGAIN)
            .await
            .ok(),
    };
    Ok(Found { row, source })
}

/// Starts again what the loop did, and lets it go as far as it was asked to; flags of now go first.
fn again(
    args: &Args,
    project: &Project,
    Found { row, source }: Found,
    global: &Global,
) -> Result<ExitCode, CommandError> {
    let config = row.as_ref().map_or("", |row| row.config.as_str());
    let bounds = LoopBounds {
        max_iterations: args.max_iterations,
        max_minutes: args.max_minutes,
        max_cost_usd: args.max_cost,
        task: None,
    };
    // What a person says now counts from now on; the rest goes on.
    let kept = allowance_of(config);
    let allowance = AllowanceStart {
        iterations: kept.iterations.filter(|_| args.max_iterations.is_none()),
        cost: kept.cost.filter(|_| args.max_cost.is_none()),
        time: kept.time.filter(|_| args.max_minutes.is_none()),
    };
    let bounds = bounds.or(bounds_of(config));
    let (command, target, branch) = if let Some(goal) = goal_of(config) {
        let command = format!("ralph loop \"{}\"", goal.title());
        (command, RunTarget::Goal(goal), row.map(|row| row.branch))
    } else if let Some(name) = project_of(config) {
        let name = name.to_string();
        (
            format!("ralph execute {name}"),
            RunTarget::Project(name),
            None,
        )
    } else {
        let (source, branch) = match (row, source) {
            (Some(row), None) => {
                let source = project.root().join(&row.source);
                if !source.exists() {
                    let message =
                        format!("the task file of this loop does not exist: {}", row.source);
                    return Err(CommandError::user(message));
                }
                (source, Some(row.branch))
            }
            (_, Some(source)) => (source, None),
            // Says why there are no tasks.
            (None, None) => (project.source_path(None, AGAIN)?, None),
        };
        let command = format!("ralph run {}", project.shown(&source));
        (command, RunTarget::Source(SourceArg::Again(source)), branch)
    };
    output::print_to_stderr(&format!("no loop is running here: starting `{command}`\n"));
    let order = Order {
        target,
        iterations: bounds.max_iterations,
        options: Options {
            agent: args.agent.clone(),
            max_minutes: bounds.max_minutes,
            max_cost: bounds.max_cost_usd,
            task: bounds.task,
            branch,
            look: args.look.clone(),
            ..Options::default()
        },
        allowance,
    };
    run::start(order, global)
}

/// The loop that is meant; it must be one of this worktree, and the one that runs where one does.
async fn wanted(
    project: &Project,
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    args: &Args,
) -> Result<Option<LoopRow>, CommandError> {
    let last = journal.last_loop(repository, &project.worktree()).await?;
    let Some(id) = &args.loop_id else {
        return Ok(last);
    };
    let row = find_loop(journal, repository, id).await?;
    let listed = journal.listed_loop(&row.id).await?;
    let place = listed.map_or_else(String::new, |listed| listed.worktree);
    if place != project.worktree() {
        let message = format!("loop {} belongs to another worktree: {place}", row.id);
        return Err(CommandError::user(message).hint(format!("`ralph -C {place} resume {id}`")));
    }
    let data_dir = project.data_dir()?;
    let runs_here = Lock::is_held(&data_dir, Path::new(&place));
    match last {
        Some(last) if runs_here && last.id != row.id => {
            let message = format!("another loop is running here: {}", last.id);
            Err(CommandError::user(message).hint("wait for it, or end it with `ralph stop`"))
        }
        Some(_) | None => Ok(Some(row)),
    }
}
