//! `ralph qa close`: ends the browser that `ralph qa open` started, and the application.

use std::process::ExitCode;

use ralph_qa::session::SessionRequest;

use super::session::{SessionCaller, print_reply, shown_reply};
use crate::{cli::Global, error::CommandError, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let caller = SessionCaller::find(global)?;
    let reply = project::block_on(caller.ask(&SessionRequest::Close))?;
    print_reply(&shown_reply(reply, caller.root(), None)?, args.json)
}
