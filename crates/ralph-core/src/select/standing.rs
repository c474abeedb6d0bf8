//! What every task counts as, and what every task still waits for, kept right incrementally.
//!
//! A change goes three ways: down from a container to the leaves it takes out, up from a leaf to the
//! containers it completes, and along dependencies to the gates it opens. None of the three can
//! start another change of status, so each ends, also in a graph that has circles. Knows nothing of
//! scope or order; must not recurse.

use super::counts::{Gate, Seen};
use crate::task::Status;
use crate::task::graph::{Flaw, Node, Shape};

#[derive(Debug, Clone)]
pub(super) struct Standings {
    /// The statuses as the tasks have them.
    own: Vec<Status>,
    /// For a container the status that takes its leaves out, its own or that of one around it.
    hold: Vec<Option<Status>>,
    /// What each task counts as.
    standing: Vec<Status>,
    /// For a container: children that are neither complete nor skipped.
    left: Vec<u32>,
    /// For a container: children that are complete.
    done: Vec<u32>,
    /// Dependencies that are not met, plus one if the container's gate is closed, plus one if the
    /// task can never be ready.
    unmet: Vec<u32>,
}

impl Standings {
    pub(super) fn new(shape: &Shape, own: Vec<Status>) -> Self {
        let mut all = Self {
            hold: vec![None; own.len()],
            standing: own.clone(),
            left: vec![0; own.len()],
            done: vec![0; own.len()],
            unmet: vec![0; own.len()],
            own,
        };
        for node in shape.preorder().iter().copied() {
            let around = all.hold_around(shape, node);
            if shape.is_leaf(node) {
                all.standing[node.at()] = leaf_standing(all.own[node.at()], around);
            } else {
                all.hold[node.at()] = held(all.own[node.at()], around);
            }
        }
        for node in shape.preorder().iter().rev().copied() {
            if !shape.is_leaf(node) {
                all.standing[node.at()] = all.container_standing(node);
            }
            if let Some(parent) = shape.parent(node) {
                let end = End::of(all.standing[node.at()]);
                all.left[parent.at()] += u32::from(end == End::Left);
                all.done[parent.at()] += u32::from(end == End::Complete);
            }
        }
        for node in shape.preorder().iter().copied() {
            all.unmet[node.at()] = all.count_unmet(shape, node);
        }
        all
    }

    pub(super) fn of(&self, node: Node) -> Status {
        self.standing[node.at()]
    }

    pub(super) fn seen(&self, leaf: Node) -> Seen {
        Seen {
            status: self.of(leaf),
            gate: self.gate(leaf),
        }
    }

    pub(super) fn gate(&self, node: Node) -> Gate {
        if self.unmet[node.at()] == 0 {
            Gate::Open
        } else {
            Gate::Closed
        }
    }

    pub(super) fn is_complete(&self, node: Node) -> bool {
        End::of(self.of(node)) == End::Complete
    }

    pub(super) fn own(&self, node: Node) -> Status {
        self.own[node.at()]
    }

    /// Takes a task's new status, and names the tasks that may now count differently, some of them
    /// perhaps more than once.
    pub(super) fn set(&mut self, shape: &Shape, node: Node, status: Status) -> Vec<Node> {
        self.own[node.at()] = status;
        let mut touched = Vec::new();
        let mut stack = vec![node];
        while let Some(node) = stack.pop() {
            if shape.is_leaf(node) {
                self.restand(shape, node, &mut touched);
                continue;
            }
            let now = held(self.own[node.at()], self.hold_around(shape, node));
            if self.hold[node.at()] != now {
                self.hold[node.at()] = now;
                self.standing[node.at()] = self.container_standing(node);
                stack.extend(shape.children(node));
            }
        }
        touched
    }

