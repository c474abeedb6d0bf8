//! `ralph checkpoint restore`: puts the branch back to a checkpoint's commit, as `ralph revert` would.
//!
//! Takes the worktree's lock; where a loop holds it, that loop is asked to do it between two iterations.
//! A checkpoint that is damaged is refused.

use std::process::ExitCode;

use ralph_core::{
    command::{Command, Extent, Others},
    id::CheckpointId,
};
use ralph_engine::{
    lock::Lock,
    loop_runner::rewrite::{Restore, RestoreOutcome, RevertReport, plan_restore, restore},
};
use serde::Serialize;

use super::{find, journal, read};
use crate::{
    cli::Global,
    commands::revert,
    error::CommandError,
    output,
    project::{Project, block_on},
    queue,
    view::figures::short_commit,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Beginning or end of the checkpoint's id
    #[arg(value_name = "ID")]
    id: String,

    /// Also remove commits that ralph did not make
    #[arg(long)]
    force: bool,

    /// Show what would be removed without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct RestoreReport<'a> {
    checkpoint: &'a CheckpointId,
    #[serde(flatten)]
    report: &'a RevertReport,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let wanted = block_on(wanted(&project, args))?;
    let root = project.git_root()?;
    if Lock::is_held(&project.data_dir()?, &root) {
        return ask_the_loop(&project, wanted, args);
    }
    let report = block_on(async {
        let mut opened = revert::open(&project).await?;
        let mut ground = opened.ground();
        let explain = |error| revert::explain(&project, error);
        if args.dry_run {
            let plan = plan_restore(&mut ground, &wanted).await.map_err(explain)?;
            return Ok(RevertReport::from(&plan));
        }
        revert::end_earlier(&project, &mut ground).await?;
        Ok(
            match restore(&mut ground, &wanted).await.map_err(explain)? {
                RestoreOutcome::Done(done) => RevertReport::from(&*done),
                RestoreOutcome::Idle(plan) => RevertReport::from(&*plan),
            },
        )
    })?;
    say(args, &wanted.checkpoint, &report)
}

/// The loop that runs here does it between two iterations.
fn ask_the_loop(project: &Project, wanted: Restore, args: &Args) -> Result<ExitCode, CommandError> {
    let command = Command::Restore {
        checkpoint: wanted.checkpoint.clone(),
        others: wanted.others,
        extent: if args.dry_run {
            Extent::Plan
        } else {
            Extent::All
        },
    };
    let mut sent = block_on(queue::deliver(project, &command, queue::PATIENCE))?;
    let report = sent.detail.take();
    match report.and_then(|detail| serde_json::from_value(detail).ok()) {
        Some(report) => say(args, &wanted.checkpoint, &report),
        None => {
            sent.print(&queue::AnswerForm::new(args.json))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn say(
    args: &Args,
    checkpoint: &CheckpointId,
    report: &RevertReport,
) -> Result<ExitCode, CommandError> {
    if args.json {
        output::print_json(&RestoreReport { checkpoint, report })?;
    } else if report.is_idle() {
        let commit = short_commit(&report.target);
        let text = format!(
            "nothing to restore: {} is at {commit} already\n",
            report.branch
        );
        output::print(&text);
    } else {
        output::print(&revert::render(report));
    }
    Ok(ExitCode::SUCCESS)
}

async fn wanted(project: &Project, args: &Args) -> Result<Restore, CommandError> {
    let (mut journal, repository) = journal(project).await?;
    let link = find(project, &mut *journal, &repository, Some(&args.id)).await?;
    let checkpoint = read(&link)?;
    let closed = journal.close().await;
    closed?;
    Ok(Restore {
        checkpoint: link.id,
        branch: checkpoint.recovery.branch,
        commit: checkpoint.recovery.commit,
        iteration: checkpoint.metadata.iteration,
        others: if args.force {
            Others::Drop
        } else {
            Others::Refuse
        },
    })
}
