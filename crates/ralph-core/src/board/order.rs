//! The order in which leaves are to be worked on, whatever their states.

use crate::task::Task;
use crate::task::graph::Node;

/// Sorts by priority, age, place and id.
pub(super) fn ordered(mut leaves: Vec<Node>, tasks: &[Task]) -> Vec<Node> {
    leaves.sort_by(|a, b| {
        let (a, b) = (&tasks[a.at()], &tasks[b.at()]);
        urgency(a)
            .cmp(&urgency(b))
            .then_with(|| age(a).cmp(&age(b)))
            .then_with(|| a.place.cmp(&b.place))
            .then_with(|| a.id.cmp(&b.id))
    });
    leaves
}

/// Lower first; tasks without a priority after all that have one, and equal to each other.
pub(super) fn urgency(task: &Task) -> (bool, i64) {
    (task.priority.is_none(), task.priority.unwrap_or_default())
}

/// Older first; tasks that don't say come last.
fn age(task: &Task) -> (bool, jiff::Timestamp) {
    let created = task.created_at;
    (created.is_none(), created.unwrap_or_default())
}
