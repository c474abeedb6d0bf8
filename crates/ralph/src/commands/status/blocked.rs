//! The tasks that can't be taken, and why: open questions, tasks that are blocked or failed, tasks that
//! were skipped. Only explains; the board has decided.

use ralph_core::{
    board::{Board, Why},
    task::{Status, TaskId},
};
use serde::Serialize;

/// Tasks that are named as blocked while others can be taken, and reasons for each.
const MOST_BLOCKED: usize = 20;
const MOST_BLOCKERS: usize = 10;
/// Tasks that are named as skipped.
const MOST_SKIPPED: usize = 50;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OpenQuestion {
    /// What `ralph answer` takes.
    pub(crate) id: Option<ralph_core::id::QuestionId>,
    pub(crate) task_id: TaskId,
    pub(crate) question: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Blocked {
    pub(crate) task_id: TaskId,
    pub(crate) by: Vec<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Skipped {
    pub(crate) task_id: TaskId,
    pub(crate) title: String,
    pub(crate) why: String,
    /// The same in the words of a person, who skipped it by a command.
    #[serde(skip)]
    pub(crate) reason: Option<String>,
}

pub(super) fn questions(board: &Board) -> Vec<OpenQuestion> {
    let questions = board.questions().filter_map(|(id, history)| {
        Some(OpenQuestion {
            id: history.asked,
            task_id: id.clone(),
            question: history.question.clone()?,
        })
    });
    questions.collect()
}

/// What blocks what: all of it where nothing can be taken, else what a person has to see to.
pub(super) fn blocked(board: &Board) -> Vec<Blocked> {
    let stuck = board.stuck();
    if !stuck.is_empty() {
        let explained = stuck.into_iter().map(|stuck| Blocked {
            task_id: stuck.id,
            by: stuck.by,
        });
        return explained.collect();
    }
    let mut tasks: Vec<_> = [Status::Blocked, Status::Failed]
        .into_iter()
        .flat_map(|status| board.counted_as(status))
        .collect();
    tasks.sort_by_key(|task| task.place);
    let blocked = tasks.into_iter().take(MOST_BLOCKED).map(|task| Blocked {
        task_id: task.id.clone(),
        by: board.reasons(&task.id, MOST_BLOCKERS),
    });
    blocked.collect()
}

/// Tasks that were skipped, and by what; only as many as a person would read.
pub(super) fn skipped(board: &Board) -> Vec<Skipped> {
    let tasks = board.counted_as(Status::Skipped).take(MOST_SKIPPED);
    let skipped = tasks.map(|task| {
        let history = board.history(&task.id);
        let reason = history.and_then(|history| history.skipped.clone());
        // One that only its container skips was not skipped by that command.
        let reason = reason.filter(|_| task.status == Status::Skipped);
        Skipped {
            task_id: task.id.clone(),
            title: task.text.title.clone(),
            why: reason
                .clone()
                .unwrap_or_else(|| skipped_by(board, &task.id)),
            reason,
        }
    });
    skipped.collect()
}

fn skipped_by(board: &Board, id: &TaskId) -> String {
    let blockers = board.blockers(id);
    let held = blockers.iter().find(|b| matches!(b.why, Why::Held(_)));
    held.map_or_else(|| "its own status says so".to_owned(), ToString::to_string)
}
