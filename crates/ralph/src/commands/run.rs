//! `ralph run`: chooses the seams once, and hands them to the driver.

mod agent;
mod console;
mod dry_run;
mod options;
mod order;
mod person;
mod reporter;
mod signals;
mod source_choice;
mod terminal_input;

pub(crate) use agent::{
    agent_setup, choose as choose_agent, choose_with as choose_agent_with, chosen as chosen_agent,
    make as make_agent,
};
pub(crate) use options::{Options, finite};
pub(crate) use order::{Order, RunTarget, SourceArg};
pub(crate) use reporter::OutputArgs;
pub(crate) use signals::listen as listen_for_signals;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::termination::Stop;
use ralph_engine::{
    agent::{Agent, RunContext, StopRequest},
    clock::SystemClock,
    disk_fault::DiskFault,
    inbox::Inbox,
    lock::LockError,
    loop_runner::{
        LoopError, LoopFailure, LoopReport, Setup, check_configured_paths, preview, run_loop,
    },
    process::{Containment, Detection},
    source::FoundSource,
    team::HAS_TEAM,
};

use crate::{
    cli::Global,
    commands::{CommandAccess, db, doctor::programs, notify, sync},
    error::{CommandError, ErrorKind},
    output,
    project::Project,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Task file or folder, remembered for this repository [default: the one chosen before, or found]
    source: Option<PathBuf>,

    /// Stop after this many iterations; 0 for no limit
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,

    #[command(flatten)]
    options: Options,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.options.dry_run)
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let source = args.source.clone();
    let source = source.map_or(SourceArg::Unnamed, SourceArg::Named);
    let target = RunTarget::Source(source);
    let order = Order::new(target, args.max_iterations, args.options.clone());
    start(order, global)
}

/// Starts the loop that was asked for, and stays with it to its end.
pub(crate) fn start(mut order: Order, global: &Global) -> Result<ExitCode, CommandError> {
    // A configuration that an agent had edited when ralph was killed is put back, and read again.
    match attempt(&mut order, global)? {
        Attempt::Ended(code) => return Ok(code),
        Attempt::ReadAgain(notice) => output::print_to_stderr(&format!("{notice}\n")),
    }
    match attempt(&mut order, global)? {
        Attempt::Ended(code) => Ok(code),
        Attempt::ReadAgain(notice) => Err(CommandError::user(notice)),
    }
}

enum Attempt {
    Ended(ExitCode),
    ReadAgain(String),
}

fn attempt(order: &mut Order, global: &Global) -> Result<Attempt, CommandError> {
    let project = Project::open(global, order.flags())?;
    let root = project.git_root()?;
    check_configured_paths(project.config(), &root).map_err(explain)?;
    db::check_built_in(&project.config().store, HAS_TEAM)?;
    let found = source_choice::find(order, &project)?;
    let planned = PlannedRun {
        order,
        root,
        source: found,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        if planned.order.options.dry_run {
            return dry_run::run(&planned, &project).await.map(Attempt::Ended);
        }
        let names_branch = planned.order.names_branch();
        let mut setup = match setup(&planned, &project, AgentProgram::Needed) {
            // A branch or a commit that can't be is the nearer mistake, and is said first.
            Err(missing) if missing.kind() == ErrorKind::Unavailable && names_branch => {
                let unneeded = setup(&planned, &project, AgentProgram::Unneeded)?;
                preview(unneeded).await.map_err(explain)?;
                return Err(missing);
            }
            setup => setup?,
        };
        let means = notify::means(&project, &setup.environment, setup.detection.containment);
        let (reporter, outbox) = notify::attach(&project, setup.reporter, &means)?;
        let (reporter, synced) = sync::attach(&project, reporter)?;
        setup.reporter = reporter;
        let asked = setup.stop.clone();
        let ended = run_loop(setup).await;
        let untold = ended
            .as_ref()
            .err()
            .filter(|failure| failure.told.is_none());
        let untold = untold.map(ToString::to_string);
        let give_up = nobody_waits(asked, ended.as_ref().ok());
        let messages = notify::close(outbox, untold.as_deref(), give_up);
        tokio::join!(messages, sync::close(synced));
        match ended {
            Ok(report) => Ok(Attempt::Ended(ExitCode::from(report.stop.exit_code()))),
            Err(LoopFailure {
                error: error @ LoopError::ConfigRestored(_),
                ..
            }) => Ok(Attempt::ReadAgain(error.to_string())),
            Err(failure) => Err(explain_failure(failure)),
        }
    });
    // A look-up of a name that hangs must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// Waits for a request to stop that did not already end the loop itself.
