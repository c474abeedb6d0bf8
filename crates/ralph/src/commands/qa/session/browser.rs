//! The process that has the browser of a session. It is started by the one who asks it, and ends with it.

use std::{os::fd::AsFd as _, process::ExitCode};

use ralph_qa::session::{SessionLimits, SessionWork, WorkEnd, work};
use tokio::net::unix::pipe;

use super::super::{inside::InsidePlace, settings};
use crate::{cli::Global, error::CommandError, project};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let root = global.surroundings()?.start;
    let config = settings::of_run()?.ok_or_else(|| {
        CommandError::user("a browser session is started by `ralph qa open`, and not by hand")
    })?;
    let place = InsidePlace::of_environment(root.clone())?.programs();
    let secrets: Vec<(String, String)> = place
        .env
        .iter()
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())))
        .collect();
    let automation = settings::automation(&config, &root);
    let session = SessionWork {
        config: &automation,
        place: &place,
        limits: SessionLimits::USUAL,
        secrets: &secrets,
    };
    project::block_on(async {
        // Pipes, and no threads that wait for them: nothing keeps the process from ending.
        let input = std::io::stdin().as_fd().try_clone_to_owned()?;
        let output = std::io::stdout().as_fd().try_clone_to_owned()?;
        let input = pipe::Receiver::from_owned_fd(input)?;
        let output = pipe::Sender::from_owned_fd(output)?;
        Ok(match work(&session, input, output).await {
            WorkEnd::Closed | WorkEnd::Idle | WorkEnd::TooLong => ExitCode::SUCCESS,
            WorkEnd::NoBrowser => ExitCode::from(2),
        })
    })
}
