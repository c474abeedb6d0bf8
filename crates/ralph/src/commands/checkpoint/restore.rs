//! `ralph checkpoint restore`: puts the branch back to a checkpoint's commit, as `ralph revert` would.
//!
//! Takes the worktree's lock: beside a loop it is refused. A checkpoint that is damaged is refused, too.

use std::process::ExitCode;

use ralph_core::command::Others;
use ralph_engine::driver::rewrite::{Restore, Restored, RevertReport, plan_restore, restore};
use serde::Serialize;

use super::{find, journal, read};
use crate::{
    cli::Global,
    commands::revert,
    error::CommandError,
    output,
    project::{Project, block_on},
    view::figures::short_commit,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The beginning or the end of its id
    #[arg(value_name = "ID")]
    id: String,

    /// Also drop commits that are not ralph's
    #[arg(long)]
    force: bool,

    /// Show what would go, and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
struct Said<'a> {
    checkpoint: &'a str,
    #[serde(flatten)]
    report: &'a RevertReport,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let (wanted, report) = block_on(async {
        let wanted = wanted(&project, args).await?;
        let mut opened = revert::open(&project).await?;
        let mut ground = opened.ground();
        let explain = |error| revert::explain(&project, error);
        if args.dry_run {
            let plan = plan_restore(&mut ground, &wanted).await.map_err(explain)?;
            return Ok((wanted, RevertReport::from(&plan)));
        }
        revert::end_earlier(&project, &mut ground).await?;
        let report = match restore(&mut ground, &wanted).await.map_err(explain)? {
            Restored::Done(done) => RevertReport::from(&*done),
            Restored::Idle(plan) => RevertReport::from(&*plan),
        };
        Ok((wanted, report))
    })?;
    if args.json {
        output::print_json(&Said {
            checkpoint: &wanted.checkpoint,
            report: &report,
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    if report.commits.is_empty() && report.reopened.is_empty() {
        let commit = short_commit(&report.target);
        let text = format!(
            "nothing to restore: {} is at {commit} already\n",
            report.branch
        );
        output::print(&text);
    } else {
        output::print(&revert::render(&report));
    }
    Ok(ExitCode::SUCCESS)
}

async fn wanted(project: &Project, args: &Args) -> Result<Restore, CommandError> {
    let (mut journal, repository) = journal(project).await?;
    let link = find(project, &mut journal, &repository, Some(&args.id)).await?;
    let checkpoint = read(&link)?;
    let closed = journal.close().await;
    closed.map_err(CommandError::internal)?;
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
