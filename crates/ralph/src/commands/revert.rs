//! `ralph revert`: takes an iteration back, and everything after it.
//!
//! Says what went, which tasks are open again, and where what was dropped is kept. Takes the
//! worktree's lock; where a loop holds it, that loop is asked to do it between two iterations.

use std::process::ExitCode;

use ralph_core::{
    command::{Command, Extent, Others},
    sanitize::one_line,
};
use ralph_engine::{
    lock::Lock,
    loop_runner::rewrite::{
        Ground, Opened, Opening, Revert, RevertReport, RewriteError, plan_revert, recover, revert,
    },
};

use crate::{
    commands::logs::nothing_yet,
    error::{CommandError, ErrorKind},
    output,
    project::{self, Project},
    queue,
    view::{
        Table, Tone, cell,
        figures::{count, short_commit},
        paint,
    },
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The first iteration to undo; all later ones are undone too
    #[arg(long, short, value_name = "N")]
    iteration: u64,

    #[command(flatten)]
    how: RewindArgs,
}

/// Options of whatever takes commits off the branch.
#[derive(Debug, clap::Args)]
pub(crate) struct RewindArgs {
    /// Also remove commits that ralph did not make
    #[arg(long)]
    force: bool,

    /// Show what would be removed without changing anything
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

impl RewindArgs {
    pub(crate) fn others(&self) -> Others {
        if self.force {
            Others::Drop
        } else {
            Others::Refuse
        }
    }

    pub(crate) fn extent(&self) -> Extent {
        if self.dry_run {
            Extent::Plan
        } else {
            Extent::All
        }
    }

    /// Has the loop that runs here do it between two iterations. `None`: it does it later, and that was
    /// said.
    pub(crate) fn ask_the_loop(
        &self,
        project: &Project,
        command: &Command,
    ) -> Result<Option<RevertReport>, CommandError> {
        let mut sent = project::block_on(queue::deliver(project, command, queue::PATIENCE))?;
        let report = sent.detail.take();
        let report = report.and_then(|detail| serde_json::from_value(detail).ok());
        if report.is_none() {
            sent.print(&queue::AnswerForm::new(self.json))?;
        }
        Ok(report)
    }
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let wanted = Revert {
        iteration: args.iteration,
        others: args.how.others(),
    };
    let root = project.git_root()?;
    if Lock::is_held(&project.data_dir()?, &root) {
        let command = Command::Revert {
            iteration: wanted.iteration,
            others: wanted.others,
            extent: args.how.extent(),
        };
        let report = args.how.ask_the_loop(project, &command)?;
        return report.map_or(Ok(ExitCode::SUCCESS), |report| say(args, &report));
    }
    let report = project::block_on(async {
        let mut opened = open(project).await?;
        let mut ground = opened.ground();
        if args.how.dry_run {
            let plan = plan_revert(&mut ground, wanted).await;
            let plan = plan.map_err(|error| explain(project, error))?;
            return Ok(RevertReport::from(&plan));
        }
        end_earlier(project, &mut ground).await?;
        let done = revert(&mut ground, wanted).await;
        let done = done.map_err(|error| explain(project, error))?;
        Ok(RevertReport::from(&done))
    })?;
    say(args, &report)
}

/// The worktree, with its lock.
pub(crate) async fn open(project: &Project) -> Result<Opened, CommandError> {
    let root = project.git_root()?;
    let data_dir = project.data_dir()?;
    if project.journal().await?.is_none() {
        return Err(nothing_yet(project));
    }
    let config_file = project.config_bytes()?;
    let environment = project.git_environment();
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
                ErrorKind::Internal
            } else {
                ErrorKind::User
            };
            let hint = error.hint();
            CommandError::new(kind, error).hint_opt(hint)
        }
    }
}

fn say(args: &Args, report: &RevertReport) -> Result<ExitCode, CommandError> {
    output::show(args.how.json, report, || render(report))
}

pub(crate) fn render(report: &RevertReport) -> String {
    let many = count(report.commits.len(), "commit", "commits");
    let verb = if report.done { "dropped" } else { "would drop" };
    let mut text = format!(
        "{verb} {many} of {}: back to {}, before iteration {}\n",
        report.branch,
        short_commit(&report.target),
        report.iteration
    );
    let mut table = Table::new(2, 2);
    for one in &report.commits {
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
    for task in &report.reopened {
        open.row([
            cell(Tone::Name, task.task_id.as_str()),
            cell(Tone::Plain, one_line(&task.title, 100)),
            cell(Tone::Faint, one_line(&task.source, 60)),
        ]);
    }
    if !report.reopened.is_empty() {
        text.push_str("open again\n");
        text.push_str(&open.render(output::width()));
    }
    for source in &report.gone {
        let source = one_line(source, 200);
        let said = format!("{source} no longer exists: its tasks were not reopened\n");
        text.push_str(&paint(Tone::Careful, &said));
    }
    if let Some(commit) = &report.task_commit {
        let commit = short_commit(commit);
        text.push_str(&format!("the task file is committed as {commit}\n"));
    }
    for path in &report.left {
        let said = format!("{path} was changed in the meantime and is left as it is\n");
        text.push_str(&paint(Tone::Careful, &said));
    }
    if let Some(reference) = &report.reference {
        text.push_str(&format!("the dropped commits are kept as {reference}\n"));
    }
    text
}
