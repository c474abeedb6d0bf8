//! `ralph retry`: a task is open again with all its attempts, and its next agent is told what to do
//! differently.

use std::process::ExitCode;

use ralph_core::command::Command;

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    /// What to tell the agents of the next attempts
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,

    #[command(flatten)]
    said: queue::AnswerForm,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let feedback = args.feedback.map(|text| queue::words("--feedback", text));
    let command = Command::Retry {
        task: queue::task(&args.task)?,
        feedback: feedback.transpose()?,
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
