//! Describes how tasks hang together: which contain which, which wait for which, and what is wrong with it.
//!
//! Always builds: `status`, `list` and `show` need a file that parses, not a graph that is right.
//! What is wrong comes back beside the graph as data. Decides nothing about order or readiness;
//! that is the board's. Nothing here recurses: a chain of 100,000 tasks must not end the stack.

mod cycle;
mod link;
mod problem;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

pub use problem::Problem;
pub(crate) use shape::{Flaw, Node, Shape};

use super::{Status, Task, TaskId};

/// Tasks with their links resolved. A task that has children is a *container*, any other a *leaf*;
/// only leaves are ever given to an agent.
#[derive(Debug, Clone)]
pub struct Graph {
    tasks: Vec<Task>,
    shape: Shape,
}

impl Graph {
    /// Links the tasks. Of several tasks with one id the first is meant by every link; the others
    /// stay in `tasks()` and are never selected. A circle of parents is cut, and nothing in or
    /// below it is ever ready.
    pub fn build(tasks: Vec<Task>) -> (Self, Vec<Problem>) {
        let (shape, problems) = link::link(&tasks);
        (Self { tasks, shape }, problems)
    }

    /// All tasks, in the order they came in.
    pub fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    pub fn get(&self, id: &TaskId) -> Option<&Task> {
        self.shape.node(id).map(|node| self.task(node))
    }

    /// False also for an id that is not in the graph.
    pub fn is_leaf(&self, id: &TaskId) -> bool {
        self.shape
            .node(id)
            .is_some_and(|node| self.shape.is_leaf(node))
    }

    /// Tasks without a parent, in the order they came in.
    pub fn roots(&self) -> impl Iterator<Item = &Task> {
        self.shape
            .nodes()
            .filter(|node| self.shape.parent(*node).is_none())
            .map(|node| self.task(node))
    }

    pub fn parent(&self, id: &TaskId) -> Option<&Task> {
        let node = self.shape.node(id)?;
        self.shape.parent(node).map(|parent| self.task(parent))
    }

    /// The containers around a task, nearest first.
    pub fn ancestors(&self, id: &TaskId) -> impl Iterator<Item = &Task> {
        let first = self.shape.node(id).and_then(|node| self.shape.parent(node));
        std::iter::successors(first, |node| self.shape.parent(*node)).map(|node| self.task(node))
    }

    pub fn children(&self, id: &TaskId) -> impl Iterator<Item = &Task> {
        self.listed(id, |shape, node| shape.children(node))
    }

    /// Everything below a task, at any depth, parents before their children.
    pub fn descendants(&self, id: &TaskId) -> impl Iterator<Item = &Task> {
        self.listed(id, |shape, node| shape.descendants(node))
    }

    /// Returns what a task itself waits for, as far as it exists; what its containers wait for is not in it.
    pub fn dependencies(&self, id: &TaskId) -> impl Iterator<Item = &Task> {
        self.listed(id, |shape, node| shape.depends(node))
    }

    /// The tasks that name this one as a dependency.
    pub fn dependants(&self, id: &TaskId) -> impl Iterator<Item = &Task> {
        self.listed(id, |shape, node| shape.dependants(node))
    }

    /// The id that someone who wrote `text` probably meant.
    pub fn did_you_mean(&self, text: &str) -> Option<&TaskId> {
        self.shape.did_you_mean(text)
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }

    pub(crate) fn node(&self, id: &TaskId) -> Option<Node> {
        self.shape.node(id)
    }

    pub(crate) fn set_status(&mut self, node: Node, status: Status) {
        self.tasks[node.at()].status = status;
    }

    pub(crate) fn task(&self, node: Node) -> &Task {
        &self.tasks[node.at()]
    }

    fn listed<'g>(
        &'g self,
        id: &TaskId,
        list: impl Fn(&'g Shape, Node) -> &'g [Node],
    ) -> impl Iterator<Item = &'g Task> {
        self.shape
            .node(id)
            .map_or(&[][..], |node| list(&self.shape, node))
            .iter()
            .map(|node| self.task(*node))
    }
}
