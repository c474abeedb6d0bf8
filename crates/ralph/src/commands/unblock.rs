//! `ralph unblock`: a task that is out of attempts is open again, with all of them.

use std::process::ExitCode;

use ralph_core::command::Command;

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    #[command(flatten)]
    said: queue::AnswerForm,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Unblock {
        task: queue::task(&args.task)?,
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
