//! `ralph loop "GOAL"`: works towards one goal without a task list, by the loop of `ralph run`.

use std::process::ExitCode;

use ralph_core::goal::{Goal, Promise};

use super::run::{self, Options, Order, RunTarget};
use crate::{cli::Global, commands::CommandAccess, error::CommandError};

/// Every iteration is a fresh agent that is told the same goal. What it changes is verified and, if it
/// passes, committed: that is the progress. The loop ends when an agent makes the promise *and* the
/// verify commands pass, or at a limit.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The goal, in your own words
    #[arg(value_name = "GOAL")]
    goal: String,

    /// Text that an agent writes between <promise> and </promise> when the goal is reached
    #[arg(long, value_name = "TEXT", default_value = Promise::DEFAULT)]
    completion_promise: String,

    /// Stop after this many iterations; 0 for no limit
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_iterations: Option<u32>,

    #[command(flatten)]
    options: Options,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.options.dry_run)
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let promise = Promise::parse(&args.completion_promise)
        .map_err(|e| CommandError::user(format!("--completion-promise: {e}")))?;
    let goal = Goal::parse(&args.goal, promise).map_err(CommandError::user)?;
    let target = RunTarget::Goal(goal);
    let order = Order::new(target, args.max_iterations, args.options.clone());
    run::start(order, global)
}
