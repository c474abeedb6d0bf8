//! Describes what can be wrong with the links between tasks, each in one sentence that names the tasks.
//!
//! Finds nothing itself, and knows no file names or lines: the caller that shows a problem has its place.

use std::fmt;

use crate::task::{Place, TaskId};

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

fn suggestion(id: Option<&TaskId>) -> String {
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
