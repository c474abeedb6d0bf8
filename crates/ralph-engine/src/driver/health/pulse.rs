//! The heartbeat of a loop: `health.json`, written at each change and in between as long as the loop
//! lives.
//!
//! Only tells. A file that can't be written is not written: whoever reads it takes the loop for
//! silent, and looks for its process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use jiff::Timestamp;
use ralph_core::{
    breaker::BreakerState,
    health::{HealthReport, HealthState},
    id::LoopId,
};
use tokio::task::AbortHandle;

use crate::{clock::Clock as _, clock::SystemClock, loop_files, monitor::Target};

/// What happens in between is written so often at most…
const SOON: Duration = Duration::from_secs(1);
/// …and so often though nothing happens.
const AT_LEAST: Duration = Duration::from_secs(5);
/// What the loop does changes more often than this only while nobody needs to know.
const QUICK: Duration = Duration::from_millis(100);

/// What the loop does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::driver) enum Doing {
    Agent,
    Verify,
    Wait,
    Pause,
    Between,
}

impl Doing {
    fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Verify => "verify",
            Self::Wait => "wait",
            Self::Pause => "pause",
            Self::Between => "between",
        }
    }
}

/// Goes on as long as it is held by the driver; the file is gone then.
#[derive(Debug)]
pub(in crate::driver) struct Pulse {
    beating: Beating,
    task: AbortHandle,
}

/// The hand of somebody who has something to add to it.
#[derive(Debug, Clone)]
pub(in crate::driver) struct Beating(Arc<Mutex<Written>>);

#[derive(Debug)]
struct Written {
    folder: PathBuf,
    report: HealthReport,
    /// Whether something is not in the file yet.
    news: bool,
    at: Instant,
}

impl Pulse {
    /// Begins to beat for a loop of this process.
    pub(in crate::driver) fn start(folder: PathBuf, loop_id: &LoopId, worktree: &Path) -> Self {
        let now = SystemClock.now();
        let pid = std::process::id();
        let report = HealthReport {
            loop_id: loop_id.clone(),
            pid,
            pid_started: Target::of(pid).map_or(0, |own| own.started),
            worktree: worktree.to_string_lossy().into_owned(),
            written_at: now,
            doing: Doing::Between.as_str().to_owned(),
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
        let beating = Beating(Arc::new(Mutex::new(Written {
            folder,
            report,
            news: false,
            at: Instant::now(),
        })));
        beating.say(|_| {});
        let task = tokio::spawn(beat(beating.clone())).abort_handle();
        Self { beating, task }
    }

    pub(in crate::driver) fn beating(&self) -> Beating {
        self.beating.clone()
    }

    pub(in crate::driver) fn doing(&self, doing: Doing, quiet_until: Option<Timestamp>) {
        self.beating.say_soon(|report| {
            doing.as_str().clone_into(&mut report.doing);
            report.quiet_until = quiet_until;
            // What is asked about an agent is asked while it runs.
            report.answer_until = None;
            if doing == Doing::Between {
                (report.iteration, report.task_id, report.agent) = (None, None, None);
            }
        });
    }

    pub(in crate::driver) fn breaker(&self, state: BreakerState) {
        self.beating.say(|report| report.breaker = state);
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.task.abort();
        let written = self.beating.lock();
        loop_files::remove_health(&written.folder);
    }
}

impl Beating {
    /// Writes a change at once.
    pub(in crate::driver) fn say(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut written = self.lock();
        change(&mut written.report);
        written.write();
    }

    /// Writes it at once too, unless something else just was: a loop may be quick, and the next
    /// heartbeat has it.
    fn say_soon(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut written = self.lock();
        change(&mut written.report);
        written.news = true;
        if written.at.elapsed() >= QUICK {
            written.write();
        }
    }

    /// Writes it with the next heartbeat.
    pub(in crate::driver) fn note(&self, change: impl FnOnce(&mut HealthReport)) {
        let mut written = self.lock();
        change(&mut written.report);
        written.news = true;
    }

    fn lock(&self) -> MutexGuard<'_, Written> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Written {
    fn write(&mut self) {
        self.report.written_at = SystemClock.now();
        (self.news, self.at) = (false, Instant::now());
        let _ = loop_files::write_health(&self.folder, &self.report);
    }
}

/// Runs beside everything else on the same thread: where that is blocked, it is silent.
async fn beat(beating: Beating) {
    loop {
        tokio::time::sleep(SOON).await;
        let mut written = beating.lock();
        if written.news || written.at.elapsed() >= AT_LEAST {
            written.write();
        }
    }
}
