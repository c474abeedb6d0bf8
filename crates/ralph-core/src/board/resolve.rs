//! Describes what every task counts as, and whether all that it waits for is complete, from the statuses and
//! the links alone.
//!
//! Three passes over the tree: down from containers to the leaves they take out, up from leaves to
//! the containers they complete, and down again for what waits. Knows nothing of scope, order or
//! questions; must not recurse.

use crate::task::Status;
use crate::task::graph::{Graph, Node};

#[derive(Debug, Clone)]
pub(super) struct ResolvedStatuses {
    /// By node.
    of_nodes: Vec<Resolution>,
}

/// The state of a task as the tasks around it have it: a leaf's by its containers, a container's by
/// its leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Resolution {
    pub(super) status: Status,
    /// Something that it depends on is not complete, or never can be.
    pub(super) waits: bool,
}

impl ResolvedStatuses {
    pub(super) fn of(graph: &Graph) -> Self {
        let shape = graph.shape();
        let own = |node: Node| graph.task(node).status;
        // For a container the status that takes its leaves out, its own or that of one around it.
        let mut hold: Vec<Option<Status>> = vec![None; shape.len()];
        let mut status: Vec<Status> = graph.tasks().iter().map(|task| task.status).collect();
        for node in shape.preorder().iter().copied() {
            let around = shape.parent(node).and_then(|parent| hold[parent.at()]);
            if shape.is_leaf(node) {
                status[node.at()] = leaf_status(own(node), around);
            } else {
                hold[node.at()] = held(own(node), around);
            }
        }
        // Of each container the children that are neither complete nor skipped, and the complete ones.
        let mut left = vec![0_u32; shape.len()];
        let mut complete = vec![0_u32; shape.len()];
        for node in shape.preorder().iter().rev().copied() {
            let at = node.at();
            if !shape.is_leaf(node) {
                status[at] = match (left[at], complete[at]) {
                    (0, 0) => Status::Skipped,
                    (0, _) => Status::Completed,
                    // With leaves left it is not skipped: the leaves have the last word.
                    (_, _) => hold[at]
                        .filter(|hold| *hold != Status::Skipped)
                        .unwrap_or(Status::Open),
                };
            }
            if let Some(parent) = shape.parent(node) {
                match status[at] {
                    Status::Completed => complete[parent.at()] += 1,
                    Status::Skipped => {}
                    Status::Open | Status::InProgress | Status::Blocked | Status::Failed => {
                        left[parent.at()] += 1;
                    }
                }
            }
        }
        let mut waits = vec![false; shape.len()];
        for node in shape.preorder().iter().copied() {
            let is_open = |on: &Node| status[on.at()] != Status::Completed;
            waits[node.at()] = shape.flaw(node).is_some()
                || !shape.missing(node).is_empty()
                || shape.parent(node).is_some_and(|parent| waits[parent.at()])
                || shape.depends(node).iter().any(is_open);
        }
        let of_nodes = status.into_iter().zip(waits);
        let of_nodes = of_nodes.map(|(status, waits)| Resolution { status, waits });
        Self {
            of_nodes: of_nodes.collect(),
        }
    }

    pub(super) fn of_node(&self, node: Node) -> Resolution {
        self.of_nodes[node.at()]
    }

    /// The status that a task counts as.
    pub(super) fn status(&self, node: Node) -> Status {
        self.of_node(node).status
    }

    pub(super) fn could_start(&self, node: Node) -> bool {
        let Resolution { status, waits } = self.of_node(node);
        status.is_workable() && !waits
    }
}

/// Returns what a container with this status, in one that holds like `around`, does to its leaves.
fn held(own: Status, around: Option<Status>) -> Option<Status> {
    match own {
        Status::Skipped => Some(Status::Skipped),
        Status::Blocked | Status::Failed if around == Some(Status::Skipped) => around,
        Status::Blocked | Status::Failed => Some(own),
        Status::Open | Status::InProgress | Status::Completed => around,
    }
}

fn leaf_status(own: Status, around: Option<Status>) -> Status {
    match own {
        Status::Completed => Status::Completed,
        Status::Open | Status::InProgress | Status::Blocked | Status::Failed | Status::Skipped => {
            held(own, around).unwrap_or(own)
        }
    }
}
