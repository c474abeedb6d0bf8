//! Rules about how tasks hang together. Each is about a task's own links: what follows for the tasks
//! behind it is not said again, and nothing is walked twice.

use super::{Finding, Rule};
use crate::board::Board;
use crate::task::Status;
use crate::task::graph::Problem;

pub(super) fn problem(problem: &Problem) -> Finding {
    let rule = match problem {
        Problem::DuplicateId { .. } => Rule::DuplicateId,
        Problem::UnknownDependency { .. } => Rule::UnknownDependency,
        Problem::SelfDependency { .. } => Rule::SelfDependency,
        Problem::DependsOnAncestor { .. } => Rule::DependsOnAncestor,
        Problem::DependsOnDescendant { .. } => Rule::DependsOnDescendant,
        Problem::DependencyCycle { .. } => Rule::DependencyCycle,
        Problem::ParentCycle { .. } => Rule::ParentCycle,
        Problem::UnknownParent { .. } => Rule::UnknownParent,
    };
    Finding {
        rule,
        severity: rule.severity(),
        task: Some(problem.task().clone()),
        place: problem.place(),
        message: problem.to_string(),
        hint: rule.hint().to_owned(),
    }
}

/// Tasks and containers with work left that depend on something which is not going to be done.
pub(super) fn never_ready(board: &Board) -> Vec<Finding> {
    let mut findings = Vec::new();
    for task in board.graph().tasks() {
        if !board.status(&task.id).is_some_and(Status::is_workable) {
            continue;
        }
        for on in board.graph().dependencies(&task.id) {
            let Some(status @ (Status::Skipped | Status::Failed | Status::Blocked)) =
                board.status(&on.id)
            else {
                continue;
            };
            let message = format!("it can never be ready: {} is {status}", on.id);
            findings.push(Finding::new(Rule::NeverReady, task, message));
        }
    }
    findings
}

/// Containers that say they are completed while tasks in them are not.
pub(super) fn completed_containers(board: &Board) -> Vec<Finding> {
    board
        .graph()
        .tasks()
        .iter()
        .filter(|task| task.status == Status::Completed && !board.graph().is_leaf(&task.id))
        .filter(|task| board.status(&task.id) != Some(Status::Completed))
        .map(|task| {
            let message = "its status is completed, but not all tasks in it are".to_owned();
            Finding::new(Rule::CompletedContainer, task, message)
        })
        .collect()
}
