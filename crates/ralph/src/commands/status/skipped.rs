//! What a person left out, and why; the JSON form is a contract (docs/json.md).

use ralph_core::task::TaskId;
use serde::Serialize;

use crate::past::Past;

/// Skipped tasks that are named.
const MOST: usize = 100;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Skipped {
    pub(crate) task_id: TaskId,
    pub(crate) reason: String,
}

pub(super) fn skipped(past: &Past) -> Vec<Skipped> {
    let skipped = past.skipped.iter().take(MOST);
    skipped
        .map(|(id, reason)| Skipped {
            task_id: id.clone(),
            reason: reason.clone(),
        })
        .collect()
}
