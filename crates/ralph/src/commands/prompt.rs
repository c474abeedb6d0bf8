//! `ralph prompt`: prints what an agent of an artefacts project would be told. Starts none, changes
//! nothing.

use std::process::ExitCode;

use clap::{Subcommand, value_parser};
use ralph_core::artefacts::{
    DEFAULT_ROUNDS,
    template::{Params, Round},
};

use crate::{
    artefacts::{ArtefactsProject, prompt},
    cli::Global,
    error::CommandError,
    output,
    project::Project,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    phase: Phase,
}

#[derive(Debug, Subcommand)]
enum Phase {
    /// Print the prompt for setting up the project
    Init {
        /// Name of the project
        name: String,
    },
    /// Print the prompt for a round of the interview
    Interview {
        /// Name of the project
        name: String,

        /// Number of the round
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
        round: u32,

        /// Total number of rounds; the last one also creates the tasks
        #[arg(long, value_name = "N", default_value_t = DEFAULT_ROUNDS, value_parser = value_parser!(u32).range(1..))]
        rounds: u32,
    },
    /// Print the prompt for working on a task
    Execute {
        /// Name of the project
        name: String,

        /// Number of the iteration
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
        iteration: u32,

        /// Maximum number of iterations [default: the limit of a loop]
        #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..))]
        iterations: Option<u32>,
    },
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = Project::open(global, Vec::new())?;
    let text = match &args.phase {
        Phase::Init { name } => {
            let named = ArtefactsProject::named(&project, name)?;
            let params = Params::Init {
                project: &named.name,
            };
            prompt(&project, &params)?
        }
        Phase::Interview {
            name,
            round,
            rounds,
        } => {
            let named = there(&project, name)?;
            in_range("--round", *round, *rounds)?;
            let round = Round {
                number: *round,
                of: *rounds,
            };
            let params = Params::Interview {
                project: &named.name,
                round,
            };
            prompt(&project, &params)?
        }
        Phase::Execute {
            name,
            iteration,
            iterations,
        } => {
            let named = there(&project, name)?;
            let most = project.config().loop_.max_iterations.get();
            let iterations = iterations.unwrap_or(most.max(*iteration));
            in_range("--iteration", *iteration, iterations)?;
            let params = Params::Execute {
                project: &named.name,
                iteration: *iteration,
                iterations,
                task: None,
            };
            prompt(&project, &params)?
        }
    };
    output::print(&text);
    Ok(ExitCode::SUCCESS)
}

/// A project that is there: a name that is mistyped must not look like one.
fn there(project: &Project, name: &str) -> Result<ArtefactsProject, CommandError> {
    let named = ArtefactsProject::named(project, name)?;
    if named.folder.path().is_dir() {
        Ok(named)
    } else {
        Err(named.missing(&project.shown(named.folder.path())))
    }
}

/// Refuses a number that is more than its plural flag allows.
fn in_range(flag: &str, number: u32, most: u32) -> Result<(), CommandError> {
    if number <= most {
        return Ok(());
    }
    let message = format!("{flag} {number} is more than {flag}s {most}");
    Err(CommandError::user(message))
}
