//! `ralph say`: words for the next prompt, or for the agent that runs.

use std::process::ExitCode;

use ralph_core::command::{Command, When};

use crate::{cli::Global, error::CommandError, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What the next agent is told; those that try the same task after it are told too
    text: String,

    /// Tell the agent that runs; one that can't be told while it runs has it in its next prompt
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    said: queue::Said,
}

pub(crate) fn run(args: Args, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Say {
        text: queue::words("what is to be said", args.text)?,
        when: if args.now { When::Now } else { When::InTurn },
    };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
