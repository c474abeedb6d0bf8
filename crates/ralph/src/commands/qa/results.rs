//! The files that flows leave in `.ralph/qa`.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    path::{Path, PathBuf},
};

use ralph_core::config::QaConfig;
use ralph_engine::{atomic, plain_file};
use ralph_qa::{
    flow::{Flow, find_flows},
    report::{html, junit},
    result::{FlowVerificationResult, QaReport},
};
use rustix::fs::{FlockOperation, flock};
use tokio::sync::oneshot;

use super::settings::results_folder;
use crate::{error::CommandError, output};

pub(super) const REPORT: &str = "report.json";
const PAGE: &str = "report.html";
const JUNIT: &str = "junit.xml";

/// The largest report that is read.
const MOST_BYTES: u64 = 64 * 1024 * 1024;

/// Reads the flows that are named, or all of them. Their mistakes are all told at once.
pub(super) fn flows(
    root: &Path,
    config: &QaConfig,
    names: &[String],
) -> Result<Vec<Flow>, CommandError> {
    find_flows(root, &config.flows, names).map_err(CommandError::user)
}

/// The folder of results, which no other run of flows writes to meanwhile.
pub(super) struct ResultsFolder {
    path: PathBuf,
    /// Holds the lock.
    _folder: File,
}

impl ResultsFolder {
    /// Makes it, and waits until no other run of flows has it.
    pub(super) async fn open(root: &Path) -> Result<Self, CommandError> {
        let path = results_folder(root);
        for folder in path.parent().into_iter().chain([&*path]) {
            make_folder(folder)?;
        }
        let folder = File::open(&path)?;
        if flock(&folder, FlockOperation::NonBlockingLockExclusive).is_err() {
            output::print_to_stderr("waiting for other flows that run in this folder\n");
            wait_for_lock(folder.try_clone()?).await?;
        }
        Ok(Self {
            path,
            _folder: folder,
        })
    }

    /// The results that those to come join.
    pub(super) fn before(&self, joins: bool) -> Result<Option<QaReport>, CommandError> {
        if joins {
            read_report(&self.path)
        } else {
            Ok(None)
        }
    }

    /// Writes the files of the results, behind those that they join.
    pub(super) fn keep(
        &self,
        before: Option<QaReport>,
        report: &QaReport,
    ) -> Result<(), CommandError> {
        let all = joined(before, report);
        let json = serde_json::to_string_pretty(&all)?;
        for (name, text) in [
            (REPORT, json + "\n"),
            (PAGE, html(&all, &self.path)),
            (JUNIT, junit(&all)),
        ] {
            let path = self.path.join(name);
            let written = atomic::write(&path, text.as_bytes());
            written.map_err(|error| cannot_write(&path, &error))?;
        }
        Ok(())
    }
}

/// Waits on a thread of its own, which ends with ralph where no one waits any more.
async fn wait_for_lock(folder: File) -> Result<(), CommandError> {
    let (sender, locked) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = sender.send(flock(&folder, FlockOperation::LockExclusive));
    });
    match locked.await {
        Ok(locked) => locked.map_err(CommandError::internal),
        Err(_) => Err(CommandError::internal("no lock could be waited for")),
    }
}

/// Makes a folder, and refuses one that leads elsewhere.
pub(super) fn make_folder(path: &Path) -> Result<(), CommandError> {
    match std::fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            if path.symlink_metadata()?.is_dir() {
                return Ok(());
            }
            let message = format!("{} is in the way: it is not a folder", path.display());
            Err(CommandError::user(message).hint("move it away"))
        }
        Err(error) => Err(cannot_write(path, &error)),
    }
}

fn cannot_write(path: &Path, error: &std::io::Error) -> CommandError {
    CommandError::internal(format!("can't write {}: {error}", path.display()))
}

/// Both reports as one. A flow that ran again counts as it ran last.
fn joined(before: Option<QaReport>, report: &QaReport) -> QaReport {
    let Some(mut all) = before else {
        return report.clone();
    };
    let is_again =
        |flow: &FlowVerificationResult| report.flows.iter().any(|again| again.flow == flow.flow);
    all.flows.retain(|flow| !is_again(flow));
    all.flows.extend(report.flows.iter().cloned());
    all.passed = all.flows.iter().all(|flow| flow.passed);
    all.browser = report.browser.clone().or(all.browser);
    all.seconds += report.seconds;
    all.server_log.extend(report.server_log.iter().cloned());
    all
}

/// Reads the report of a folder; `None` where there is none.
pub(super) fn read_report(folder: &Path) -> Result<Option<QaReport>, CommandError> {
    let path = folder.join(REPORT);
    let file = match plain_file::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(CommandError::user(format!(
                "can't read {}: {error}",
                path.display()
            )));
        }
    };
    let read = serde_json::from_reader(file.take(MOST_BYTES));
    read.map(Some).map_err(|error| {
        let message = format!("{} is no report of this version: {error}", path.display());
        CommandError::user(message).hint("`ralph qa run` writes a new one")
    })
}

/// Copies the results as JUnit XML to where a person wants them. Results that were not written are not copied.
pub(super) fn copy_junit(root: &Path, to: &Path) -> Result<(), CommandError> {
    let from = results_folder(root).join(JUNIT);
    let Some(bytes) = plain_file::read_if_there(&from)? else {
        return Ok(());
    };
    atomic::write(to, &bytes)
        .map_err(|error| CommandError::user(format!("can't write {}: {error}", to.display())))
}
