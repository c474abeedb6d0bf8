//! `ralph squash`: makes one commit of all that ralph landed on this branch.
//!
//! Changes history alone, never a file. Must not run beside a loop: it takes the worktree's lock.

use std::process::ExitCode;

use ralph_core::sanitize::{one_line, terminal_safe};
use ralph_engine::{
    git::CommitInfo,
    loop_runner::rewrite::{Squash, SquashDone, SquashPlan, plan_squash, squash},
};
use serde_json::{Value, json};

use super::revert::{end_earlier, explain, open};
use crate::{
    cli::Global,
    error::CommandError,
    output,
    project::{self, Project},
    view::{Table, Tone, cell, figures::count},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Commit message [default: the titles of the tasks]; trailers are added
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,

    /// Show which commits would be combined without changing anything
    #[arg(long)]
    dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    if args.message.as_deref().is_some_and(|m| m.trim().is_empty()) {
        return Err(CommandError::user("--message is empty").hint("leave it out"));
    }
    let project = Project::open(global, Vec::new())?;
    let wanted = Squash {
        message: args.message.clone(),
    };
    project::block_on(async {
        let mut opened = open(&project).await?;
        let mut ground = opened.ground();
        if args.dry_run {
            let plan = plan_squash(&mut ground, &wanted).await;
            let plan = plan.map_err(|error| explain(&project, error))?;
            return say(args, &plan, None);
        }
        end_earlier(&project, &mut ground).await?;
        let squashed = squash(&mut ground, &wanted).await;
        let squashed = squashed.map_err(|error| explain(&project, error))?;
        say(args, &squashed.plan, squashed.done.as_ref())
    })
}

fn say(
    args: &Args,
    plan: &SquashPlan,
    done: Option<&SquashDone>,
) -> Result<ExitCode, CommandError> {
    // The JSON form is a contract (docs/json.md).
    let report = json!({
        "done": done.is_some(),
        "branch": plan.branch,
        "from": plan.from.as_str(),
        "tip": done.map(|done| done.tip.as_str()),
        "commit": done.map(|done| done.commit.as_str()),
        "reference": done.map(|done| done.reference.as_str()),
        "message": plan.message,
        "commits": list(&plan.commits),
        "before": list(&plan.before),
        "after": list(&plan.after),
    });
    output::show(args.json, &report, || render(plan, done))
}

fn list(commits: &[CommitInfo]) -> Vec<Value> {
    let one = |one: &CommitInfo| {
        let (commit, author) = (one.oid.as_str(), &one.author);
        json!({ "commit": commit, "subject": one.subject, "author": author })
    };
    commits.iter().map(one).collect()
}

fn render(plan: &SquashPlan, done: Option<&SquashDone>) -> String {
    if plan.is_idle() {
        return format!(
            "nothing to squash: {} has only one commit by ralph\n",
            plan.branch
        );
    }
    let many = count(plan.commits.len(), "commit", "commits");
    let mut text = match done {
        Some(done) => format!(
            "{many} of {} are now {}\n",
            plan.branch,
            done.commit.short()
        ),
        None => format!("{many} of {} would become one\n", plan.branch),
    };
    text.push_str(&table(&plan.commits));
    if !plan.before.is_empty() {
        text.push_str("earlier commits by others are unchanged\n");
        text.push_str(&table(&plan.before));
    }
    if !plan.after.is_empty() {
        text.push_str("later commits by others are kept, with new ids\n");
        text.push_str(&table(&plan.after));
    }
    match done {
        Some(done) => text.push_str(&format!("the old commits are kept as {}\n", done.reference)),
        None => {
            text.push_str("with this message\n\n");
            for line in plan.message.lines() {
                text.push_str(&format!("    {}\n", terminal_safe(line)));
            }
        }
    }
    text
}

fn table(commits: &[CommitInfo]) -> String {
    let mut table = Table::new(1, 2);
    for commit in commits {
        table.row([
            cell(Tone::Faint, commit.oid.short()),
            cell(Tone::Plain, one_line(&commit.subject, 100)),
        ]);
    }
    table.render(output::width())
}
