//! `ralph execute`: works through the tasks of an artefacts project, by the loop of `ralph run`.

use std::process::ExitCode;

use super::run::{self, Options, Order, RunTarget};
use crate::{cli::Global, commands::CommandAccess, error::CommandError};

/// The tasks are those of `.artefacts/NAME/tasks.json`. Each iteration is a fresh agent without a
/// terminal; ralph verifies what it did, commits what passed, and keeps `state.json`,
/// `obstacles.json` and `results.md` beside the tasks.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the project: a folder in `.artefacts/`
    name: String,

    /// Stop after this many iterations; 0 for no limit [default: the attempts that the open tasks have]
    #[arg(long, visible_alias = "max-iterations", value_name = "N")]
    iterations: Option<u32>,

    #[command(flatten)]
    options: Options,
}

impl Args {
    pub(crate) fn access(&self) -> CommandAccess {
        CommandAccess::writes_unless(self.options.dry_run)
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let target = RunTarget::Project(args.name.clone());
    let order = Order::new(target, args.iterations, args.options.clone());
    run::start(order, global)
}
