//! What came of a plan, as a person and as a program see it.

use ralph_core::{
    agent::Usage,
    lint::Finding,
    task::{Task, TaskId},
};
use ralph_engine::plan::PlanReport;
use serde::Serialize;

use super::{Proposal, Wish, show, write};
use crate::{
    commands::import::Target,
    output,
    view::figures::{self, count},
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
            format: self.args.to.format().as_str(),
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
        text.push_str(&show::tree(&checked.tasks));
        if !checked.findings.is_empty() {
            text.push('\n');
            text.push_str(&show::findings(&checked.findings));
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
