//! Describes how tasks hang together: which contain which, which wait for which, and what is wrong with it.
//!
//! Always builds: `status`, `list` and `show` need a file that parses, not a graph that is right.
//! What is wrong comes back beside the graph as data. Decides nothing about order or readiness;
//! that is the board's. Nothing here recurses: a chain of 100,000 tasks must not end the stack.

mod cycle;
mod link;
mod shape;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use shape::{Flaw, Node, Shape};

use std::fmt;

use super::{Place, Status, Task, TaskId};

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

/// A fault of the links between tasks, in one sentence that names them. Knows no file names or
/// lines: the caller that shows it has its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The places of all tasks with this id, in the order of the file.
    #[error("{} tasks have the id {id}", places.len())]
    DuplicateId { id: TaskId, places: Vec<Place> },
    #[error("task {task} depends on {missing}, which does not exist{}", suggestion(did_you_mean.as_ref()))]
    UnknownDependency {
        task: TaskId,
        place: Place,
        missing: TaskId,
        did_you_mean: Option<TaskId>,
    },
    #[error("task {task} depends on itself")]
    SelfDependency { task: TaskId, place: Place },
    /// A task that waits for its own container, which waits for its tasks.
    #[error("task {task} depends on {ancestor}, which contains it and can't be complete before it")]
    DependsOnAncestor {
        task: TaskId,
        place: Place,
        ancestor: TaskId,
    },
    /// A container that waits for a task of its own, which has to wait for what its container
    /// waits for.
    #[error("task {task} depends on {descendant}, which is part of it and can't start before it")]
    DependsOnDescendant {
        task: TaskId,
        place: Place,
        descendant: TaskId,
    },
    /// One circle for each group of tasks that wait for each other. The path begins with the task
    /// that comes first in the file and ends with the same one. A step goes to a dependency, or
    /// between a container and a task in it.
    #[error("tasks wait for each other: {}", Arrows(path))]
    DependencyCycle { path: Vec<TaskId>, place: Place },
    /// Each step goes to the parent; the first id stands again at the end.
    #[error("tasks are each other's parents: {}", Arrows(path))]
    ParentCycle { path: Vec<TaskId>, place: Place },
    #[error("task {task} has the parent {missing}, which does not exist{}", suggestion(did_you_mean.as_ref()))]
    UnknownParent {
        task: TaskId,
        place: Place,
        missing: TaskId,
        did_you_mean: Option<TaskId>,
    },
}

impl Problem {
    /// The task to look at first.
    pub fn task(&self) -> &TaskId {
        match self {
            Self::DuplicateId { id, .. } => id,
            Self::UnknownDependency { task, .. }
            | Self::SelfDependency { task, .. }
            | Self::DependsOnAncestor { task, .. }
            | Self::DependsOnDescendant { task, .. }
            | Self::UnknownParent { task, .. } => task,
            Self::DependencyCycle { path, .. } | Self::ParentCycle { path, .. } => &path[0],
        }
    }

    /// Where that task stands; for an id used twice, where it is used the second time.
    pub fn place(&self) -> Place {
        match self {
            Self::DuplicateId { places, .. } => places[1],
            Self::UnknownDependency { place, .. }
            | Self::SelfDependency { place, .. }
            | Self::DependsOnAncestor { place, .. }
            | Self::DependsOnDescendant { place, .. }
            | Self::DependencyCycle { place, .. }
            | Self::ParentCycle { place, .. }
            | Self::UnknownParent { place, .. } => *place,
        }
    }
}

/// The end of a message about an id that no task has.
pub(crate) fn suggestion(id: Option<&TaskId>) -> String {
    id.map_or_else(String::new, |id| format!("; did you mean {id}?"))
}

/// Ids that are shown of an absurdly long path, at either end. Anything shorter is shown whole: who
/// has to break a circle needs to see all of it.
const SHOWN_AT_EITHER_END: usize = 500;

struct Arrows<'a>(&'a [TaskId]);

impl fmt::Display for Arrows<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.0;
        let left_out = path.len().saturating_sub(2 * SHOWN_AT_EITHER_END);
        // Leaving out one or two would save nothing.
        let gap = if left_out > 2 {
            SHOWN_AT_EITHER_END..SHOWN_AT_EITHER_END + left_out
        } else {
            0..0
        };
        for (at, id) in path.iter().enumerate() {
            if gap.contains(&at) {
                if at == gap.start {
                    write!(f, " → … {left_out} more …")?;
                }
                continue;
            }
            if at > 0 {
                f.write_str(" → ")?;
            }
            write!(f, "{id}")?;
        }
        Ok(())
    }
}
