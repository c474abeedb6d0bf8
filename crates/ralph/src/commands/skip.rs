//! `ralph skip`: a task is left out, and why; what depends on it is told.

use std::process::ExitCode;

use ralph_core::command::Command;

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    /// The reason, for the task file, the journal and the prompts of tasks that depend on this one
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    said: queue::AnswerForm,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Skip {
        task: queue::task(&args.task)?,
        reason: queue::words("--reason", args.reason)?,
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
