//! `ralph say`: words for the next prompt, or for the agent that runs.

use std::process::ExitCode;

use ralph_core::command::{Command, When};

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The message, for the next agent and later ones that work on the same task
    text: String,

    /// Send it to the running agent; if that is not possible, it goes into the next prompt
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    said: queue::AnswerForm,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Say {
        text: queue::words("what is to be said", args.text)?,
        when: if args.now { When::Now } else { When::InTurn },
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
