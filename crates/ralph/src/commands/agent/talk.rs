//! `ralph agent talk`: hands the terminal to an agent, and says how that ended.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use ralph_engine::agent::{InteractiveEnd, InteractiveError, InteractiveSession, run_interactive};

use crate::{
    cli::Global,
    commands::run,
    error::{CommandError, ErrorKind},
    output,
    project::{self, Project},
    sandboxed::sandboxed,
};

/// The time that an agent gets to save its work when it is asked to end.
const GRACE: Duration = Duration::from_secs(10);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Whom to talk to: claude, pi or another that `agent` in ralph.yaml can name
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// What it is told first; without it you speak first
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with = "prompt_file",
        allow_hyphen_values = true
    )]
    prompt: Option<String>,

    /// A file with what it is told first
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,

    /// End the conversation when this file appears or is written to
    #[arg(long, value_name = "FILE")]
    until: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, run::chosen_agent(args.agent.as_ref()))?;
    let start = &project.surroundings.start;
    let environment = project.environment(project.root());
    let agent = run::choose_agent(&project)?;
    let prompt = output::without_secrets(&args.first_prompt(start)?).into_owned();
    let done_file = args.until.as_deref().map(|file| start.join(file));
    let end = project::block_on(async {
        let written = done_file.as_deref().and_then(Path::parent);
        let environment = sandboxed(&project, environment, &agent.name(), written).await?;
        let session = InteractiveSession {
            cwd: start.clone(),
            env: environment.for_agent(agent.facts().credentials, &[]),
            prompt,
            done_file,
            grace: GRACE,
            containment: run::detection(&project)?.containment,
            sandbox: environment.sandbox(),
        };
        run_interactive(&*agent, &session).await.map_err(explain)
    })?;
    output::print(&format!(
        "{}\n",
        sentence(&agent.name(), end, args.until.as_deref())
    ));
    Ok(ExitCode::from(exit_code(end)))
}

impl Args {
    fn first_prompt(&self, start: &Path) -> Result<String, CommandError> {
        let Some(file) = &self.prompt_file else {
            return Ok(self.prompt.clone().unwrap_or_default());
        };
        std::fs::read_to_string(start.join(file)).map_err(|error| {
            CommandError::user(format!(
                "can't read the prompt in {}: {error}",
                file.display()
            ))
        })
    }
}

fn sentence(agent: &str, end: InteractiveEnd, until: Option<&Path>) -> String {
    match end {
        InteractiveEnd::Done => {
            let file =
                until.map_or_else(String::new, |file| format!(": {} is there", file.display()));
            format!("{agent} is done{file}")
        }
        InteractiveEnd::Exited(0) => format!("{agent} has exited"),
        InteractiveEnd::Exited(code) => format!("{agent} exited with code {code}"),
        InteractiveEnd::Killed(signal) => format!("{agent} was killed by signal {signal}"),
        InteractiveEnd::Stopped(signal) => {
            format!("{agent} was ended, as ralph got signal {signal}")
        }
    }
}

/// The agent's own where it has one, and what a shell makes of a signal.
fn exit_code(end: InteractiveEnd) -> u8 {
    let code = match end {
        InteractiveEnd::Done => 0,
        InteractiveEnd::Exited(code) => code,
        InteractiveEnd::Killed(signal) | InteractiveEnd::Stopped(signal) => 128 + signal,
    };
    u8::try_from(code).unwrap_or(u8::MAX)
}

pub(crate) fn explain(error: InteractiveError) -> CommandError {
    let (kind, hint) = match &error {
        InteractiveError::NotInteractive { .. } => (
            ErrorKind::User,
            Some("choose another with `--agent`, such as claude or pi"),
        ),
        InteractiveError::Terminal { .. } => (
            ErrorKind::User,
            Some("start it in a terminal, in the foreground and without redirection"),
        ),
        InteractiveError::Spawn(_) => (
            ErrorKind::User,
            Some("`ralph doctor` checks the agent, and says which key names its program"),
        ),
        InteractiveError::PromptFile(_) | InteractiveError::Wait { .. } => {
            (ErrorKind::Internal, None)
        }
    };
    CommandError::new(kind, error).hint_opt(hint.map(str::to_owned))
}
