//! `ralph agent`: the agents themselves, apart from any task: which there are, what ralph makes of what
//! one said, and a conversation with one.

mod explain;
mod list;
mod outline;
mod talk;

pub(crate) use talk::explain as explain_talk;

use std::process::ExitCode;

use clap::Subcommand;

use crate::{cli::Global, error::CommandError};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: AgentCommand,
}

#[derive(Debug, Subcommand)]
enum AgentCommand {
    /// Read the recorded stream of an agent and print what ralph makes of it
    Explain(explain::Args),
    /// List the agents that ralph knows, and which one is configured
    List(list::Args),
    /// Talk to an agent in this terminal
    Talk(talk::Args),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.command {
        AgentCommand::Explain(args) => explain::run(args, global),
        AgentCommand::List(args) => list::run(args, global),
        AgentCommand::Talk(args) => talk::run(args, global),
    }
}
