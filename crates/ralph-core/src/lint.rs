//! Says before a run what would make a task go wrong in it: links that can't be followed, and text
//! that an agent with no other knowledge can't work from.
//!
//! Text is looked at only in leaves that are still to be done. A rule that is often wrong is worse
//! than none, so each one lets doubtful cases pass. Changes nothing, reads no files; whether the
//! files that a task names exist is not its business.

mod rule;
#[cfg(test)]
mod tests;
mod text;

pub use rule::{Rule, Severity};

use serde::Serialize;

use crate::{
    board::Board,
    task::{
        Place, Status, Task, TaskId,
        format::{FormatWarning, NamedCheck, UnknownField, WarningKind},
        graph::Problem,
    },
};

/// Describes what the linter has to know beside the tasks.
#[derive(Debug, Clone, Copy)]
pub struct LintContext {
    /// True if the configuration has verify commands that are run for every task.
    pub configured_verify: bool,
}

/// One thing to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    pub rule: Rule,
    pub severity: Severity,
    /// `None` if it is about all tasks.
    pub task: Option<TaskId>,
    #[serde(skip)]
    pub place: Place,
    pub message: String,
    /// Tells what to do about it.
    pub hint: String,
}

impl Finding {
    fn new(rule: Rule, task: &Task, message: String) -> Self {
        Self {
            rule,
            severity: rule.severity(),
            task: Some(task.id.clone()),
            place: task.place,
            message,
            hint: rule.hint().to_owned(),
        }
    }
}

/// Findings about what was read by its nearest meaning, or not at all.
pub fn of_warnings<'w>(warnings: impl Iterator<Item = &'w FormatWarning>) -> Vec<Finding> {
    let finding = |warning: &FormatWarning| {
        let rule = match warning.kind {
            WarningKind::OddValue => Rule::OddValue,
            WarningKind::UnknownStatus => Rule::UnknownStatus,
            WarningKind::NotRead => Rule::NotRead,
            WarningKind::CompletedContainer => Rule::CompletedContainer,
        };
        Finding {
            rule,
            severity: rule.severity(),
            task: warning.task.clone(),
            place: warning.place,
            message: warning.message.clone(),
            hint: warning.hint.unwrap_or(rule.hint()).to_owned(),
        }
    };
    let mut findings: Vec<Finding> = warnings.map(finding).collect();
    findings.sort_by_key(|finding| (finding.task.is_some(), finding.place));
    findings
}

/// The finding about fields of a file that mean nothing to ralph.
pub fn of_unknown_fields(fields: &[UnknownField]) -> Option<Finding> {
    let first = fields.first()?;
    let rule = Rule::UnknownFields;
    let named = |field: &UnknownField| {
        let tasks = if field.tasks == 1 { "task" } else { "tasks" };
        format!("`{}` ({} {tasks})", field.name, field.tasks)
    };
    let names: Vec<String> = fields.iter().map(named).collect();
    Some(Finding {
        rule,
        severity: rule.severity(),
        task: None,
        place: first.first,
        message: format!(
            "fields that ralph does not know are told to the agent as text: {}",
            names.join(", ")
        ),
        hint: rule.hint().to_owned(),
    })
}

/// The finding about check commands that the file of an index names while none is configured.
pub fn of_checks(file: u32, checks: &[NamedCheck], ctx: &LintContext) -> Option<Finding> {
    let first = checks.first().filter(|_| !ctx.configured_verify)?;
    let rule = Rule::ChecksNotUsed;
    let names = checks.iter().map(|one| format!("`{}`", one.command));
    let names: Vec<String> = names.collect();
    Some(Finding {
        rule,
        severity: rule.severity(),
        task: None,
        place: Place {
            file,
            position: 0,
            offset: first.offset,
        },
        message: format!(
            "the file names checks that are not run: {}",
            names.join(", ")
        ),
        hint: rule.hint().to_owned(),
    })
}

/// All findings, those about all tasks first and the others in the order of the file. `problems` is
/// what building the graph said.
pub fn lint(board: &Board, problems: &[Problem], ctx: &LintContext) -> Vec<Finding> {
    let to_do: Vec<&Task> = board
        .graph()
        .tasks()
        .iter()
        .filter(|task| is_to_do(task, board))
        .collect();
    let mut findings: Vec<Finding> = problems.iter().map(problem).collect();
    findings.extend(never_ready(board));
    findings.extend(completed_containers(board));
    findings.extend(text::same_titles(&to_do));
    let habits = text::Habits::of(&to_do);
    findings.extend(to_do.iter().flat_map(|task| text::task(task, habits)));
    findings.extend(no_verify(&to_do, ctx));
    findings.sort_by_key(|finding| (finding.task.is_some(), finding.place, finding.rule));
    findings
}

fn is_to_do(task: &Task, board: &Board) -> bool {
    let counts_as = board.status(&task.id).unwrap_or(task.status);
    board.graph().is_leaf(&task.id) && !matches!(counts_as, Status::Completed | Status::Skipped)
}

/// Tasks that nothing would verify: one finding if that is so for all, else one a task.
fn no_verify(to_do: &[&Task], ctx: &LintContext) -> Vec<Finding> {
    if ctx.configured_verify {
        return Vec::new();
    }
    // What a person does is for a person to judge.
    let is_bare = |task: &&&Task| task.verify.is_empty() && !task.id.is_for_person();
    let bare: Vec<&&Task> = to_do.iter().filter(is_bare).collect();
    if bare.len() > 1 && bare.len() == to_do.len() {
        let message = format!(
            "none of the {} tasks has a verify command, and none is configured: \
             all would be completed as unverified",
            bare.len()
        );
        return vec![Finding {
            task: None,
            ..Finding::new(Rule::NoVerify, bare[0], message)
        }];
    }
    let message = "no verify command: the task would be completed as unverified";
    bare.into_iter()
        .map(|task| Finding::new(Rule::NoVerify, task, message.to_owned()))
        .collect()
}

fn problem(problem: &Problem) -> Finding {
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
fn never_ready(board: &Board) -> Vec<Finding> {
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
fn completed_containers(board: &Board) -> Vec<Finding> {
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
