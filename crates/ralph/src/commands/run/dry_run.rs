//! `ralph run --dry-run`: the task that would be taken, and its whole prompt. Changes nothing.

use std::process::ExitCode;

use super::{Args, explain};
use crate::{error::CommandError, output, project::Project};

pub(crate) fn run(
    args: &Args,
    project: &Project,
    runtime: &tokio::runtime::Runtime,
) -> Result<ExitCode, CommandError> {
    Ok(ExitCode::SUCCESS)
}
