//! `ralph stop`: asks the loop that runs in this worktree to end, as Ctrl-C would.
//!
//! Only asks. The loop itself stops its agent, keeps the work aside and writes the record.

use std::{
    path::Path,
    process::ExitCode,
    time::{Duration, Instant},
};

use ralph_engine::lock::Lock;
use rustix::process::Signal;

use crate::{error::CommandError, output, project::Project, queue};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Do not wait for the loop to end
    #[arg(long)]
    no_wait: bool,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// Longer than an agent is given to end, in all its steps.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &Args, project: &Project) -> Result<ExitCode, CommandError> {
    let (data, root) = (project.data_dir()?, project.root().to_owned());
    let the_loop = || Lock::owner_loop(&data, &root);
    let Some(process) = queue::signal_owner(Signal::TERM, the_loop)? else {
        return say(args, None, "no loop is running here");
    };
    if args.no_wait {
        return say(args, Some(process), "asked to stop");
    }
    wait(&data, &root, process)?;
    say(args, Some(process), "stopped")
}

fn wait(data: &Path, root: &Path, process: u32) -> Result<(), CommandError> {
    let until = Instant::now() + PATIENCE;
    while Lock::owner_loop(data, root) == Some(process) {
        if Instant::now() > until {
            let text = format!("process {process} was asked to stop but is still running");
            return Err(CommandError::user(text)
                .hint("it may be waiting for a verify command; run `ralph stop` again to stop it immediately"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn say(args: &Args, process: Option<u32>, what: &str) -> Result<ExitCode, CommandError> {
    let report = serde_json::json!({ "process": process, "done": what });
    output::show(args.json, &report, || match process {
        Some(process) => format!("{what}: process {process}\n"),
        None => format!("{what}\n"),
    })
}