    /// Works out what a leaf counts as, and tells everything that hangs on it.
    fn restand(&mut self, shape: &Shape, leaf: Node, touched: &mut Vec<Node>) {
        let now = leaf_standing(self.own[leaf.at()], self.hold_around(shape, leaf));
        let before = std::mem::replace(&mut self.standing[leaf.at()], now);
        touched.push(leaf);
        let (mut before, mut now) = (End::of(before), End::of(now));
        let mut node = leaf;
        while before != now {
            if before == End::Complete {
                self.shift_gates(shape, node, Shift::Close, touched);
            } else if now == End::Complete {
                self.shift_gates(shape, node, Shift::Open, touched);
            }
            let Some(parent) = shape.parent(node) else {
                return;
            };
            let at = parent.at();
            self.left[at] += u32::from(now == End::Left);
            self.left[at] -= u32::from(before == End::Left);
            self.done[at] += u32::from(now == End::Complete);
            self.done[at] -= u32::from(before == End::Complete);
            let standing = self.container_standing(parent);
            before = End::of(std::mem::replace(&mut self.standing[at], standing));
            now = End::of(standing);
            node = parent;
        }
    }

    /// One dependency of each dependant of `node` is now met, or no longer. A container passes the
    /// change of its gate on to its children.
    fn shift_gates(&mut self, shape: &Shape, node: Node, shift: Shift, touched: &mut Vec<Node>) {
        let mut stack = shape.dependants(node).to_vec();
        while let Some(node) = stack.pop() {
            let unmet = &mut self.unmet[node.at()];
            let turned = match shift {
                Shift::Open => {
                    *unmet -= 1;
                    *unmet == 0
                }
                Shift::Close => {
                    *unmet += 1;
                    *unmet == 1
                }
            };
            if turned {
                touched.push(node);
                stack.extend(shape.children(node));
            }
        }
    }

    fn count_unmet(&self, shape: &Shape, node: Node) -> u32 {
        let open = shape
            .depends(node)
            .iter()
            .filter(|on| !self.is_complete(**on))
            .count();
        let around = shape
            .parent(node)
            .is_some_and(|parent| self.gate(parent) == Gate::Closed);
        let never = match shape.flaw(node) {
            Some(Flaw::Shadowed | Flaw::InParentCycle) => 1,
            None => 0,
        };
        let missing = shape.missing(node).len();
        u32::try_from(open + missing + never + usize::from(around))
            .expect("a task has fewer than 2^32 dependencies")
    }

    fn hold_around(&self, shape: &Shape, node: Node) -> Option<Status> {
        shape.parent(node).and_then(|parent| self.hold[parent.at()])
    }

    fn container_standing(&self, node: Node) -> Status {
        match (self.left[node.at()], self.done[node.at()]) {
            (0, 0) => Status::Skipped,
            (0, _) => Status::Completed,
            // With leaves left it is not skipped yet, even if it is about to be: the leaves have
            // the last word, and pass it up.
            (_, _) => self.hold[node.at()]
                .filter(|hold| *hold != Status::Skipped)
                .unwrap_or(Status::Open),
        }
    }
}

/// Whether a task's dependants may start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Left,
    Complete,
    Dropped,
}

impl End {
    fn of(standing: Status) -> Self {
        match standing {
            Status::Completed => Self::Complete,
            Status::Skipped => Self::Dropped,
            Status::Open | Status::InProgress | Status::Blocked | Status::Failed => Self::Left,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shift {
    Open,
    Close,
}

/// What a container with this status, in one that holds like `around`, does to its leaves.
fn held(own: Status, around: Option<Status>) -> Option<Status> {
    match own {
        Status::Skipped => Some(Status::Skipped),
        Status::Blocked | Status::Failed if around == Some(Status::Skipped) => around,
        Status::Blocked | Status::Failed => Some(own),
        Status::Open | Status::InProgress | Status::Completed => around,
    }
}

fn leaf_standing(own: Status, around: Option<Status>) -> Status {
    match own {
        Status::Completed => Status::Completed,
        Status::Open | Status::InProgress | Status::Blocked | Status::Failed | Status::Skipped => {
            held(own, around).unwrap_or(own)
        }
    }
}
