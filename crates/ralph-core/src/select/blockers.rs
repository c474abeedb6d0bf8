//! Why a task can't be started, for people. Only explains; the plan has decided already.

use std::fmt;

use super::counts::Gate;
use super::{History, Plan, Seen};
use crate::task::graph::{Flaw, Node};
use crate::task::{Status, TaskId};

/// Tasks that `stuck` names at most.
const MAX_STUCK: usize = 20;
/// Blockers it names for each of them at most.
const MAX_BLOCKERS: usize = 10;

/// One thing that keeps a task from being started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// What is in the way: a dependency, a container, or the task itself.
    pub id: TaskId,
    pub why: Why,
    /// The container whose dependency it is, if it is not the task's own.
    pub through: Option<TaskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A dependency that is a leaf, and what it counts as.
    NotCompleted(Status),
    /// A dependency that is a container, and what its leaves make of it.
    ContainerNotComplete(Status),
    /// A dependency that does not exist.
    Missing,
    /// A container around the task is blocked, failed or skipped.
    Held(Status),
    /// The task's own status.
    Itself(Status),
    /// The task is ready, but not to be chosen now.
    SetAside,
    /// The task, or a container around it, is its own ancestor.
    ParentCycle,
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = &self.id;
        match self.why {
            Why::NotCompleted(status) => write!(f, "{id} is {status}")?,
            Why::ContainerNotComplete(Status::Skipped) => {
                write!(f, "all of {id} is skipped")?;
            }
            Why::ContainerNotComplete(status) => {
                write!(f, "{id} is {status}, not all of it is complete")?;
            }
            Why::Missing => write!(f, "{id} does not exist")?,
            Why::Held(status) => write!(f, "{id}, which contains it, is {status}")?,
            Why::Itself(status) => write!(f, "it is {status}")?,
            Why::SetAside => f.write_str("it is set aside")?,
            Why::ParentCycle => write!(f, "{id} is its own ancestor")?,
        }
        match &self.through {
            Some(container) => write!(f, " (needed by {container}, which contains it)"),
            None => Ok(()),
        }
    }
}

impl Plan {
    /// All that keeps a task from being started: its own status, containers that take it out, and
    /// dependencies, its own first and then those of its containers. Empty for a task that is
    /// completed, that is ready, or that doesn't exist.
    pub fn blockers(&self, id: &TaskId) -> Vec<Blocker> {
        self.shape
            .node(id)
            .map_or_else(Vec::new, |node| self.blockers_of(node).collect())
    }

    /// If there is work left and nothing to give to an agent: what keeps each task, first those that
    /// are in the way by themselves, then those that wait. The list has a limit; `counts` says how
    /// many there are.
    pub fn stuck(&self, history: &History<'_>) -> Vec<(TaskId, Vec<Blocker>)> {
        if self.next(history).is_some() {
            return Vec::new();
        }
        let seen = |wanted: fn(Seen) -> bool| {
            self.queue
                .in_order()
                .filter(move |node| self.seen[node.at()].is_some_and(wanted))
        };
        let roots = seen(|seen| matches!(seen.status, Status::Blocked | Status::Failed));
        let ready = seen(Seen::is_ready);
        let waiting = seen(|seen| seen.status.is_workable() && seen.gate == Gate::Closed);
        roots
            .chain(ready)
            .chain(waiting)
            .take(MAX_STUCK)
            .map(|node| {
                let id = self.shape.id(node).clone();
                let mut blockers: Vec<Blocker> =
                    self.blockers_of(node).take(MAX_BLOCKERS).collect();
                if blockers.is_empty() {
                    blockers.push(Blocker {
                        id: id.clone(),
                        why: Why::SetAside,
                        through: None,
                    });
                }
                (id, blockers)
            })
            .collect()
    }

    fn blockers_of(&self, task: Node) -> impl Iterator<Item = Blocker> {
        let line = std::iter::successors(Some(task), |node| self.shape.parent(*node));
        let of_gates = line.flat_map(move |node| self.gate_blockers(task, node));
        let all = self.status_blocker(task).into_iter().chain(of_gates);
        let is_over = self.standings.of(task) == Status::Completed;
        (!is_over).then_some(all).into_iter().flatten()
    }

    fn status_blocker(&self, task: Node) -> Option<Blocker> {
        let blocker = |node: Node, why| Blocker {
            id: self.shape.id(node).clone(),
            why,
            through: None,
        };
        let standing = self.standings.of(task);
        match standing {
            Status::Open | Status::InProgress | Status::Completed => return None,
            Status::Blocked | Status::Failed | Status::Skipped => {}
        }
        // There is none for a container whose leaves were skipped one by one.
        std::iter::successors(Some(task), |node| self.shape.parent(*node))
            .find(|node| self.standings.own(*node) == standing)
            .map(|container| {
                let why = if container == task {
                    Why::Itself(standing)
                } else {
                    Why::Held(standing)
                };
                blocker(container, why)
            })
    }

    /// What `node`, the task or a container around it, waits for by itself.
    fn gate_blockers(&self, task: Node, node: Node) -> impl Iterator<Item = Blocker> {
        let through = (node != task).then(|| self.shape.id(node).clone());
        let circle = match self.shape.flaw(node) {
            Some(Flaw::InParentCycle) => Some((self.shape.id(node), Why::ParentCycle)),
            Some(Flaw::Shadowed) | None => None,
        };
        let missing = self.shape.missing(node).iter().map(|id| (id, Why::Missing));
        let open = self
            .shape
            .depends(node)
            .iter()
            .filter(|on| !self.standings.is_complete(**on))
            .map(|on| {
                let standing = self.standings.of(*on);
                let why = if self.shape.is_leaf(*on) {
                    Why::NotCompleted(standing)
                } else {
                    Why::ContainerNotComplete(standing)
                };
                (self.shape.id(*on), why)
            });
        circle
            .into_iter()
            .chain(missing)
            .chain(open)
            .map(move |(id, why)| Blocker {
                id: id.clone(),
                why,
                through: through.clone().filter(|_| why != Why::ParentCycle),
            })
    }
}
