//! Decides whether the tasks of a plan would do, beside those that are there already.
//!
//! The same reader, graph and linter as for every task file: a plan is checked as the file that it
//! would become.

use std::collections::HashSet;

use super::Plan;
use crate::board::Board;
use crate::lint::{Finding, LintContext, Severity, lint};
use crate::task::format::{Format, FormatError, Syntax, parse};
use crate::task::graph::Graph;
use crate::task::{Task, TaskId};

/// Describes what a plan has to fit in with.
#[derive(Debug, Clone, Default)]
pub struct Surrounding {
    /// Tasks of the source that the new file becomes a part of.
    pub tasks: Vec<Task>,
    /// True if the configuration has verify commands that are run for every task.
    pub configured_verify: bool,
}

/// A plan as the file that it becomes, with what the linter says of it.
#[derive(Debug, Clone)]
pub struct Checked {
    pub text: String,
    /// In the order of the file.
    pub tasks: Vec<Task>,
    pub findings: Vec<Finding>,
}

impl Checked {
    /// Sentences about what has to be put right, with what should be looked at as well.
    pub fn faults(&self) -> Vec<String> {
        if !self.findings.iter().any(|f| f.severity == Severity::Error) {
            return Vec::new();
        }
        self.findings.iter().map(sentence).collect()
    }
}

fn sentence(finding: &Finding) -> String {
    let Finding { message, hint, .. } = finding;
    match &finding.task {
        // Some messages name it themselves.
        Some(id) if !message.contains(id.as_str()) => format!("task {id}: {message} ({hint})"),
        Some(_) | None => format!("{message} ({hint})"),
    }
}

/// Renders the plan and looks at it as the reader and the linter see it.
pub fn check(
    plan: &Plan,
    format: Format,
    syntax: Syntax,
    around: &Surrounding,
) -> Result<Checked, FormatError> {
    let text = plan.render(format, syntax)?;
    let name = match syntax {
        Syntax::Json => "tasks.json",
        Syntax::Yaml => "tasks.yaml",
    };
    // Behind those that are there, so that a circle is told from the side of the new ones last.
    let index = around.tasks.iter().map(|task| task.place.file + 1).max();
    let tasks = parse(name, index.unwrap_or(0), text.as_bytes())?.tasks;
    let all: Vec<Task> = around.tasks.iter().chain(&tasks).cloned().collect();
    let (graph, problems) = Graph::build(all);
    let context = LintContext {
        configured_verify: around.configured_verify,
    };
    let new: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let mut findings = lint(&Board::of_all(graph), &problems, &context);
    findings.retain(|finding| match &finding.task {
        Some(task) => new.contains(task),
        // About all tasks, which is about the new ones only where there are no others.
        None => around.tasks.is_empty(),
    });
    Ok(Checked {
        text,
        tasks,
        findings,
    })
}
