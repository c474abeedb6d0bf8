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
    command: TasksCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TasksCommand {
    /// List the tasks: where each stands, and what it waits for
    List(list::Args),
    /// Show all that is known of one task
    Show(show::Args),
    /// Add a task, or take over what agents suggested
    Add(add::Args),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.command {
        TasksCommand::List(args) => list::run(args, global),
        TasksCommand::Show(args) => show::run(args, global),
        TasksCommand::Add(args) => add::run(args, global),
    }
}
