//! The plan as a program sees it, and for a person to say yes or no to: the tree of its tasks, and what the
//! linter says.

use ralph_core::{
    agent::Usage,
    lint::Finding,
    sanitize::one_line,
    task::{Task, TaskId},
};
use ralph_engine::plan::PlanReport;
use serde::Serialize;

use super::{Proposal, Wish, write};
use crate::{
    commands::{import::Target, lint::label},
    output,
    view::{
        Table, Tone, cell,
        figures::{self, count},
        paint,
    },
};

/// What came of it; the JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ShownPlan<'a> {
    briefs: Vec<&'a str>,
    agent: &'a str,
    rounds: u32,
    usage: Usage,
    format: &'static str,
    pub(super) output: String,
    /// The task that all others are below, in ralph's own format.
    parent: Option<&'a TaskId>,
    pub(super) tasks: &'a [Task],
    findings: &'a [Finding],
    /// What the agent changed although it was to read only; it is put back.
    put_back: &'a [String],
}

impl Wish<'_> {
    pub(super) fn report<'a>(
        &'a self,
        asked: &'a PlanReport<Proposal>,
        proposal: &'a Proposal,
        target: &Target,
    ) -> ShownPlan<'a> {
        ShownPlan {
            briefs: self
                .briefs
                .iter()
                .map(|brief| brief.name.as_str())
                .collect(),
            agent: &asked.agent,
            rounds: asked.rounds,
            usage: asked.usage,
            format: self.args.to.as_str(),
            output: target.shown(self.project),
            parent: write::parent(proposal),
            tasks: &proposal.checked.tasks,
            findings: &proposal.checked.findings,
            put_back: &asked.changes.what,
        }
    }

    /// On standard error where the tasks themselves go to standard output.
    pub(super) fn show(&self, asked: &PlanReport<Proposal>, proposal: &Proposal) {
        let checked = &proposal.checked;
        let mut text = String::from("\n");
        text.push_str(&tree(&checked.tasks));
        if !checked.findings.is_empty() {
            text.push('\n');
            text.push_str(&render_findings(&checked.findings));
        }
        let rounds = count(asked.rounds as usize, "round", "rounds");
        let asked_for = format!("{rounds} of {}", asked.agent);
        let used = figures::usage(&asked.usage);
        let parts: Vec<String> = [asked_for].into_iter().chain(used).collect();
        text.push_str(&format!("\n{}\n", parts.join(", ")));
        if self.args.writes_a_file() {
            output::print(&text);
        } else {
            output::print_to_stderr(&text);
        }
    }
}

/// Columns of a title that is shown.
const TITLE: usize = 72;

fn tree(tasks: &[Task]) -> String {
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
        let after = if after.is_empty() {
            String::new()
        } else {
            format!("after {}", after.join(", "))
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

fn render_findings(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let label = label(finding.severity, finding.rule);
        let task = finding.task.as_ref();
        let task = task.map_or_else(String::new, |id| format!(" task {id}:"));
        let message = one_line(&finding.message, usize::MAX);
        text.push_str(&format!("{label}{task} {message}\n"));
    }
    text
}
