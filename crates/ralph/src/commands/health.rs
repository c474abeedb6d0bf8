//! `ralph health`: how the loops that are not over do, as they say it themselves and as their
//! processes look from outside.
//!
//! Only reads. A loop's own words are old where its process is gone, and are shown as that.

mod facts;
mod show;
mod watch;

use std::process::ExitCode;

use watch::WatchForm;

use crate::{
    error::CommandError,
    output,
    project::{Project, block_on},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Show the loops of all repositories
    #[arg(long, short)]
    all: bool,

    /// Keep the screen up to date until q or Ctrl-C; without a terminal, print changes
    #[arg(long, short)]
    watch: bool,

    /// Print JSON instead of text; with --watch, one line for each change
    #[arg(long)]
    json: bool,
}

/// Whose loops are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Here,
    Everywhere,
}

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let reach = if args.all {
        Reach::Everywhere
    } else {
        Reach::Here
    };
    if args.watch {
        block_on(async {
            match (args.json, output::stdout_is_terminal()) {
                (true, _) => watch::in_lines(project, reach, WatchForm::Json).await,
                (false, true) => watch::on_screen(project, reach).await,
                (false, false) => watch::in_lines(project, reach, WatchForm::Lines).await,
            }
        })?;
        return Ok(ExitCode::SUCCESS);
    }
    let facts = block_on(facts::Sources::new(project, reach).gather())?;
    output::show(args.json, &facts, || show::render(&facts, Project::now()))
}
