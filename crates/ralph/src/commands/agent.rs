//! `ralph agent`: the agents themselves, apart from any task.

mod talk;

use std::process::ExitCode;

use crate::{cli::Global, error::CommandError};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Talk to an agent in this terminal
    Talk(talk::Args),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.command {
        Command::Talk(args) => talk::run(args, global),
    }
}
