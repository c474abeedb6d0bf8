//! The heartbeat of a loop: `health.json`, written at each change and in between as long as the loop
//! lives.
//!
//! Only tells. A file that can't be written is not written: its readers take the loop for silent, and
//! look for its process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, MutexGuard},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ralph_core::{
    breaker::BreakerState,
    health::{HealthReport, HealthState},
    id::LoopId,
    named,
};
use tokio::task::AbortHandle;

use crate::{
    clock::{Clock as _, SystemClock},
    loop_files,
    named_lock::{Held, NamedLock},
    process::ProcessIdentity,
};

/// What happens in between is written so often at most…
const SOON: Duration = Duration::from_secs(1);
/// …and so often though nothing happens.
const AT_LEAST: Duration = Duration::from_secs(5);
/// A change of activity is written at once unless something else was, so long ago at most.
const QUICK: Duration = Duration::from_millis(100);

named! {
    /// The activity of a loop.
    pub(crate) enum LoopActivity {
        Agent = "agent",
        Verify = "verify",
        Wait = "wait",
        Pause = "pause",
        Between = "between",
    }
}

/// Goes on as long as it is held; the file is gone then.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    writer: HeartbeatWriter,
    task: AbortHandle,
}

/// Adds to a heartbeat.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatWriter(Arc<NamedLock<HealthFile>>);

#[derive(Debug)]
struct HealthFile {
    folder: PathBuf,
    report: HealthReport,
    /// True while something is not in the file yet.
    is_stale: bool,
    written_at: Instant,
}

impl Heartbeat {
    /// Starts the heartbeat of a loop of this process.
    pub(crate) fn start(folder: PathBuf, loop_id: &LoopId, worktree: &Path) -> Self {
        let now = SystemClock.now();
        let pid = std::process::id();
        let report = HealthReport {
            loop_id: loop_id.clone(),
            pid,
            pid_started: ProcessIdentity::of(pid).map_or(0, |own| own.started),
            worktree: worktree.to_string_lossy().into_owned(),
            written_at: now,
            doing: LoopActivity::Between.as_str().to_owned(),
            quiet_until: None,
            iteration: None,
            task_id: None,
            agent: None,
            state: HealthState::Healthy,
            since: now,
            last_heartbeat: None,
            last_progress: None,
            errors: 0,
            steps: 0,
            repeats: 0,
            nudges: 0,
            intervention: None,
            answer_until: None,
            breaker: BreakerState::Closed,
        };
        let writer = HealthFile {
            folder,
            report,
            is_stale: false,
            written_at: Instant::now(),
        };
        let writer = HeartbeatWriter(Arc::new(NamedLock::new("heartbeat", writer)));
        writer.update(|_| {});
        let task = tokio::spawn(beat(writer.clone())).abort_handle();
        Self { writer, task }
    }

    pub(crate) fn writer(&self) -> HeartbeatWriter {
        self.writer.clone()
    }

    pub(crate) fn set_activity(&self, activity: LoopActivity, quiet_until: Option<Timestamp>) {
        self.writer.set_activity(activity, quiet_until);
    }

    pub(crate) fn set_breaker(&self, state: BreakerState) {
        self.writer.update(|report| report.breaker = state);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.task.abort();
        let file = self.writer.lock();
        loop_files::remove_health(&file.folder);
    }
}

impl HeartbeatWriter {
    /// No other sign of life is expected before `quiet_until`.
    pub(crate) fn set_activity(&self, activity: LoopActivity, quiet_until: Option<Timestamp>) {
        self.update_soon(|report| {
            activity.as_str().clone_into(&mut report.doing);
            report.quiet_until = quiet_until;
            // What is asked about an agent is asked while it runs.
            report.answer_until = None;
            if activity == LoopActivity::Between {
                (report.iteration, report.task_id, report.agent) = (None, None, None);
            }
        });
    }

    /// Writes a change at once.
    pub(crate) fn update(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut file = self.lock();
        change(&mut file.report);
        file.write();
    }

    /// Writes it at once too, unless something else just was: a loop may be quick, and the next
    /// heartbeat has it.
    fn update_soon(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut file = self.lock();
        change(&mut file.report);
        file.is_stale = true;
        if file.written_at.elapsed() >= QUICK {
            file.write();
        }
    }

    /// Writes it with the next heartbeat.
    pub(crate) fn update_later(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut file = self.lock();
        change(&mut file.report);
        file.is_stale = true;
    }

    #[track_caller]
    fn lock(&self) -> Held<MutexGuard<'_, HealthFile>> {
        self.0.lock()
    }
}

impl HealthFile {
    fn write(&mut self) {
        self.report.written_at = SystemClock.now();
        (self.is_stale, self.written_at) = (false, Instant::now());
        let _ = loop_files::write_health(&self.folder, &self.report);
    }
}

/// Runs beside everything else on the same thread: where that is blocked, it is silent.
async fn beat(writer: HeartbeatWriter) {
    loop {
        tokio::time::sleep(SOON).await;
        let mut file = writer.lock();
        if file.is_stale || file.written_at.elapsed() >= AT_LEAST {
            file.write();
        }
    }
}
