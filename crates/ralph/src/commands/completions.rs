//! `ralph completions SHELL`: a completion script, from the same definitions as the help.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::{
    cli::{Cli, Global},
    error::CommandError,
    output,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    shell: clap_complete::Shell,
}

pub(crate) fn run(args: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ralph", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}
