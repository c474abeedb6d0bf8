//! `ralph tasks done`: marks a task that a person has done.

use std::process::ExitCode;

use ralph_core::command::Command;

use crate::{
    cli::Global,
    error::CommandError,
    queue::{self, AnswerForm, PATIENCE},
};

/// The task is completed in its file, with who did it and when in its notes. For tasks that only a person
/// can do (ids that begin with `HUMAN-`, which no agent is given) and for work that you did yourself: no
/// command verifies it.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Id of the task
    id: String,

    /// A note for the task file
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,

    #[command(flatten)]
    said: AnswerForm,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let note = args.note.as_ref();
    let note = note.map(|text| queue::words("--note", text));
    let command = Command::Done {
        task: queue::task(&args.id)?,
        note: note.transpose()?,
    };
    queue::send(global, &command, &args.said, PATIENCE)
}
