//! `ralph man [DIR]`: manual pages, from the same definitions as the help.

use std::{path::PathBuf, process::ExitCode};

use clap::CommandFactory as _;

use crate::{
    cli::{Cli, Global},
    error::CommandError,
    output,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Write one page per command into this folder [default: print the page of `ralph`]
    directory: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    let command = Cli::command();
    match &args.directory {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(CommandError::user)?;
            clap_mangen::generate_to(command, folder).map_err(CommandError::user)?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(command).render(&mut page)?;
            output::print(&String::from_utf8_lossy(&page));
        }
    }
    Ok(ExitCode::SUCCESS)
}
