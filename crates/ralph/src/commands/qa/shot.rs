//! `ralph qa shot`: a picture of the page that is open.

use std::process::ExitCode;

use ralph_qa::session::{SessionRequest, ShotRequest, target_of_text};
use serde_json::Value;

use super::session::{SessionCaller, checked_name, print_reply, shown_reply};
use crate::{cli::Global, error::CommandError, project};

/// Pictures are in .ralph/qa/session, which git ignores; the next session deletes them.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Its name [default: a number]
    name: Option<String>,

    /// The whole page, and not only the part in view
    #[arg(long)]
    full: bool,

    /// Only this element, written as for `ralph qa click`
    #[arg(long, value_name = "TARGET")]
    of: Option<String>,

    /// Print the page and the path as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let name = args.name.as_deref().map(checked_name).transpose()?;
    let of = args.of.as_deref().map(target_of_text).transpose();
    let of = of.map_err(CommandError::user)?;
    let request = SessionRequest::Shot(ShotRequest {
        full: args.full,
        of: of.map(|target| Value::from(target).to_string()),
    });
    let caller = SessionCaller::find(global)?;
    let reply = project::block_on(caller.ask(&request))?;
    print_reply(&shown_reply(reply, caller.root(), name)?, args.json)
}
