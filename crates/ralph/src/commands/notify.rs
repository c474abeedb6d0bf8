//! `ralph notify`: whether the people who are away would hear of a loop.

mod post;
mod test;

pub(crate) use post::{WEBHOOK_HINT, attach, close, means, project_name, redaction};

use std::process::ExitCode;

use crate::{cli::Global, error::CommandError};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: NotifyCommand,
}

#[derive(Debug, clap::Subcommand)]
enum NotifyCommand {
    /// Send a sample notification to every configured target and print the results
    Test(test::Args),
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    match &args.command {
        NotifyCommand::Test(args) => test::run(args, global),
    }
}
