//! Commands that only pass on what a person wants: `pause`, `intervene`, `retry`, `skip`, `unblock` and `say`.
//! The loop does it, or whatever runs in its place where there is none.

use std::{process::ExitCode, time::Duration};

use ralph_core::{
    command::{Command, When},
    health::Choice,
};

use crate::{
    cli::Global,
    error::CommandError,
    queue::{self, AnswerForm, PATIENCE},
};

/// The loop stays where it is until `ralph resume`; its process lives on. A `ralph run` that is started
/// again never begins paused.
#[derive(Debug, clap::Args)]
pub(crate) struct PauseArgs {
    /// Stop the running agent cleanly; its work is kept and no attempt is charged
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    said: AnswerForm,
}

/// Longer than an agent is given to end, in all its steps.
const UNTIL_STOPPED: Duration = Duration::from_secs(120);

pub(crate) fn pause(args: &PauseArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let (when, patience) = if args.now {
        (When::Now, UNTIL_STOPPED)
    } else {
        (When::InTurn, PATIENCE)
    };
    queue::send(global, &Command::Pause { when }, &args.said, patience)
}

/// Decides about the agent that works now. Where none works, it is refused: nothing waits for the next
/// one.
#[derive(Debug, clap::Args)]
pub(crate) struct InterveneArgs {
    /// What to do with the running agent
    #[arg(value_name = "CHOICE", value_enum)]
    choice: Wanted,

    #[command(flatten)]
    said: AnswerForm,
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

pub(crate) fn intervene(args: &InterveneArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let choice = match args.choice {
        Wanted::MoreTime => Choice::MoreTime,
        Wanted::Handoff => Choice::Handoff,
        Wanted::Terminate => Choice::Terminate,
    };
    queue::send(global, &Command::Intervene { choice }, &args.said, PATIENCE)
}

#[derive(Debug, clap::Args)]
pub(crate) struct RetryArgs {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    /// What to tell the agents of the next attempts
    #[arg(long, value_name = "TEXT")]
    feedback: Option<String>,

    #[command(flatten)]
    said: AnswerForm,
}

pub(crate) fn retry(args: &RetryArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let feedback = args.feedback.as_ref();
    let feedback = feedback.map(|text| queue::words("--feedback", text));
    let command = Command::Retry {
        task: queue::task(&args.task)?,
        feedback: feedback.transpose()?,
    };
    queue::send(global, &command, &args.said, PATIENCE)
}

#[derive(Debug, clap::Args)]
pub(crate) struct SkipArgs {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    /// The reason, for the task file, the journal and the prompts of tasks that depend on this one
    #[arg(long, value_name = "TEXT")]
    reason: String,

    #[command(flatten)]
    said: AnswerForm,
}

pub(crate) fn skip(args: &SkipArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Skip {
        task: queue::task(&args.task)?,
        reason: queue::words("--reason", &args.reason)?,
    };
    queue::send(global, &command, &args.said, PATIENCE)
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnblockArgs {
    /// Id of the task
    #[arg(long, value_name = "ID")]
    task: String,

    #[command(flatten)]
    said: AnswerForm,
}

pub(crate) fn unblock(args: &UnblockArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let task = queue::task(&args.task)?;
    queue::send(global, &Command::Unblock { task }, &args.said, PATIENCE)
}

#[derive(Debug, clap::Args)]
pub(crate) struct SayArgs {
    /// The message, for the next agent and later ones that work on the same task
    text: String,

    /// Send it to the running agent; if that is not possible, it goes into the next prompt
    #[arg(long)]
    now: bool,

    #[command(flatten)]
    said: AnswerForm,
}

pub(crate) fn say(args: &SayArgs, global: &Global) -> Result<ExitCode, CommandError> {
    let command = Command::Say {
        text: queue::words("what is to be said", &args.text)?,
        when: if args.now { When::Now } else { When::InTurn },
    };
    queue::send(global, &command, &args.said, PATIENCE)
}
