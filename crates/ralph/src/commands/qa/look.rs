//! `ralph qa look`: the page that is open, as text.

use std::process::ExitCode;

use ralph_qa::session::SessionRequest;

use super::session::{SessionCaller, print_reply, shown_reply};
use crate::{cli::Global, error::CommandError, project};

/// Roles, names, values and states, indented by what is in what; before them the errors in the console and the requests
/// that failed since the last look.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the page as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let caller = SessionCaller::find(global)?;
    let reply = project::block_on(caller.ask(&SessionRequest::Look))?;
    print_reply(&shown_reply(reply, caller.root(), None)?, args.json)
}
