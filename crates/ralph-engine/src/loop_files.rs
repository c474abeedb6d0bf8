//! The files of a loop in the data folder, beside the journal: `ralph-loops/<loop_id>/status.json`,
//! rewritten after every iteration, `health.json` while it runs, and `report.json` at the end.
//!
//! For others to read. Replaced as a whole but not fsynced: they can be made again from the journal, or
//! say what is so only now. The loop itself never reads them.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use ralph_core::{
    economics::ComparedForecast,
    event::Tally,
    health::HealthReport,
    id::LoopId,
    loop_state::{LoopState, LoopStatus, Termination},
    secret::Redaction,
};
use serde::Serialize;

use crate::failpoint::fault;

pub use crate::iteration::flow_results_kept_at;

const FOLDER: &str = "ralph-loops";

/// Where the files of a loop are.
pub fn folder(data_dir: &Path, loop_id: &LoopId) -> PathBuf {
    data_dir.join(FOLDER).join(loop_id.as_str())
}

/// Counts the loops that have files here.
pub fn count(data_dir: &Path) -> usize {
    let folders = fs::read_dir(data_dir.join(FOLDER)).into_iter().flatten();
    folders.count()
}

/// The files of one loop, and what its status says now.
#[derive(Debug)]
pub(crate) struct LoopFiles {
    folder: PathBuf,
    redaction: Redaction,
    pub(crate) status: LoopStatus,
}

/// `report.json`: what a loop came to. The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
pub(crate) struct LoopSummary<'a> {
    pub(crate) loop_id: &'a LoopId,
    pub(crate) project_id: &'a str,
    pub(crate) task_id: &'a str,
    pub(crate) goal: &'a str,
    pub(crate) state: LoopState,
    pub(crate) termination_reason: &'static str,
    pub(crate) termination_details: &'a str,
    pub(crate) exit_code: u8,
    pub(crate) branch: &'a str,
    pub(crate) iterations: u64,
    pub(crate) verified: u64,
    pub(crate) tasks: Tally,
    pub(crate) total_input_tokens: u64,
    pub(crate) total_output_tokens: u64,
    pub(crate) total_cost: f64,
    pub(crate) started_at: &'a str,
    pub(crate) completed_at: &'a str,
    pub(crate) errors: &'a [String],
    /// The forecast of its cost beside the cost that it had; none where none was made.
    pub(crate) forecast: Option<ComparedForecast>,
}

/// The facts that only the loop runner has when a loop ends.
pub(crate) struct LoopEnd<'a> {
    pub(crate) termination: &'a Termination,
    pub(crate) exit_code: u8,
    pub(crate) branch: &'a str,
    pub(crate) verified: u64,
    pub(crate) tasks: Tally,
    pub(crate) forecast: Option<ComparedForecast>,
}

impl LoopFiles {
    pub(crate) fn new(data_dir: &Path, status: LoopStatus, redaction: &Redaction) -> Self {
        Self {
            folder: folder(data_dir, &status.loop_id),
            redaction: redaction.clone(),
            status,
        }
    }

    pub(crate) fn write_status(&self) -> io::Result<()> {
        self.write("status.json", &self.status)
    }

    pub(crate) fn write_report(&self, ended: &LoopEnd<'_>) -> io::Result<()> {
        let status = &self.status;
        let summary = LoopSummary {
            loop_id: &status.loop_id,
            project_id: &status.project_id,
            task_id: &status.task_id,
            goal: &status.goal,
            state: status.state,
            termination_reason: ended.termination.reason.as_str(),
            termination_details: &ended.termination.details,
            exit_code: ended.exit_code,
            branch: ended.branch,
            iterations: status.current_iteration,
            verified: ended.verified,
            tasks: ended.tasks,
            total_input_tokens: status.total_input_tokens,
            total_output_tokens: status.total_output_tokens,
            total_cost: status.total_cost,
            started_at: &status.started_at,
            completed_at: &status.completed_at,
            errors: &status.errors,
            forecast: ended.forecast,
        };
        self.write("report.json", &summary)
    }

    /// The worktree's lock makes this the only writer, so that one name for the new text will do; what
    /// a kill left of it is written over.
    fn write(&self, name: &str, value: &impl Serialize) -> io::Result<()> {
        fault("status")?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        write(&self.folder, name, value, &self.redaction)
    }
}

const HEALTH: &str = "health.json";

/// Returns how the agent of a loop does, and that the loop lives.
pub(crate) fn write_health(folder: &Path, report: &HealthReport) -> io::Result<()> {
    // Names of states, tasks and agents alone.
    write(folder, HEALTH, report, &Redaction::default())
}

/// A loop that has ended has no health.
pub(crate) fn remove_health(folder: &Path) {
    let _ = fs::remove_file(folder.join(HEALTH));
}

fn write(
    folder: &Path,
    name: &str,
    value: &impl Serialize,
    redaction: &Redaction,
) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(value)?;
    let mut text = redaction.hide_bytes(&text).into_owned();
    text.push(b'\n');
    let new = folder.join(format!(".{name}.new"));
    fs::write(&new, text)
        .and_then(|()| fs::rename(&new, folder.join(name)))
        .inspect_err(|_| {
            // Half of it would only take what little room there is.
            let _ = fs::remove_file(&new);
        })
}
