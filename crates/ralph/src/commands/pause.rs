//! `ralph pause`: the loop rests between two iterations, or stops its agent and rests at once.

use std::{process::ExitCode, time::Duration};

use ralph_core::command::{Command, When};

use crate::{cli::Global, error::CommandError, queue};

/// The loop stays where it is until `ralph resume`; its process lives on. A `ralph run` that is started
/// again never begins paused.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop the running agent cleanly; its work is kept and no attempt is charged
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    said: queue::AnswerForm,
}

/// Longer than an agent is given to end, in all its steps.
const UNTIL_STOPPED: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let (when, patience) = if args.now {
        (When::Now, UNTIL_STOPPED)
    } else {
        (When::InTurn, queue::PATIENCE)
    };
    queue::send(global, &Command::Pause { when }, &args.said, patience)
}
