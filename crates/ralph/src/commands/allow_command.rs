//! Answers an agent that asks whether it may run a command. Hidden, for ralph's own checks alone.

use std::{io::Read as _, process::ExitCode};

use crate::{cli::Global, error::CommandError, output};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The list as JSON
    list: String,
}

pub(crate) fn run(args: &Args, _: &Global) -> Result<ExitCode, CommandError> {
    let mut question = Vec::new();
    std::io::stdin().lock().read_to_end(&mut question)?;
    if let Some(refusal) = ralph_engine::agent::answer_check(&args.list, &question) {
        output::print(&refusal);
    }
    Ok(ExitCode::SUCCESS)
}
