//! `ralph intervene`: a person decides what becomes of the agent that works now.
//!
//! Only says what is wanted: the loop that has the agent does it, and refuses where none works.

use std::process::ExitCode;

use ralph_core::{command::Command, health::Choice};

use crate::{cli::Global, error::CommandError, queue};

/// Decides about the agent that works now. Where none works, it is refused: nothing waits for the next
/// one.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to do with the running agent
    #[arg(value_name = "CHOICE", value_enum)]
    choice: Wanted,

    #[command(flatten)]
    said: queue::AnswerForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Wanted {
    /// Let it continue, and stop checking on it for a while
    MoreTime,
    /// Ask it to finish up; a new agent continues from the files as they are
    Handoff,
    /// End it and all processes that it started; its work is kept
    Terminate,
}

impl From<Wanted> for Choice {
    fn from(wanted: Wanted) -> Self {
        match wanted {
            Wanted::MoreTime => Self::MoreTime,
            Wanted::Handoff => Self::Handoff,
            Wanted::Terminate => Self::Terminate,
        }
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let choice = args.choice.into();
    let command = Command::Intervene { choice };
    queue::send(global, &command, &args.said, queue::PATIENCE)
}
