//! The reasons why a task can't be started, for people. Only explains; the board has decided.

use std::fmt;

use super::Board;
use crate::task::graph::{Flaw, Node};
use crate::task::{Status, Task, TaskId};

/// Tasks that `stuck` names at most.
const MAX_STUCK: usize = 20;
/// Blockers it names for each of them at most.
const MAX_BLOCKERS: usize = 10;

/// One thing that keeps a task from being started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blocker {
    /// Tells what is in the way: a dependency, a container, or the task itself.
    pub id: TaskId,
    pub why: Why,
    /// The container whose dependency it is, if it is not the task's own.
    pub through: Option<TaskId>,
}

/// A task that can't be taken, and in words why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StuckTask {
    pub id: TaskId,
    pub by: Vec<String>,
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
    /// The task, or a container around it, is for a person.
    ForPerson,
    /// A dependency that is for a person.
    PersonNotDone,
    /// The task is ready, but a question about it is open.
    Question,
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
            Why::ForPerson => {
                write!(
                    f,
                    "it is for a person: `ralph tasks done {id}` when it is done"
                )?;
            }
            Why::PersonNotDone => {
                write!(
                    f,
                    "{id} is for a person: `ralph tasks done {id}` when it is done"
                )?;
            }
            Why::Question => f.write_str("it is set aside: a question is open")?,
            Why::ParentCycle => write!(f, "{id} is its own ancestor")?,
        }
        match &self.through {
            Some(container) => write!(f, " (needed by {container}, which contains it)"),
            None => Ok(()),
        }
    }
}

impl Board {
    /// All that keeps a task from being started: its own status, containers that take it out, and
    /// dependencies, its own first and then those of its containers. Empty for a task that is
    /// completed, that is ready, or that doesn't exist.
    pub fn blockers(&self, id: &TaskId) -> Vec<Blocker> {
        self.graph
            .node(id)
            .map_or_else(Vec::new, |node| self.blockers_of(node).collect())
    }

    /// The same in words, at most `most`; with the journal's reason where the task is blocked by itself.
    pub fn reasons(&self, id: &TaskId, most: usize) -> Vec<String> {
        let node = self.graph.node(id);
        node.map_or_else(Vec::new, |node| self.reasons_of(node, most))
    }

    /// If there is work left and nothing to give to an agent: what keeps each task, first those that
    /// are in the way by themselves, then those that wait. The list has a limit; `counts` says how
    /// many there are.
    pub fn stuck(&self) -> Vec<StuckTask> {
        if self.next().is_some() {
            return Vec::new();
        }
        let leaves = |wanted: fn(Status, bool) -> bool| {
            let leaf = move |node: &Node| self.resolved.of_node(*node);
            let nodes = self.order.iter().copied();
            nodes.filter(move |node| wanted(leaf(node).status, leaf(node).waits))
        };
        let roots = leaves(|status, _| matches!(status, Status::Blocked | Status::Failed));
        let asking = leaves(|status, waits| status.is_workable() && !waits);
        let waiting = leaves(|status, waits| status.is_workable() && waits);
        roots
            .chain(asking)
            .chain(waiting)
            .take(MAX_STUCK)
            .map(|node| StuckTask {
                id: self.graph.task(node).id.clone(),
                by: self.reasons_of(node, MAX_BLOCKERS),
            })
            .collect()
    }

    fn reasons_of(&self, node: Node, most: usize) -> Vec<String> {
        let history = self.history(&self.graph.task(node).id);
        let reason = history.and_then(|history| history.blocked.as_deref());
        let in_words = |blocker: Blocker| match (blocker.why, reason) {
            (Why::Itself(status), Some(reason)) => format!("it is {status}: {reason}"),
            (_, _) => blocker.to_string(),
        };
        self.blockers_of(node).take(most).map(in_words).collect()
    }

    fn blockers_of(&self, task: Node) -> impl Iterator<Item = Blocker> {
        let shape = self.graph.shape();
        let line = std::iter::successors(Some(task), |node| shape.parent(*node));
        let waits_for = line.flat_map(move |node| self.dependency_blockers(task, node));
        let id = &self.graph.task(task).id;
        let asks = self.resolved.could_start(task) && shape.is_leaf(task) && self.is_asking(id);
        let question = asks.then(|| Blocker {
            id: id.clone(),
            why: Why::Question,
            through: None,
        });
        let own = self.status_blocker(task).into_iter().chain(question);
        let all = own.chain(waits_for);
        let is_over = self.resolved.status(task) == Status::Completed;
        (!is_over).then_some(all).into_iter().flatten()
    }

    fn status_blocker(&self, task: Node) -> Option<Blocker> {
        let blocker = |node: Node, why| Blocker {
            id: self.graph.task(node).id.clone(),
            why,
            through: None,
        };
        let status = self.resolved.status(task);
        let mut line = std::iter::successors(Some(task), |node| self.graph.shape().parent(*node));
        if let Some(person) = line.find(|node| self.is_undone_for_person(*node)) {
            return Some(blocker(person, Why::ForPerson));
        }
        match status {
            Status::Open | Status::InProgress | Status::Completed => return None,
            Status::Blocked | Status::Failed | Status::Skipped => {}
        }
        // There is none for a container whose leaves were skipped one by one.
        std::iter::successors(Some(task), |node| self.graph.shape().parent(*node))
            .find(|node| self.graph.task(*node).status == status)
            .map(|container| {
                let why = if container == task {
                    Why::Itself(status)
                } else {
                    Why::Held(status)
                };
                blocker(container, why)
            })
    }

    /// Leaves in scope that are for a person, who has neither done nor skipped them, in their order.
    pub fn for_person(&self) -> impl Iterator<Item = &Task> {
        let nodes = self.order.iter().copied();
        let undone = nodes.filter(|node| self.is_undone_for_person(*node));
        undone.map(|node| self.graph.task(node))
    }

    /// Returns true for a task that a person has neither done nor skipped.
    fn is_undone_for_person(&self, node: Node) -> bool {
        let is_over = matches!(
            self.resolved.status(node),
            Status::Completed | Status::Skipped
        );
        self.graph.task(node).id.is_for_person() && !is_over
    }

    /// Returns what `node`, the task or a container around it, waits for by itself.
    fn dependency_blockers(&self, task: Node, node: Node) -> impl Iterator<Item = Blocker> {
        let through = (node != task).then(|| self.graph.task(node).id.clone());
        let circle = match self.graph.shape().flaw(node) {
            Some(Flaw::InParentCycle) => Some((&self.graph.task(node).id, Why::ParentCycle)),
            Some(Flaw::Shadowed) | None => None,
        };
        let missing = self
            .graph
            .shape()
            .missing(node)
            .iter()
            .map(|id| (id, Why::Missing));
        let open = self
            .graph
            .shape()
            .depends(node)
            .iter()
            .filter(|on| self.resolved.status(**on) != Status::Completed)
            .map(|on| {
                let status = self.resolved.status(*on);
                let why = if self.is_undone_for_person(*on) {
                    Why::PersonNotDone
                } else if self.graph.shape().is_leaf(*on) {
                    Why::NotCompleted(status)
                } else {
                    Why::ContainerNotComplete(status)
                };
                (&self.graph.task(*on).id, why)
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
