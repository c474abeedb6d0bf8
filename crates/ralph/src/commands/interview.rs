//! `ralph interview`: rounds in which fresh agents ask about a project's brief and amend it; the last
//! one also makes the tasks.
//!
//! Leads the rounds and checks what they leave. What is asked, and what is made of an answer, is the
//! agent's; whether the tasks can be worked from is not.

mod diff;
mod headless;
mod lead;
mod scene;
mod talks;

use std::{path::PathBuf, process::ExitCode};

use clap::value_parser;
use ralph_core::artefacts::{Answers, template::InterviewMode};
use ralph_engine::{
    inbox::Inbox,
    interview::{Claim, read_spec},
};

use crate::{
    artefacts::ArtefactsProject,
    ask::has_terminal,
    cli::Global,
    commands::run,
    error::CommandError,
    project::{self, Project},
};
use lead::lead;
use scene::Scene;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the project, as created by `ralph init NAME`
    name: String,

    /// Number of rounds [default: 3, or the rest of a stopped interview]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,

    /// The agent that asks: a name from `ralph agent list`
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// The model to use
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,

    /// Without a conversation: ralph asks the questions itself, or reads the answers from a file
    #[arg(long)]
    headless: bool,

    /// File with answers, YAML or JSON: a map by id or question, or a list
    #[arg(long, value_name = "FILE", requires = "headless")]
    answers: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, run::chosen_agent(args.agent.as_ref()))?;
    let named = ArtefactsProject::named(&project, &args.name)?;
    let spec = named.folder.spec();
    if read_spec(&named.folder)?.is_none() {
        return Err(named.missing(&project.shown(&spec)));
    }
    if !args.headless && !has_terminal() {
        let message = "an interview needs a terminal";
        return Err(CommandError::user(message)
            .hint("`--headless --answers FILE` reads the answers from a file"));
    }
    let answers = args.answers(&project)?;
    let agent = run::choose_agent_with(&project, args.model.as_deref())?;
    run::check_program(&*agent, project.root())?;
    let setting = if args.headless {
        InterviewMode::Headless
    } else {
        InterviewMode::Conversation
    };
    let Some(_claim) = Claim::take(&named.folder)? else {
        let message = format!(
            "another ralph process runs an interview about {}",
            named.name
        );
        return Err(CommandError::user(message).hint("wait for it to end, or stop it"));
    };
    let end = project::block_on(async {
        let budget = Scene::open_budget(&project).await?;
        let scene = Scene::new(&project, named, agent, setting, budget).await?;
        match setting {
            InterviewMode::Headless => {
                scene.warn_unattended();
                // An interview has no queue that it could be signalled for.
                let stop = run::listen_for_signals(Inbox::default())?;
                lead(&scene, &mut headless::Asks::new(answers, stop), args.rounds).await
            }
            InterviewMode::Conversation => {
                lead(&scene, &mut talks::Talks::new()?, args.rounds).await
            }
        }
    })?;
    Ok(ExitCode::from(end.exit_code()))
}

impl Args {
    fn answers(&self, project: &Project) -> Result<Answers, CommandError> {
        let Some(file) = &self.answers else {
            return Ok(Answers::default());
        };
        let name = file.display().to_string();
        let text =
            std::fs::read_to_string(project.surroundings.start.join(file)).map_err(|error| {
                CommandError::user(format!("can't read the answers in {name}: {error}"))
            })?;
        Answers::parse(&name, &text).map_err(CommandError::user)
    }
}
