//! A small tree of the tasks: those that matter first, within their containers, and how many more
//! there are.
//!
//! Has a limit whatever there is, and is made from what `status` has read already.

use std::{
    collections::{BTreeMap, HashSet},
    path::Path,
};

use ralph_core::{
    board::{Board, TaskState},
    task::{Status, Task, TaskId},
};
use serde::Serialize;

use super::{blocked::Blocked, show::branches};
use crate::{error::CommandError, project::Project};

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
    #[serde(rename = "standing")]
    pub(crate) state: NodeState,
    /// Leaves in it, and those of them that are complete; a leaf is one itself.
    pub(crate) total: usize,
    pub(crate) completed: usize,
    #[serde(flatten)]
    pub(crate) below: Tree,
}

/// The state of a task, as a person would say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NodeState {
    /// An agent works on it.
    UnderWay,
    /// The one that would be taken now.
    Next,
    #[serde(untagged)]
    Of(TaskState),
}

/// The tasks that matter most.
pub(super) struct Marks<'a> {
    pub(super) next: Option<&'a TaskId>,
    pub(super) under_way: Option<&'a TaskId>,
}

/// The tree of tasks that no loop has worked on, as text, for the person who has just made them.
pub(crate) fn fresh_tree(project: &Project, source: &Path) -> Result<String, CommandError> {
    let (_, graph, _) = project.read_source(source)?;
    let board = Board::of_all(graph);
    let marks = Marks {
        next: board.next(),
        under_way: None,
    };
    Ok(branches::render(&tree(&board, &marks, &[])))
}

/// `blocked` are tasks that a person should see to.
pub(super) fn tree(board: &Board, marks: &Marks<'_>, blocked: &[Blocked]) -> Tree {
    let leaves = picked(board, marks, blocked);
    let mut lines: Vec<Vec<&Task>> = leaves.into_iter().map(|leaf| line(board, leaf)).collect();
    // In the order of the files, whatever made them matter.
    lines.sort_by_key(|line| line.iter().map(|task| task.place).collect::<Vec<_>>());
    let total = board.counts().total;
    grown(board, marks, &lines, total)
}

/// The leaves to show, those that matter most first.
fn picked<'a>(board: &'a Board, marks: &Marks<'_>, blocked: &[Blocked]) -> Vec<&'a Task> {
    let of_marks = marks.under_way.into_iter().chain(marks.next);
    let held = board
        .histories()
        .filter(|(task, history)| match task.status {
            Status::Open | Status::InProgress => history.question.is_some(),
            Status::Blocked | Status::Failed => history.blocked.is_some(),
            Status::Completed | Status::Skipped => false,
        });
    let held = held.map(|(task, _)| &task.id);
    let stuck = blocked.iter().map(|one| &one.task_id);
    let ready = board.ready();
    let rest = [Status::InProgress, Status::Open]
        .into_iter()
        .chain([Status::Failed, Status::Blocked])
        .chain([Status::Completed, Status::Skipped])
        .flat_map(|status| board.counted_as(status))
        .map(|task| &task.id);
    let mut seen = HashSet::new();
    of_marks
        .chain(held)
        .chain(stuck)
        .chain(ready)
        .chain(rest)
        .filter_map(|id| board.task(id))
        .filter(|task| board.counts_below(&task.id).total == 1)
        .filter(|task| board.graph().is_leaf(&task.id) && seen.insert(&task.id))
        .take(MOST_LEAVES)
        .collect()
}

/// A leaf behind the containers around it, outermost first, as far as they are shown.
fn line<'a>(board: &'a Board, leaf: &'a Task) -> Vec<&'a Task> {
    let scope = board.scope();
    let around = board.graph().ancestors(&leaf.id);
    let mut line: Vec<&Task> = around
        .take_while(|task| Some(&task.id) != scope)
        .take(MOST_CONTAINERS)
        .collect();
    line.reverse();
    line.push(leaf);
    line
}

/// The tree of these lines; `total` is how many leaves there are where they begin.
fn grown(board: &Board, marks: &Marks<'_>, lines: &[Vec<&Task>], total: usize) -> Tree {
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
            let counts = board.counts_below(&task.id);
            // A leaf has nothing below it: it is itself the one that is counted.
            let below = if below.is_empty() {
                Tree::default()
            } else {
                grown(board, marks, &below, counts.total)
            };
            TreeNode {
                id: task.id.clone(),
                title: task.text.title.clone(),
                state: state(board, marks, &task.id),
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

fn state(board: &Board, marks: &Marks<'_>, id: &TaskId) -> NodeState {
    if marks.under_way == Some(id) {
        NodeState::UnderWay
    } else if marks.next == Some(id) {
        NodeState::Next
    } else {
        NodeState::Of(board.state(id).unwrap_or(TaskState::Waiting))
    }
}
