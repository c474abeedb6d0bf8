//! `ralph status`: the state of the tasks and of the loop, at a glance.
//!
//! Needs a task file that parses, not a graph that is right. Never asks git.

mod blocked;
pub(crate) mod facts;
mod show;
mod tree;
mod waiting;
mod watch;

use std::{path::PathBuf, process::ExitCode};

pub(crate) use tree::fresh_tree;

use crate::{
    error::CommandError,
    output,
    project::{self, Project},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task file or folder; without it, the one chosen before, or found
    source: Option<PathBuf>,

    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,

    /// Keep it on the screen, up to date, until q or Ctrl-C
    #[arg(long, short, conflicts_with = "json")]
    watch: bool,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let source = args.source.as_deref();
    if args.watch {
        project::block_on(watch::watch(project, source))?;
        return Ok(ExitCode::SUCCESS);
    }
    let facts = project::block_on(facts::gather(project, source))?;
    output::show(args.json, &facts, || show::render(&facts, Project::now()))
}
