//! `ralph tasks`: the tasks of any format, in the one model that ralph has of them.

mod add;
mod list;
mod new_id;
mod show;
mod suggested;
mod view;

use std::process::ExitCode;

use crate::{cli::Global, error::CommandError};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the tasks: where each stands, and what it waits for
    List(list::Args),
    /// Show all that is known of one task
    Show(show::Args),
    /// Add a task, or take over what agents suggested
    Add(add::Args),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.command {
        Command::List(args) => list::run(args, global),
        Command::Show(args) => show::run(args, global),
        Command::Add(args) => add::run(args, global),
    }
}
