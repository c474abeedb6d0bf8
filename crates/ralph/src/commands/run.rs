//! `ralph run`: chooses the seams once, and hands them to the driver.

mod agent;
mod dry_run;
mod person;
mod reporter;
mod signals;

pub(crate) use agent::{
    choose as choose_agent, choose_with as choose_agent_with, make as make_agent,
};
pub(crate) use reporter::Look;
pub(crate) use signals::listen as listen_for_signals;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use ralph_core::{
    config::{FlagValue, Given},
    task::TaskId,
    termination::{Span, Stop},
};
use ralph_engine::{
    agent::{Agent, RunContext, StopRequest},
    clock::SystemClock,
    driver::{LoopError, LoopReport, Scope, Setup, Wanted, run_loop},
    git,
    inbox::Inbox,
    lock::LockError,
    process::{Containment, Detection},
};

use crate::{
    cli::Global,
    commands::{
        doctor::programs,
        notify::{self, Ending},
    },
    error::{CommandError, Kind},
    output,
    project::Project,
};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The task file, or a folder of them; found by itself if there is only one
    source: Option<PathBuf>,

    /// Stop after one iteration
    #[arg(long)]
    once: bool,

    /// Stop after this many iterations
    #[arg(long, value_name = "N")]
    max_iterations: Option<u32>,

    /// Stop after this many minutes
    #[arg(long, value_name = "N", value_parser = finite)]
    max_minutes: Option<f64>,

    /// Stop once this many dollars are spent, as far as the agent says
    #[arg(long, value_name = "N", value_parser = finite)]
    max_cost: Option<f64>,

    /// Work on this task only, or on what is below it
    #[arg(long, value_name = "ID")]
    task: Option<String>,

    /// Who does the work: claude, pi or another of `ralph agent list`, script:FILE, command:PROGRAM
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Put your uncommitted work aside (`git stash`) instead of refusing to start
    #[arg(long)]
    stash: bool,

    /// Print the task that would be taken and its whole prompt, and change nothing
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    look: Look,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    // A configuration that an agent had edited when ralph was killed is put back, and read again.
    match attempt(&args, global) {
        Err(Failed::ReadAgain(notice)) => {
            output::print_to_stderr(&format!("{notice}\n"));
            attempt(&args, global).map_err(Failed::into_error)
        }
        other => other.map_err(Failed::into_error),
    }
}

enum Failed {
    Command(CommandError),
    ReadAgain(String),
}

impl Failed {
    fn into_error(self) -> CommandError {
        match self {
            Self::Command(error) => error,
            Self::ReadAgain(notice) => CommandError::user(notice),
        }
    }
}

