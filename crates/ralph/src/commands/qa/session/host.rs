//! The process of a session: it listens for calls of other processes, and outlives the one that started it.
//!
//! Inside a run it is a process of the agent's, and ends with the run like all that an agent started.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode, Stdio},
    time::Duration,
};

use ralph_engine::{inbox::Inbox, loop_runner::tidy_programs};
use ralph_qa::session::{HoldError, SessionLimits, SessionPlace, serve, sweep_profiles};

use super::{SessionOwner, caller};
use crate::{
    cli::Global,
    commands::run::listen_for_signals,
    error::CommandError,
    output,
    project::{self, Project},
};

/// The line by which it says that calls are answered.
pub(super) const READY: &str = "ready";
/// The word by which the process that sweeps learns that there is nothing to do.
const DONE: &[u8] = b"done";
/// The times between which a tree that is being killed is looked at.
const SWEEPS: [Duration; 4] = [
    Duration::from_millis(50),
    Duration::from_millis(200),
    Duration::from_secs(1),
    Duration::from_secs(3),
];

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
        sweep(&place, global);
        return Ok(ExitCode::SUCCESS);
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
    if let Some(mut input) = sweeper.stdin.take() {
        let _ = input.write_all(DONE);
    }
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

/// Waits for the end of the session. If it was killed, deletes what it has left, as soon as all of it is dead.
fn sweep(place: &SessionPlace, global: &Global) {
    // The folder of the project may be gone by then.
    let data_dir = Project::look(global, Vec::new()).and_then(|project| project.data_dir());
    let mut said = Vec::new();
    let input = std::io::stdin().lock();
    let _ = input.take(DONE.len() as u64).read_to_end(&mut said);
    if said == DONE {
        return;
    }
    place.remove_if_dead();
    for delay in SWEEPS {
        std::thread::sleep(delay);
        if let Ok(data_dir) = &data_dir {
            tidy_programs(data_dir);
        }
        sweep_profiles(std::env::var_os("TMPDIR"));
    }
}
