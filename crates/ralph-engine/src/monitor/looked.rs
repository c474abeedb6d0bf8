//! One look at a loop: its row, its `health.json`, the lock of its working tree, its process.
//!
//! Only reads.

use std::{path::Path, time::Duration};

use jiff::Timestamp;
use ralph_core::{
    health::HealthReport,
    id::LoopId,
    monitor::{AfterLoss, Loss, ProcessState, Sight, process_state, sight},
};

use super::{Change, ChangeKind, sentences};
use crate::{
    lock::Lock,
    loop_files, plain_file,
    process::ProcessIdentity,
    store::{Journal, JournalError, LoopRow},
};

/// A loop as a look found it.
#[derive(Debug, Clone)]
pub struct Looked {
    pub row: LoopRow,
    /// The last heartbeat of the loop itself.
    pub report: Option<HealthReport>,
    pub process: ProcessState,
    /// Its process, where it is known to be that one.
    pub target: Option<ProcessIdentity>,
}

/// Looks at every loop that is not over, of one repository or of all.
pub async fn look_at_all(
    journal: &mut dyn Journal,
    data_dir: &Path,
    repository: Option<&str>,
    hang_after: Duration,
    now: Timestamp,
) -> Result<Vec<Looked>, JournalError> {
    let rows = journal.open_loops().await?.into_iter();
    let wanted = rows.filter(|row| repository.is_none_or(|id| row.repository_id == id));
    let looked = wanted.map(|row| look_at(data_dir, row, hang_after, now));
    Ok(looked.filter(|one| !one.is_abandoned()).collect())
}

/// Looks at one loop.
pub fn look_at(data_dir: &Path, row: LoopRow, hang_after: Duration, now: Timestamp) -> Looked {
    let report = read_report(data_dir, &row.id);
    let written_by = report.as_ref().map(|report| ProcessIdentity {
        pid: report.pid,
        started: report.pid_started,
    });
    let target = written_by.filter(|target| target.is_alive());
    let worktree = Path::new(&row.worktree);
    let process = match target {
        None if !Lock::is_held(data_dir, worktree) => ProcessState::Gone,
        Some(target) if Lock::owner(data_dir, worktree) == Some(target.pid) => {
            process_state(report.as_ref(), hang_after, now)
        }
        // The last writer may be about to end. Another process than the one that wrote has only begun; it is
        // not judged by old words.
        Some(_) | None => ProcessState::Alive,
    };
    Looked {
        row,
        report,
        process,
        target,
    }
}

fn read_report(data_dir: &Path, loop_id: &LoopId) -> Option<HealthReport> {
    let path = loop_files::folder(data_dir, loop_id).join("health.json");
    let report: HealthReport = serde_json::from_slice(&plain_file::read(&path).ok()?).ok()?;
    (report.loop_id == *loop_id).then_some(report)
}

impl Looked {
    pub fn sight(&self) -> Sight {
        // One that was told to end may still be at it.
        match (&self.row.ended_at, self.process) {
            (Some(_), ProcessState::Gone) => Sight::Ended,
            (Some(_), ProcessState::Alive) if self.target.is_none() => Sight::Ended,
            (Some(_) | None, process) => sight(process, self.report.as_ref()),
        }
    }

    /// Returns whether it can't be resumed: its process and its folder are gone.
    pub(super) fn is_abandoned(&self) -> bool {
        self.process == ProcessState::Gone && !Path::new(&self.row.worktree).is_dir()
    }

    /// Returns whether a signal has stopped its process.
    pub fn is_stopped(&self) -> bool {
        self.target.is_some_and(ProcessIdentity::is_stopped)
    }

    /// The last sign of life.
    pub fn last_seen(&self) -> Option<Timestamp> {
        let written = self.report.as_ref().map(|report| report.written_at);
        written.or_else(|| self.row.started_at.parse().ok())
    }

    pub(super) fn silent(&self, now: Timestamp) -> Duration {
        let silent = self.last_seen().map(|then| now.duration_since(then));
        silent
            .and_then(|silent| Duration::try_from(silent).ok())
            .unwrap_or_default()
    }

    /// Returns how it stands, without anything done about it.
    pub fn described(&self, kind: ChangeKind, now: Timestamp) -> Change {
        let (sentence, hint) = match self.process {
            ProcessState::Alive => (sentences::watching(self), None),
            ProcessState::Hangs => (sentences::hangs(self, now), None),
            ProcessState::Gone => sentences::lost(self, Loss::Crashed, AfterLoss::Leave),
        };
        let change = self.change(kind, sentence, now);
        Change { hint, ..change }
    }

    pub fn change(&self, kind: ChangeKind, sentence: impl Into<String>, at: Timestamp) -> Change {
        Change {
            event: kind,
            loop_id: self.row.id.clone(),
            worktree: self.row.worktree.clone(),
            pid: self.target.map(|target| target.pid),
            sentence: sentence.into(),
            hint: None,
            at,
            tell: None,
            trouble: None,
        }
    }
}
