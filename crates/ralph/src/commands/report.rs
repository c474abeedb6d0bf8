//! `ralph report`: what a loop came to: commits, tasks, what went wrong, what is left.
//!
//! Says plainly what nothing stood behind. Never asks git; the journal has the commits.

mod facts;
mod show;

use std::process::ExitCode;

use crate::{cli::Global, error::CommandError, output, project};

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The loop, by its id or the beginning of it; without it, the last one
    #[arg(long = "loop", value_name = "ID", conflicts_with = "all")]
    loop_id: Option<String>,

    /// All loops of the same tasks, in one report
    #[arg(long)]
    all: bool,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = project::Project::open(global, Vec::new())?;
    let which = match (&args.loop_id, args.all) {
        (Some(id), _) => facts::Which::One(id),
        (None, true) => facts::Which::All,
        (None, false) => facts::Which::Last,
    };
    let facts = project::block_on(facts::gather(&project, which))?;
    if args.json {
        output::print_json(&facts)?;
    } else {
        output::print(&show::render(&facts));
    }
    Ok(ExitCode::SUCCESS)
}