impl From<CommandError> for Failed {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

fn attempt(args: &Args, global: &Global) -> Result<ExitCode, Failed> {
    let project = Project::open(global, args.flags())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(CommandError::internal)?;
    let ended = runtime.block_on(async {
        if args.dry_run {
            return Ok(dry_run::run(args, &project).await?);
        }
        let mut setup = setup(args, &project)?;
        let means = notify::means(&project, &setup.environment, setup.detection.containment);
        let (reporter, outbox) = notify::attach(&project, setup.reporter, &means)?;
        setup.reporter = reporter;
        let asked = setup.stop.clone();
        let ended = run_loop(setup).await;
        let failure = ended.as_ref().err().map(ToString::to_string);
        let ending = failure.as_deref().map_or(Ending::Told, Ending::Failed);
        notify::close(outbox, ending, nobody_waits(asked, ended.as_ref().ok())).await;
        match ended {
            Ok(report) => Ok(ExitCode::from(report.stop.exit_code())),
            Err(error @ LoopError::ConfigRestored(_)) => Err(Failed::ReadAgain(error.to_string())),
            Err(error) => Err(Failed::Command(explain(error))),
        }
    });
    // A look-up of a name that hangs must not hold up the end.
    runtime.shutdown_background();
    ended
}

/// Until somebody asks to stop who did not end the loop itself by that.
async fn nobody_waits(mut asked: StopRequest, report: Option<&LoopReport>) {
    let by_request = report.is_some_and(|r| matches!(r.stop, Stop::Interrupted { .. }));
    // A second signal ends ralph at once anyway.
    if by_request || asked.wait_for(Option::is_some).await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn setup(args: &Args, project: &Project) -> Result<Setup, CommandError> {
    let source = project.source_path(args.source.as_deref())?;
    let config = project.config().clone();
    let root = project.git_root()?;
    let scope = Scope {
        parent: project.parent_task()?,
        only: args.task.as_deref().map(parse_id).transpose()?,
    };
    let environment = project.environment(&root);
    let agent = agent::choose(project)?;
    // What is only looked at needs no agent.
    if !args.dry_run {
        check_program(&*agent, &root)?;
    }
    let inbox = Inbox::default();
    let stop = signals::listen(inbox.clone()).map_err(CommandError::internal)?;
    Ok(Setup {
        data_dir: project.data_dir()?,
        config_file: project.config_bytes()?,
        wanted: Wanted {
            source,
            scope,
            span: if args.once { Span::Once } else { Span::All },
            stash: args.stash,
        },
        agent,
        fallback: agent::fallback(project)?,
        detection: detection(project)?,
        environment,
        git_environment: git::Environment::from_vars(project.surroundings.env.iter().cloned()),
        stop,
        inbox,
        human: args.look.person(),
        who: project.who(),
        clock: Box::new(SystemClock),
        reporter: args.look.reporter(),
        notices: project.notices(),
        config,
        root,
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
        "`ralph doctor` says how to get it; `--agent` chooses another one",
    );
    Err(match program.is_empty() {
        true => CommandError::new(Kind::Unavailable, format!("agent {name} has no program to start"))
            .hint("say which: `agent: {name: …, command: […], dialect: text}` or `--agent command:PROGRAM`"),
        false => {
            let text = format!("the agent is not available: program not found: {program}");
            let hint = match program.split_once(char::is_whitespace) {
                Some((first, rest)) if programs::find(first, root).is_some() => {
                    format!("arguments stand apart: `command: {{args: [{rest}]}}` in ralph.yaml")
                }
                _ => hint.to_owned(),
            };
            CommandError::new(Kind::Unavailable, text).hint(hint)
        }
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

/// A number that is one: no JSON could carry the others on, and a limit would be lost.
fn finite(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        Ok(_) | Err(_) => Err("expected a number".into()),
    }
}

fn parse_id(text: &str) -> Result<TaskId, CommandError> {
    TaskId::parse(text).map_err(|e| CommandError::user(format!("--task {text:?}: {e}")))
}

impl Args {
    /// `ralph run` in the sample of the demo: all defaults.
    pub(crate) fn for_demo(look: Look) -> Self {
        Self {
            source: None,
            once: false,
            max_iterations: None,
            max_minutes: None,
            max_cost: None,
            task: None,
            agent: None,
            stash: false,
            dry_run: false,
            look,
        }
    }

    /// `ralph run` on this source, as `ralph resume` starts it.
    pub(crate) fn again(source: PathBuf, agent: Option<String>, look: Look) -> Self {
        Self {
            source: Some(source),
            agent,
            ..Self::for_demo(look)
        }
    }

    /// What the flags say about the configuration.
    fn flags(&self) -> Vec<FlagValue> {
        let mut flags = Vec::new();
        let mut set = |key: &str, flag: &str, value: Option<serde_json::Value>| {
            if let Some(value) = value {
                flags.push(FlagValue {
                    key: key.into(),
                    value: Given::Json(value),
                    flag: flag.into(),
                });
            }
        };
        set(
            "loop.max_iterations",
            "--max-iterations",
            self.max_iterations.map(Into::into),
        );
        set(
            "loop.max_minutes",
            "--max-minutes",
            self.max_minutes.map(Into::into),
        );
        set(
            "loop.max_cost_usd",
            "--max-cost",
            self.max_cost.map(Into::into),
        );
        set("agent", "--agent", self.agent.clone().map(Into::into));
        flags
    }
}

/// Gives an error of the driver its kind and the way out.
pub(crate) fn explain(error: LoopError) -> CommandError {
    let (kind, hint): (Kind, Option<String>) = match &error {
        LoopError::Git(e) => (Kind::User, e.hint()),
        LoopError::Repository(e) => (Kind::User, e.hint()),
        LoopError::Rewrite(e) if e.is_internal() => (Kind::Internal, e.hint()),
        LoopError::Rewrite(e) => (Kind::User, e.hint()),
        LoopError::LeftBranch { branch, .. } => (
            Kind::User,
            Some(format!(
                "`git switch {branch}`, then `ralph run` goes on; without that branch the loop is given up"
            )),
        ),
        LoopError::Dirty { .. } => (
            Kind::User,
            Some("commit it, or let `ralph run --stash` put it aside".into()),
        ),
        LoopError::Source(_) | LoopError::Template(_) | LoopError::BadGlob(_) => (Kind::User, None),
        LoopError::Graph(_) => (
            Kind::User,
            Some("`ralph lint` shows all problems and where they are".into()),
        ),
        LoopError::UnknownTask(_) => (Kind::User, Some("`ralph tasks list` shows the ids".into())),
        LoopError::Container(_) => (Kind::User, None),
        LoopError::Lock(LockError::Held { .. }) => (
            Kind::User,
            Some("wait for it to end, or use a worktree of its own (`git worktree add`)".into()),
        ),
        LoopError::Lock(LockError::Io { .. })
        | LoopError::Journal(_)
        | LoopError::IllegalStep(_)
        | LoopError::File { .. }
        | LoopError::ConfigRestored(_) => (Kind::Internal, None),
    };
    CommandError::new(kind, error).hint_opt(hint)
}