async fn nobody_waits(mut asked: StopRequest, report: Option<&LoopReport>) {
    let by_request = report.is_some_and(|r| matches!(r.stop, Stop::Interrupted { .. }));
    // A second signal ends ralph at once anyway.
    if by_request {
        std::future::pending::<()>().await;
    }
    asked.until_asked().await;
}

/// An order with what was looked up for it.
struct PlannedRun<'a> {
    order: &'a Order,
    root: PathBuf,
    /// The tasks, where they are not those of a project or a goal.
    source: Option<FoundSource>,
}

/// Tells whether the program of the agent has to be there. What is only looked at needs none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AgentProgram {
    Needed,
    Unneeded,
}

fn setup(
    planned: &PlannedRun<'_>,
    project: &Project,
    program: AgentProgram,
) -> Result<Setup, CommandError> {
    let PlannedRun {
        order,
        root,
        source,
    } = planned;
    let options = &order.options;
    let mut config = project.config().clone();
    let request = order.request(project, &mut config, source.as_ref())?;
    let environment = project.environment(root);
    let agent = agent::choose(project)?;
    // In a container it is the image's: the loop looks for it there.
    if program == AgentProgram::Needed && config.safety.container.is_none() {
        check_program(&*agent, root)?;
    }
    let inbox = Inbox::hiding(environment.redaction().clone());
    let ports = options.look.open(&inbox, root)?;
    Ok(Setup {
        began: std::time::Instant::now(),
        data_dir: project.data_dir()?,
        config_file: project.config_bytes()?,
        request,
        agent,
        fallback: agent::fallback(project)?,
        detection: detection(project)?,
        environment,
        git_environment: project.git_environment(),
        stop: ports.stop,
        inbox,
        human: ports.human,
        who: project.who(),
        team: project.team_budgets()?,
        clock: Box::new(SystemClock),
        reporter: ports.reporter,
        notices: project.notices(),
        config,
        root: root.clone(),
    })
}

/// An agent that is not there is said before a branch is made or a baseline run.
pub(crate) fn check_program(agent: &dyn Agent, root: &Path) -> Result<(), CommandError> {
    let context = RunContext {
        cwd: root.to_owned(),
        env: Vec::new(),
        prompt: String::new(),
        labels: Vec::new(),
        budget: None,
    };
    let program = agent.command(&context).program;
    let program = program.to_string_lossy();
    if programs::find(&program, root).is_some() {
        return Ok(());
    }
    let (name, hint) = (
        agent.name(),
        "`ralph doctor` shows how to install it; `--agent` selects another one",
    );
    Err(if program.is_empty() {
        CommandError::new(ErrorKind::Unavailable, format!("agent {name} has no program to start"))
            .hint("say which: `agent: {name: …, command: […], dialect: text}` or `--agent command:PROGRAM`")
    } else {
        let text = format!("the agent is not available: program not found: {program}");
        let hint = match program.split_once(char::is_whitespace) {
            Some((first, rest)) if programs::find(first, root).is_some() => {
                format!(
                    "put arguments into their own list: `command: {{args: [{rest}]}}` in ralph.yaml"
                )
            }
            _ => hint.to_owned(),
        };
        CommandError::new(ErrorKind::Unavailable, text).hint(hint)
    })
}

/// Tests and the curious can ask for another way of keeping processes together.
pub(crate) fn detection(project: &Project) -> Result<Detection, CommandError> {
    let forced = project
        .variable("RALPH_CONTAINMENT")
        .map(|word| word.parse::<Containment>())
        .transpose()
        .map_err(CommandError::user)?;
    Ok(Containment::detect(forced))
}

/// Gives an error of a loop that had begun its exit code and the way out.
fn explain_failure(failure: LoopFailure) -> CommandError {
    let code = failure.error.exit_code(failure.changed);
    let kind = if code == 2 {
        ErrorKind::User
    } else {
        ErrorKind::Internal
    };
    explain_as(kind, failure.error).hint_opt(failure.hint)
}

