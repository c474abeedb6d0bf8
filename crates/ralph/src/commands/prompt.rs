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

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let (Phase::Init { name } | Phase::Interview { name, .. } | Phase::Execute { name, .. }) =
        &args.phase;
    let named = ArtefactsProject::named(project, name)?;
    // A name that is mistyped must not look like a project that is there.
    if !matches!(args.phase, Phase::Init { .. }) && !named.folder.path().is_dir() {
        return Err(named.missing(&project.shown(named.folder.path())));
    }
    let params = match args.phase {
        Phase::Init { .. } => Params::Init {
            project: &named.name,
        },
        Phase::Interview { round, rounds, .. } => {
            in_range("--round", round, rounds)?;
            Params::Interview {
                project: &named.name,
                round: Round {
                    number: round,
                    of: rounds,
                },
            }
        }
        Phase::Execute {
            iteration,
            iterations,
            ..
        } => {
            let most = project.config().loop_.max_iterations;
            let iterations = iterations.unwrap_or(most.max(iteration));
            in_range("--iteration", iteration, iterations)?;
            Params::Execute {
                project: &named.name,
                iteration,
                iterations,
                task: None,
            }
        }
    };
    output::print(&prompt(project, &params)?);
    Ok(ExitCode::SUCCESS)
}

/// Refuses a number that is more than its plural flag allows.
fn in_range(flag: &str, number: u32, most: u32) -> Result<(), CommandError> {
    if number <= most {
        return Ok(());
    }
    let message = format!("{flag} {number} is more than {flag}s {most}");
    Err(CommandError::user(message))
}
