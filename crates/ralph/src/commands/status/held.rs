//! What can't be taken, and why: open questions, tasks that are blocked or failed, tasks that were
//! skipped. Only explains; the plan and the journal have decided.

use ralph_core::{
    id::QuestionId,
    select::{Blocker, Why},
    task::{Status, Task, TaskId},
};
use serde::Serialize;

use super::view::View;
use crate::past::Past;

/// Tasks that are named as blocked while others can be taken, and reasons for each.
const MOST_BLOCKED: usize = 20;
const MOST_BLOCKERS: usize = 10;
/// Tasks that are named as skipped.
const MOST_SKIPPED: usize = 50;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Held {
    /// What `ralph answer` takes.
    pub(crate) id: Option<QuestionId>,
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

pub(super) fn questions(past: &Past) -> Vec<Held> {
    let questions = past.held.iter().filter_map(|(id, state)| {
        state.question.as_ref().map(|question| Held {
            id: state.asked,
            task_id: id.clone(),
            question: question.clone(),
        })
    });
    questions.collect()
}

/// What blocks what: all of it where nothing can be taken, else what a person has to see to.
pub(super) fn blocked(view: &View<'_>) -> Vec<Blocked> {
    let View {
        graph,
        plan,
        scope,
        past,
        ..
    } = *view;
    let history = past.history();
    let stuck = plan.stuck(&history);
    if !stuck.is_empty() {
        let explained = stuck.into_iter().map(|(id, blockers)| Blocked {
            by: blockers.iter().map(|b| explain(&id, b, past)).collect(),
            task_id: id,
        });
        return explained.collect();
    }
    let counts = plan.counts();
    if counts.blocked + counts.failed == 0 {
        return Vec::new();
    }
    let in_scope: Vec<&Task> = match scope.parent() {
        Some(id) => graph.descendants(id).chain(graph.get(id)).collect(),
        None => graph.tasks().iter().collect(),
    };
    in_scope
        .into_iter()
        .filter(|task| graph.is_leaf(&task.id))
        .filter(|task| {
            let status = plan.status(&task.id);
            matches!(status, Some(Status::Blocked | Status::Failed))
        })
        .take(MOST_BLOCKED)
        .map(|task| Blocked {
            task_id: task.id.clone(),
            by: plan
                .blockers(&task.id)
                .iter()
                .take(MOST_BLOCKERS)
                .map(|b| explain(&task.id, b, past))
                .collect(),
        })
        .collect()
}

/// Tasks that were skipped, and by what; only as many as a person would read.
pub(super) fn skipped(view: &View<'_>) -> Vec<Skipped> {
    if view.plan.counts().skipped == 0 {
        return Vec::new();
    }
    let skipped = view.plan.counted_as(Status::Skipped);
    let tasks = skipped.filter_map(|id| view.graph.get(id));
    tasks
        .take(MOST_SKIPPED)
        .map(|task| {
            let said = view.past.skipped.iter().find(|(id, _)| *id == task.id);
            let reason = said.map(|(_, reason)| reason.clone());
            let why = reason.clone();
            Skipped {
                task_id: task.id.clone(),
                title: task.text.title.clone(),
                why: why.unwrap_or_else(|| why_skipped(view, &task.id)),
                reason,
            }
        })
        .collect()
}

fn why_skipped(view: &View<'_>, id: &TaskId) -> String {
    let blockers = view.plan.blockers(id);
    let held = blockers.iter().find(|b| matches!(b.why, Why::Held(_)));
    held.map_or_else(|| "its own status says so".to_owned(), ToString::to_string)
}

/// A blocker in words; where the journal knows why, with its reason.
fn explain(task: &TaskId, blocker: &Blocker, past: &Past) -> String {
    let reason = past.held.get(task).and_then(|s| s.blocked.as_deref());
    match (blocker.why, reason) {
        (Why::Itself(status), Some(reason)) => format!("it is {status}: {reason}"),
        (Why::SetAside, _) => "it is set aside: a question is open".to_owned(),
        (_, _) => blocker.to_string(),
    }
}
