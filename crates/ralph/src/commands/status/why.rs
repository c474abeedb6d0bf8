//! Why the next task is this one and no other, in words. The plan has chosen; this compares the
//! choice with the one that would have been made without it.

use ralph_core::task::{Task, TaskId};

use super::view::View;

pub(super) fn why(view: &View<'_>, chosen: &Task) -> String {
    let others = || {
        let free = |id: &&TaskId| !view.past.set_aside.contains(*id);
        view.plan.ready().filter(free)
    };
    let Some(rival) = others().find(|id| **id != chosen.id) else {
        return "the only task that is ready".to_owned();
    };
    let ready = match view.past.set_aside.is_empty() {
        true => view.plan.counts().ready,
        false => others().count(),
    };
    let of = format!("of {ready} ready tasks");
    if others().next() != Some(&chosen.id) {
        // Only the area of the last completed task can put one before the first in order.
        let area = chosen.area.as_deref().unwrap_or_default();
        return format!("{of}, the first in the area {area}, like the last completed one");
    }
    let Some(rival) = view.graph.get(rival) else {
        return format!("{of}, the first in order");
    };
    match (chosen.priority, rival.priority) {
        (Some(own), other) if other != Some(own) => format!("{of}, the first by priority ({own})"),
        (_, _) if chosen.created_at != rival.created_at => format!("{of}, the oldest"),
        (_, _) => format!("{of}, the first in the file"),
    }
}
