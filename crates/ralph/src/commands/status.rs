//! `ralph status`: where the tasks and the loop stand, at a glance.
//!
//! Needs a task file that parses, not a graph that is right. Reads little of the journal, and never
//! asks git: it must stay quick whatever there is.

pub(crate) mod facts;
mod fresh;
mod held;
mod show;
mod source;
mod tree;
mod view;
mod waiting;
mod watch;
mod why;

use std::{path::PathBuf, process::ExitCode};

use facts::Afterwards;
pub(crate) use fresh::fresh_tree;

use crate::{cli::Global, error::CommandError, output, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the only one there is
    source: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Keep it on the screen, up to date, until q or Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let project = project::Project::open(global, Vec::new())?;
    let source = args.source.as_deref();
    if args.watch {
        project::block_on(watch::watch(&project, source))?;
        return Ok(ExitCode::SUCCESS);
    }
    let facts = project::block_on(facts::gather(&project, source, Afterwards::Ends))?;
    if args.json {
        output::print_json(&facts)?;
    } else {
        output::print(&show::render(&facts, project::Project::now()));
    }
    Ok(ExitCode::SUCCESS)
}
