//! The messages about a loop, in sentences without a full stop.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    health::Choice,
    monitor::{AfterLoss, Loss},
};

use super::{LOG_NAME, Looked};

pub(super) fn watching(looked: &Looked) -> String {
    let what = match looked.row.goal.as_str() {
        "" => &looked.row.source,
        goal => goal,
    };
    match &looked.report {
        Some(report) => format!("{what}: {}, agent {}", report.doing, report.state.as_str()),
        None => format!("{what}: says nothing of its health yet"),
    }
}

pub(super) fn needs_person(looked: &Looked) -> (String, String) {
    let report = looked.report.as_ref();
    let state = report.map_or("stuck", |report| report.state.as_str());
    let task = report.and_then(|report| report.task_id.as_deref());
    let task = task.map_or_else(String::new, |task| format!(" at {task}"));
    let until = report.and_then(|report| report.answer_until);
    let until = until.map_or_else(String::new, |until| format!("; it waits until {until}"));
    let choices = Choice::ALL.map(Choice::as_str).join("|");
    (
        format!("its agent{task} is {state}, and a person is to decide{until}"),
        format!("`ralph -C {} intervene {choices}`", looked.row.worktree),
    )
}

pub(super) fn hangs(looked: &Looked, now: Timestamp) -> String {
    let (pid, silent) = (pid(looked), seconds(looked.silent(now)));
    if looked.is_stopped() {
        format!("process {pid} is stopped by a signal, silent for {silent}")
    } else {
        format!("process {pid} lives, but shows no sign of life for {silent}")
    }
}

/// Returns what a person can do about a loop that hangs, and by when.
pub(super) fn hang_hint(looked: &Looked, wait: Duration) -> String {
    let pid = pid(looked);
    let first = if looked.is_stopped() {
        format!("`kill -CONT {pid}` lets it go on")
    } else {
        format!("look at what process {pid} waits for")
    };
    let wait = seconds(wait);
    format!("{first}; it is terminated in {wait}, and `ralph resume` goes on from its journal")
}

/// Its process is gone: what is said, and what a person can do.
pub(super) fn lost(looked: &Looked, how: Loss, then: AfterLoss) -> (String, Option<String>) {
    let row = &looked.row;
    let resume = format!("`ralph -C {} resume {}`", row.worktree, row.id);
    let what = match how {
        Loss::Crashed => "its process is gone, and it has no end",
        Loss::Terminated => "it hung and was terminated",
    };
    let hint = match then {
        AfterLoss::Restart => Some("it is started again by itself".to_owned()),
        AfterLoss::Leave => Some(format!("{resume} goes on with it")),
        AfterLoss::Rests => Some(format!("a person let it rest: {resume} goes on with it")),
        AfterLoss::GiveUp => Some(format!(
            "it was started too often and is left alone: {resume} goes on with it, {LOG_NAME} in \
             its folder says how it went"
        )),
        AfterLoss::TooLongAgo => Some(format!(
            "that is too long ago to start it by itself: {resume} goes on with it"
        )),
    };
    (what.to_owned(), hint)
}

fn pid(looked: &Looked) -> String {
    let pid = looked.target.map(|target| target.pid);
    pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string())
}

pub(super) fn seconds(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..180 => format!("{seconds} s"),
        _ => format!("{} min", seconds / 60),
    }
}
