//! Plays a script: what `--agent script:FILE` starts. Hidden, for ralph alone.

use std::{path::PathBuf, process::ExitCode};

use crate::{cli::Global, error::CommandError};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    file: PathBuf,
}

pub(crate) fn run(args: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    let code = ralph_engine::agent::script::play(&args.file, &mut std::io::stdout().lock())
        .map_err(CommandError::user)?;
    Ok(ExitCode::from(code))
}