/// Gives an error of the engine its kind and the way out.
pub(crate) fn explain(error: LoopError) -> CommandError {
    let kind = if error.is_users() {
        ErrorKind::User
    } else {
        ErrorKind::Internal
    };
    explain_as(kind, error)
}

fn explain_as(kind: ErrorKind, error: LoopError) -> CommandError {
    if let Some(fault) = DiskFault::of(&error) {
        let hint = format!("{}, then try again", fault.remedy());
        return CommandError::new(kind, error).hint(hint);
    }
    let hint: Option<String> = match &error {
        LoopError::Git(e) => e.hint(),
        LoopError::Repository(e) => e.hint(),
        LoopError::Rewrite(e) => e.hint(),
        LoopError::LeftBranch { branch, .. } => Some(format!(
            "`git switch {branch}`, then `ralph run` continues; without that branch the loop can't continue"
        )),
        LoopError::MovedAway(_) => Some(
            "`ralph run` in its new place starts over with what is not landed; moved back, it continues"
                .into(),
        ),
        LoopError::Dirty { .. } => Some("commit your changes, or use `ralph run --stash`".into()),
        LoopError::Artefact { .. } => {
            Some("fix it, or move it away: ralph creates a new one".into())
        }
        LoopError::ConfiguredPath { key, .. } => Some(format!(
            "set `{key}` to a path of its own; `ralph config {key}` shows where it was set"
        )),
        LoopError::Diverged { branch, head, .. } => Some(format!(
            "`--from HEAD` starts {branch} over from {head} (where it was is kept), `--onto` brings its commits \
             onto {head}, `--branch NAME` works on another branch; or `git switch {branch}` and merge {head} \
             yourself"
        )),
        LoopError::CantBringOnto { branch, .. } => Some(format!(
            "`git switch {branch}` and merge or rebase it yourself; `--from HEAD` starts it over, and keeps \
             where it was"
        )),
        LoopError::NoLayer { reason } => reason.hint().or_else(|| {
            Some("`workspace.mode: auto` works in your own folder where there are no layers".into())
        }),
        LoopError::AllowedHost { .. } => {
            Some("such as `example.com`, `*.example.com` or `127.0.0.1:8080`".into())
        }
        LoopError::NoSandbox { .. } => Some(
            "`ralph doctor` says what this machine allows; `safety.sandbox: auto` works without one where \
             there is none"
                .into(),
        ),
        LoopError::NotInImage { .. } => Some(
            "add it to the image of `safety.container`, or show a program that runs there with `safety.allow_read`"
                .into(),
        ),
        LoopError::UnknownCommit { .. } => {
            Some("name a commit, a branch or a tag; `git log --oneline` lists commits".into())
        }
        LoopError::NoVerifyCommands => {
            Some("set `verification.commands` in ralph.yaml; `ralph init` guesses them".into())
        }
        LoopError::MissingProgram { task: None, .. } => Some(
            "install it, or change `verification.commands` in ralph.yaml; `ralph doctor` checks all programs".into(),
        ),
        LoopError::MissingProgram { task: Some(task), .. } => Some(format!(
            "install it, or change `verify` of {task} in its task file"
        )),
        LoopError::NotAllowed { .. } => Some(
            "add what it needs to `safety.allowed_commands`, or change the command".into(),
        ),
        LoopError::Graph(_) => Some("`ralph lint` shows all problems and where they are".into()),
        LoopError::UnknownTask(_) => Some("`ralph tasks list` shows the ids".into()),
        LoopError::Lock(LockError::Held { .. }) => {
            Some("wait for it to end, or use another worktree (`git worktree add`)".into())
        }
        LoopError::Journal(error) => error.hint().map(str::to_owned),
        LoopError::Source(_)
        | LoopError::Template(_)
        | LoopError::Prices(_)
        | LoopError::BadGlob(_)
        | LoopError::Container(_)
        | LoopError::Layer(_)
        | LoopError::Lock(LockError::Io { .. })
        | LoopError::IllegalStep(_)
        | LoopError::IllegalTransition(_)
        | LoopError::File { .. }
        | LoopError::ConfigRestored(_) => None,
    };
    CommandError::new(kind, error).hint_opt(hint)
}
