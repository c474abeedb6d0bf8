//! `ralph status`: where the tasks and the loop stand, at a glance.
//!
//! Needs a task file that parses, not a graph that is right. Reads little of the journal, and never
//! asks git: it must stay quick whatever there is.

pub(crate) mod facts;
mod show;
mod skipped;
mod waiting;

use std::{path::PathBuf, process::ExitCode};

use crate::{cli::Global, error::CommandError, output, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the only one there is
    source: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = project::Project::open(global, Vec::new())?;
    let facts = project::block_on(facts::gather(&project, args.source.as_deref()))?;
    if args.json {
        output::print_json(&facts)?;
    } else {
        output::print(&show::render(&facts, project::Project::now()));
    }
    Ok(ExitCode::SUCCESS)
}
