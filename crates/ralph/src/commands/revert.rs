//! `ralph revert`: takes an iteration back, and everything after it.
//!
//! Says what went, which tasks are open again, and where what was dropped is kept. Must not run
//! beside a loop: it takes the worktree's lock.

use std::process::ExitCode;

use ralph_core::{change::shown, sanitize::one_line};
use ralph_engine::driver::rewrite::{
    DroppedCommit, Foreign, Ground, Opened, Opening, Revert, RevertPlan, Reverted, RewriteError,
    plan_revert, recover, revert,
};
use ralph_engine::git;
use serde::Serialize;

use crate::{
    cli::Global,
    commands::logs::nothing_yet,
    error::{CommandError, Kind},
    output,
    project::{self, Project},
    view::{
        figures::{count, short_commit},
        paint::{Tone, paint},
        table::{Table, cell},
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first iteration to take back; all after it go too
    #[arg(long, short, value_name = "N")]
    iteration: u64,

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

/// What was done; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Said<'a> {
    done: bool,
    iteration: u64,
    branch: &'a str,
    from: &'a str,
    target: &'a str,
    tip: Option<String>,
    task_commit: Option<String>,
    reference: Option<&'a str>,
    commits: &'a [DroppedCommit],
    reopened: Vec<Reopened<'a>>,
    gone: &'a [String],
    left: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Reopened<'a> {
    task_id: &'a str,
    title: &'a str,
    source: &'a str,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let wanted = Revert {
        iteration: args.iteration,
        foreign: if args.force {
            Foreign::Drop
        } else {
            Foreign::Refuse
        },
    };
    project::block_on(async {
        let mut opened = open(&project).await?;
        let mut ground = opened.ground();
        if args.dry_run {
            let plan = plan_revert(&mut ground, wanted).await;
            let plan = plan.map_err(|error| explain(&project, error))?;
            return say(args, &plan, None);
        }
        end_earlier(&project, &mut ground).await?;
        let done = revert(&mut ground, wanted).await;
        let done = done.map_err(|error| explain(&project, error))?;
        say(args, &done.plan, Some(&done))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// The worktree, with its lock.
pub(crate) async fn open(project: &Project) -> Result<Opened, CommandError> {
    let root = project.git_root()?;
    let data_dir = project.data_dir()?;
    if project.journal().await?.is_none() {
        return Err(nothing_yet(project));
    }
    let config_file = project.config_bytes()?;
    let environment = git::Environment::from_vars(project.surroundings.env.iter().cloned());
    let opening = Opening {
        root: &root,
        data_dir: &data_dir,
        config: project.config(),
        config_file: config_file.as_ref(),
        git_environment: &environment,
        now: Project::now(),
    };
    let opened = Opened::open(&opening).await;
    let opened = opened.map_err(|error| explain(project, error))?;
    for notice in opened.notices() {
        output::print_warning(notice);
    }
    Ok(opened)
}

/// Ends what a crash left of an earlier one, and says so.
pub(crate) async fn end_earlier(
    project: &Project,
    ground: &mut Ground<'_>,
) -> Result<(), CommandError> {
    let recovered = recover(ground).await;
    if let Some(recovered) = recovered.map_err(|error| explain(project, error))? {
        output::print_warning(recovered.sentence());
    }
    Ok(())
}

/// Gives an error its kind and the way out.
pub(crate) fn explain(project: &Project, error: RewriteError) -> CommandError {
    match error {
        RewriteError::NeverRan => nothing_yet(project),
        RewriteError::Leftover(error) => super::run::explain(*error),
        error => {
            let kind = if error.is_internal() {
                Kind::Internal
            } else {
                Kind::User
            };
            let hint = error.hint();
            CommandError::new(kind, error).hint_opt(hint)
        }
    }
}

fn say(args: &Args, plan: &RevertPlan, done: Option<&Reverted>) -> Result<(), CommandError> {
    if !args.json {
        output::print(&render(plan, done));
        return Ok(());
    }
    let reopened = plan.reopened.iter().map(|task| Reopened {
        task_id: task.task_id.as_str(),
        title: &task.title,
        source: &task.source,
    });
    let left = done.into_iter().flat_map(|done| &done.left);
    output::print_json(&Said {
        done: done.is_some(),
        iteration: plan.iteration,
        branch: &plan.branch,
        from: plan.from.as_str(),
        target: plan.target.as_str(),
        tip: done.map(|done| done.tip.to_string()),
        task_commit: done.and_then(|done| Some(done.task_commit.as_ref()?.to_string())),
        reference: done.map(|done| done.reference.as_str()),
        commits: &plan.commits,
        reopened: reopened.collect(),
        gone: &plan.gone,
        left: left.map(|path| shown(path)).collect(),
    })
}

fn render(plan: &RevertPlan, done: Option<&Reverted>) -> String {
    let many = count(plan.commits.len(), "commit", "commits");
    let verb = if done.is_some() {
        "dropped"
    } else {
        "would drop"
    };
    let mut text = format!(
        "{verb} {many} of {}: back to {}, before iteration {}\n",
        plan.branch,
        plan.target.short(),
        plan.iteration
    );
    let mut table = Table::new(2, 2);
    for one in &plan.commits {
        let whose = match one.iteration {
            Some(n) => format!("iteration {n}"),
            None => one_line(&one.author, 40),
        };
        table.row([
            cell(Tone::Faint, short_commit(&one.commit)),
            cell(Tone::Plain, whose),
            cell(Tone::Plain, one_line(&one.subject, 100)),
        ]);
    }
    text.push_str(&table.render(output::width()));
    let mut open = Table::new(2, 2);
    for task in &plan.reopened {
        open.row([
            cell(Tone::Name, task.task_id.as_str()),
            cell(Tone::Plain, one_line(&task.title, 100)),
            cell(Tone::Faint, one_line(&task.source, 60)),
        ]);
    }
    if !plan.reopened.is_empty() {
        text.push_str("open again\n");
        text.push_str(&open.render(output::width()));
    }
    for source in &plan.gone {
        let source = one_line(source, 200);
        let said = format!("{source} is not there any more: its tasks are not opened\n");
        text.push_str(&paint(Tone::Careful, &said));
    }
    let Some(done) = done else {
        return text;
    };
    if let Some(commit) = &done.task_commit {
        text.push_str(&format!(
            "the task file is committed as {}\n",
            commit.short()
        ));
    }
    for path in &done.left {
        let said = format!(
            "{} was changed meanwhile and is left as it is\n",
            shown(path)
        );
        text.push_str(&paint(Tone::Careful, &said));
    }
    text.push_str(&format!("what was dropped is kept: {}\n", done.reference));
    text
}
