//! `ralph checkpoint restore`: puts the branch back to a checkpoint's commit, as `ralph revert` would.
//!
//! Takes the worktree's lock; where a loop holds it, that loop is asked to do it between two iterations.
//! A checkpoint that is damaged is refused.

use std::process::ExitCode;

use ralph_core::{command::Command, id::CheckpointId};
use ralph_engine::{
    lock::Lock,
    loop_runner::rewrite::{Restore, RestoreOutcome, RevertReport, plan_restore, restore},
};
use serde::Serialize;

use super::{find, journal, read};
use crate::{
    commands::revert::{self, RewindArgs},
    error::CommandError,
    output,
    project::{Project, block_on},
    view::figures::short_commit,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Beginning or end of the checkpoint's id
    #[arg(value_name = "ID")]
    id: String,

    #[command(flatten)]
    how: RewindArgs,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct RestoreReport<'a> {
    checkpoint: &'a CheckpointId,
    #[serde(flatten)]
    report: &'a RevertReport,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let wanted = block_on(wanted(project, args))?;
    let root = project.git_root()?;
    if Lock::is_held(&project.data_dir()?, &root) {
        let command = Command::Restore {
            checkpoint: wanted.checkpoint.clone(),
            others: wanted.others,
            extent: args.how.extent(),
        };
        let report = args.how.ask_the_loop(project, &command)?;
        let said = |report| say(args, &wanted.checkpoint, &report);
        return report.map_or(Ok(ExitCode::SUCCESS), said);
    }
    let report = block_on(async {
        let mut opened = revert::open(project).await?;
        let mut ground = opened.ground();
        let explain = |error| revert::explain(project, error);
        if args.how.dry_run {
            let plan = plan_restore(&mut ground, &wanted).await.map_err(explain)?;
            return Ok(RevertReport::from(&plan));
        }
        revert::end_earlier(project, &mut ground).await?;
        Ok(
            match restore(&mut ground, &wanted).await.map_err(explain)? {
                RestoreOutcome::Done(done) => RevertReport::from(&*done),
                RestoreOutcome::Idle(plan) => RevertReport::from(&*plan),
            },
        )
    })?;
    say(args, &wanted.checkpoint, &report)
}

fn say(
    args: &Args,
    checkpoint: &CheckpointId,
    report: &RevertReport,
) -> Result<ExitCode, CommandError> {
    output::show(args.how.json, &RestoreReport { checkpoint, report }, || {
        if report.is_idle() {
            let commit = short_commit(&report.target);
            let branch = &report.branch;
            format!("nothing to restore: {branch} is at {commit} already\n")
        } else {
            revert::render(report)
        }
    })
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
        others: args.how.others(),
    })
}
