//! The plan for a person to say yes or no to: the tree of its tasks, and what the linter says.

use ralph_core::{
    lint::{Finding, Severity},
    sanitize::one_line,
    task::Task,
};

use crate::{
    output,
    view::{Table, Tone, cell, figures::count, paint},
};

/// Columns of a title that is shown.
const TITLE: usize = 72;

pub(super) fn tree(tasks: &[Task]) -> String {
    let mut text = String::new();
    let is_parent = |task: &&Task| {
        tasks
            .iter()
            .any(|t| t.links.parent_id.as_ref() == Some(&task.id))
    };
    let parents: Vec<&Task> = tasks.iter().filter(is_parent).collect();
    for parent in &parents {
        let id = paint(Tone::Name, parent.id.as_str());
        text.push_str(&format!("{id} {}\n", one_line(&parent.text.title, TITLE)));
    }
    let mut table = Table::new(1, 2);
    for task in tasks.iter().filter(|task| !is_parent(task)) {
        let after: Vec<&str> = task.links.depends_on.iter().map(|id| id.as_str()).collect();
        let after = match after.is_empty() {
            true => String::new(),
            false => format!("after {}", after.join(", ")),
        };
        let checks = match task.verify.len() {
            0 => String::new(),
            n => count(n, "check", "checks"),
        };
        table.row([
            cell(Tone::Name, task.id.as_str()),
            cell(Tone::Plain, one_line(&task.text.title, TITLE)),
            cell(Tone::Faint, checks),
            cell(Tone::Faint, after),
        ]);
    }
    text.push_str(&table.render(output::width()));
    text
}

pub(super) fn findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let (tone, word) = match finding.severity {
            Severity::Error => (Tone::Bad, "error"),
            Severity::Warning => (Tone::Careful, "warning"),
        };
        let label = paint(tone, &format!("{word}[{}]", finding.rule));
        let task = finding.task.as_ref();
        let task = task.map_or_else(String::new, |id| format!(" task {id}:"));
        let message = one_line(&finding.message, usize::MAX);
        text.push_str(&format!("{label}{task} {message}\n"));
    }
    text
}
