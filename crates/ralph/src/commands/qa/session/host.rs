//! The process of a session: it listens for calls of other processes, and outlives the one that started it.
//!
//! Inside a run it is a process of the agent's, and ends with the run like all that an agent started.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode, Stdio},
};

use ralph_engine::inbox::Inbox;
use ralph_qa::session::{HoldError, SessionLimits, SessionPlace, serve};

use super::{SessionOwner, caller};
use crate::{cli::Global, commands::run::listen_for_signals, error::CommandError, output, project};

/// The line by which it says that calls are answered.
pub(super) const READY: &str = "ready";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// It was started inside a run
    #[arg(long)]
    inside: bool,

    /// Only wait until standard input ends, and delete what the session has left
    #[arg(long)]
    sweep: bool,
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<ExitCode, CommandError> {
    let root = caller::root(global)?;
    let place = caller::place(&root)?;
    if args.sweep {
        return Ok(sweep(&place));
    }
    // It is not the terminal's any more. What is a leader already stays what it is.
    let _ = rustix::process::setsid();
    let held = match place.hold() {
        Ok(held) => held,
        Err(HoldError::Taken) => {
            output::print(&format!("{READY}\n"));
            return Ok(ExitCode::SUCCESS);
        }
        Err(error @ HoldError::Folder { .. }) => return Err(CommandError::user(error)),
    };
    // Its input ends when this process does, in whatever way.
    let mut sweeper = start_sweeper(global, &root)?;
    let log = File::create(place.log())?;
    output::print(&format!("{READY}\n"));
    rustix::stdio::dup2_stdout(&log).map_err(std::io::Error::from)?;
    rustix::stdio::dup2_stderr(&log).map_err(std::io::Error::from)?;
    let mut owner = SessionOwner::new(global, args.inside);
    let ended = project::block_on(async {
        let mut stop = listen_for_signals(Inbox::default())?;
        let ended = tokio::select! {
            biased;
            _ = stop.until_asked() => Ok(()),
            ended = serve(&held, &root, SessionLimits::USUAL, &mut owner) => ended.map(drop),
        };
        owner.close().await;
        Ok(ended?)
    });
    drop(held);
    drop(sweeper.stdin.take());
    let _ = sweeper.wait();
    ended.map(|()| ExitCode::SUCCESS)
}

/// Starts a process that outlives this one for a moment: it deletes what this one can't where it is killed.
fn start_sweeper(
    global: &Global,
    root: &std::path::Path,
) -> Result<std::process::Child, CommandError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("-C").arg(root);
    if let Some(config) = &global.config {
        command.arg("--config").arg(config);
    }
    // A signal to the group of this process is none to it.
    let started = command
        .args(["qa", "__session", "--sweep"])
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Ok(started?)
}

fn sweep(place: &SessionPlace) -> ExitCode {
    let mut rest = [0; 64];
    let mut input = std::io::stdin().lock();
    while matches!(input.read(&mut rest), Ok(1..)) {}
    place.remove_if_dead();
    let _ = std::io::stdout().flush();
    ExitCode::SUCCESS
}
