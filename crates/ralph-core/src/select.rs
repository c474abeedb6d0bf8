//! Chooses the next task. Keeps a plan that is right after every change of a status, so that nothing
//! is ever planned anew.
//!
//! What counts as what:
//!
//! - Only leaves are given to an agent. A container is complete when each of its leaves is completed
//!   or skipped and at least one is completed; with all of them skipped it counts as skipped. Its
//!   leaves decide: a container whose own status says completed is not complete for that.
//! - A container whose own status is skipped, blocked or failed takes its open leaves out: they count
//!   as what it is. What is completed stays completed, and skipped is stronger than the other two.
//! - A dependency is met by a completed leaf or a complete container, never by a skipped one. What a
//!   container depends on, all its leaves depend on.
//! - A task in progress can be chosen: whoever left it so is gone. A caller with several lanes names
//!   what its lanes are at as set aside.
//!
//! The order is: priority (lower first, none last), the area of the last completed task, creation
//! time (none last), place in the file, id. Reads no files, knows no clock, changes no task.

mod blockers;
mod counts;
mod outlook;
#[cfg(test)]
mod properties;
mod queue;
mod standing;
#[cfg(test)]
mod tests;

pub use blockers::{Blocker, Why};
pub use counts::Counts;

use std::collections::HashSet;

use crate::task::graph::{Flaw, Graph, Node, Shape};
use crate::task::{Status, TaskId};
use counts::Seen;
use queue::Queue;
use standing::Standings;

/// Which of the ready leaves is next, kept right from one change of status to the next. Owns what
/// it needs: the graph is not borrowed.
#[derive(Debug, Clone)]
pub struct Plan {
    shape: Shape,
    standings: Standings,
    queue: Queue,
    /// How each leaf in scope was last counted; `None` for containers and for what is out of scope.
    seen: Vec<Option<Seen>>,
    counts: Counts,
}

/// What has happened so far, as far as it matters to the choice.
#[derive(Debug, Clone, Copy)]
pub struct History<'a> {
    /// The area of the task that was completed last.
    pub last_area: Option<&'a str>,
    /// Tasks not to choose now, whatever their status: a question is open, a lane is at it.
    pub set_aside: &'a HashSet<TaskId>,
}

/// An id that no task has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no task {id}{}", hint(.did_you_mean.as_ref()))]
pub struct UnknownTask {
    pub id: TaskId,
    pub did_you_mean: Option<TaskId>,
}

fn hint(id: Option<&TaskId>) -> String {
    id.map_or_else(String::new, |id| format!("; did you mean {id}?"))
}

impl Plan {
    /// A plan for what is below `scope`, or for `scope` itself if it is a leaf; for all tasks
    /// without one.
    pub fn new(graph: &Graph, scope: Option<&TaskId>) -> Result<Self, UnknownTask> {
        let scope = scope.map(|id| known(graph.shape(), id)).transpose()?;
        Ok(Self::within(graph, scope))
    }

    /// A plan for all tasks.
    pub fn of_all(graph: &Graph) -> Self {
        Self::within(graph, None)
    }

    fn within(graph: &Graph, scope: Option<Node>) -> Self {
        let shape = graph.shape().clone();
        let own = graph.tasks().iter().map(|task| task.status).collect();
        let standings = Standings::new(&shape, own);
        let is_candidate = |node: &Node| {
            shape.is_leaf(*node)
                && shape.flaw(*node) != Some(Flaw::Shadowed)
                && scope.is_none_or(|top| shape.is_within(*node, top))
        };
        let candidates: Vec<Node> = shape.nodes().filter(is_candidate).collect();
        let mut counts = Counts::default();
        let mut seen = vec![None; shape.len()];
        let mut ready = vec![false; shape.len()];
        for node in candidates.iter().copied() {
            let now = standings.seen(node);
            counts.add(now);
            seen[node.at()] = Some(now);
            ready[node.at()] = now.is_ready();
        }
        let queue = Queue::new(graph.tasks(), candidates, &ready);
        Self {
            shape,
            standings,
            queue,
            seen,
            counts,
        }
    }

    /// The task to work at now.
    pub fn next(&self, history: &History<'_>) -> Option<&TaskId> {
        let is_free = |node: Node| !history.set_aside.contains(self.shape.id(node));
        self.queue
            .first(history.last_area, is_free)
            .map(|node| self.shape.id(node))
    }

    /// The task to work at now, where some are half done and a fresh agent is to go on with them: they
    /// go before all others, in their own order.
    pub fn next_going_on(
        &self,
        handed_over: &HashSet<TaskId>,
        history: &History<'_>,
    ) -> Option<&TaskId> {
        let is_free = |id: &&TaskId| self.is_ready(id) && !history.set_aside.contains(*id);
        let nodes = handed_over.iter().filter(is_free);
        let nodes = nodes.filter_map(|id| self.shape.node(id));
        match nodes.min_by_key(|node| self.queue.rank(*node)) {
            Some(node) => Some(self.shape.id(node)),
            None => self.next(history),
        }
    }

    /// Takes note of a task's own status. Costs what depends on the change: for a leaf its
    /// dependants, for a container that takes its leaves out also the leaves.
    pub fn set_status(&mut self, id: &TaskId, status: Status) -> Result<(), UnknownTask> {
        let node = known(&self.shape, id)?;
        for touched in self.standings.set(&self.shape, node, status) {
            self.count_again(touched);
        }
        Ok(())
    }

    /// What a task counts as: for a leaf its own status unless a container takes it out; for a
    /// container what its leaves make of it.
    pub fn status(&self, id: &TaskId) -> Option<Status> {
        self.shape.node(id).map(|node| self.standings.of(node))
    }

    /// Whether a task is in scope and could be started now.
    pub fn is_ready(&self, id: &TaskId) -> bool {
        self.shape
            .node(id)
            .and_then(|node| self.seen[node.at()])
            .is_some_and(Seen::is_ready)
    }

    /// How the leaves in scope stand.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether each leaf in scope is completed or was skipped. True of nothing at all, too: whether
    /// there is anything to do is `counts().total`.
    pub fn all_complete(&self) -> bool {
        self.counts.completed + self.counts.skipped == self.counts.total
    }

    fn count_again(&mut self, leaf: Node) {
        // Containers, and leaves out of scope, are not counted.
        let Some(before) = self.seen[leaf.at()] else {
            return;
        };
        let now = self.standings.seen(leaf);
        if before == now {
            return;
        }
        self.seen[leaf.at()] = Some(now);
        self.counts.remove(before);
        self.counts.add(now);
        match (before.is_ready(), now.is_ready()) {
            (false, true) => self.queue.insert(leaf),
            (true, false) => self.queue.remove(leaf),
            (true, true) | (false, false) => {}
        }
    }
}

fn known(shape: &Shape, id: &TaskId) -> Result<Node, UnknownTask> {
    shape.node(id).ok_or_else(|| UnknownTask {
        id: id.clone(),
        did_you_mean: shape.did_you_mean(id.as_str()).cloned(),
    })
}
