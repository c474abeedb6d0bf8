//! A small tree of the tasks: those that matter first, within their containers, and how many more
//! there are.
//!
//! Has a limit whatever there is, and is made from what `status` has read already.

use std::collections::{BTreeMap, HashSet};

use ralph_core::task::{Status, Task, TaskId};
use serde::Serialize;

use super::{held::Blocked, view::View};

/// Leaves that are shown, and containers around each of them.
const MOST_LEAVES: usize = 12;
const MOST_CONTAINERS: usize = 3;

#[derive(Debug, Default, Serialize)]
pub(crate) struct Tree {
    pub(crate) children: Vec<TreeNode>,
    /// Leaves that are in none of the children.
    pub(crate) more: usize,
}

#[derive(Debug, Serialize)]
pub(crate) struct TreeNode {
    pub(crate) id: TaskId,
    pub(crate) title: String,
    pub(crate) standing: Standing,
    /// Leaves in it, and those of them that are complete; a leaf is one itself.
    pub(crate) total: usize,
    pub(crate) completed: usize,
    #[serde(flatten)]
    pub(crate) below: Tree,
}

/// How a task stands, as a person would say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Standing {
    /// An agent is at it.
    UnderWay,
    /// The one that would be taken now.
    Next,
    /// A person has to answer first.
    Question,
    Ready,
    Waiting,
    Blocked,
    Failed,
    Completed,
    Skipped,
}

/// `(next, under way)` are the tasks that matter most, `blocked` those that a person should see to.
pub(super) fn tree(
    view: &View<'_>,
    (next, under_way): (Option<&Task>, Option<&TaskId>),
    blocked: &[Blocked],
) -> Tree {
    let marks = Marks {
        next: next.map(|task| &task.id),
        under_way,
    };
    let leaves = picked(view, &marks, blocked);
    let mut lines: Vec<Vec<&Task>> = leaves.into_iter().map(|leaf| line(view, leaf)).collect();
    // In the order of the files, whatever made them matter.
    lines.sort_by_key(|line| line.iter().map(|task| task.place).collect::<Vec<_>>());
    let total = view.plan.counts().total;
    grown(view, &marks, &lines, total)
}

struct Marks<'a> {
    next: Option<&'a TaskId>,
    under_way: Option<&'a TaskId>,
}

/// The leaves to show, those that matter most first.
fn picked<'a>(view: &View<'a>, marks: &Marks<'_>, blocked: &[Blocked]) -> Vec<&'a Task> {
    let of_marks = marks.under_way.into_iter().chain(marks.next);
    let held = view.past.held.keys();
    let stuck = blocked.iter().map(|one| &one.task_id);
    let ready = view.plan.ready();
    let rest = [Status::InProgress, Status::Open]
        .into_iter()
        .chain([Status::Failed, Status::Blocked])
        .chain([Status::Completed, Status::Skipped])
        .flat_map(|status| view.plan.counted_as(status));
    let mut seen = HashSet::new();
    of_marks
        .chain(held)
        .chain(stuck)
        .chain(ready)
        .chain(rest)
        .filter_map(|id| view.graph.get(id))
        .filter(|task| view.plan.counts_below(&task.id).total == 1)
        .filter(|task| view.graph.is_leaf(&task.id) && seen.insert(&task.id))
        .take(MOST_LEAVES)
        .collect()
}

/// A leaf behind the containers around it, outermost first, as far as they are shown.
fn line<'a>(view: &View<'a>, leaf: &'a Task) -> Vec<&'a Task> {
    let scope = view.scope.parent();
    let around = view.graph.ancestors(&leaf.id);
    let mut line: Vec<&Task> = around
        .take_while(|task| Some(&task.id) != scope)
        .take(MOST_CONTAINERS)
        .collect();
    line.reverse();
    line.push(leaf);
    line
}

/// The tree of these lines; `total` is how many leaves there are where they begin.
fn grown(view: &View<'_>, marks: &Marks<'_>, lines: &[Vec<&Task>], total: usize) -> Tree {
    let mut groups: BTreeMap<_, (&Task, Vec<Vec<&Task>>)> = BTreeMap::new();
    for line in lines {
        let Some((first, rest)) = line.split_first() else {
            continue;
        };
        let group = groups.entry(first.place).or_insert((first, Vec::new()));
        if !rest.is_empty() {
            group.1.push(rest.to_vec());
        }
    }
    let children: Vec<TreeNode> = groups
        .into_values()
        .map(|(task, below)| {
            let counts = view.plan.counts_below(&task.id);
            // A leaf has nothing below it: it is itself the one that is counted.
            let below = match below.is_empty() {
                true => Tree::default(),
                false => grown(view, marks, &below, counts.total),
            };
            TreeNode {
                id: task.id.clone(),
                title: task.text.title.clone(),
                standing: standing(view, marks, &task.id),
                total: counts.total,
                completed: counts.completed,
                below,
            }
        })
        .collect();
    let shown: usize = children.iter().map(|node| node.total).sum();
    Tree {
        children,
        more: total.saturating_sub(shown),
    }
}

fn standing(view: &View<'_>, marks: &Marks<'_>, id: &TaskId) -> Standing {
    if marks.under_way == Some(id) {
        return Standing::UnderWay;
    }
    if marks.next == Some(id) {
        return Standing::Next;
    }
    if view.past.set_aside.contains(id) {
        return Standing::Question;
    }
    match view.plan.status(id) {
        Some(Status::Completed) => Standing::Completed,
        Some(Status::Skipped) => Standing::Skipped,
        Some(Status::Failed) => Standing::Failed,
        Some(Status::Blocked) => Standing::Blocked,
        Some(Status::Open | Status::InProgress) | None => {
            match view.plan.counts_below(id).ready > 0 {
                true => Standing::Ready,
                false => Standing::Waiting,
            }
        }
    }
}
