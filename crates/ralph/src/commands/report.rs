//! Not there yet.
use std::process::ExitCode;
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {}
pub(crate) fn run(
    _args: &Args,
    _global: &crate::cli::Global,
) -> Result<ExitCode, crate::error::CommandError> {
    Ok(ExitCode::SUCCESS)
}
