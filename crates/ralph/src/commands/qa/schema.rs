//! `ralph qa schema`: the JSON schema of flows, for editors.

use std::process::ExitCode;

use ralph_qa::flow::flow_schema;

use crate::{cli::Global, error::CommandError, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    output::print_json(&flow_schema())?;
    Ok(ExitCode::SUCCESS)
}
