//! Describes what is known of an iteration, gathered from its steps: while it runs, and again after a crash.

use serde::{Deserialize, Serialize};

use crate::{
    agent::Usage,
    economics::ModelCall,
    handoff::Handover,
    health::HealthState,
    iteration::{AgentChange, Check, Failure, StepDone},
    record::{AgentStatements, RunRecord, VerificationRecord},
};

/// Describes what is known of an iteration so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct IterationLog {
    pub runs: Vec<RunRecord>,
    /// The calls to models of each run.
    pub calls: Vec<Vec<ModelCall>>,
    pub tool_calls: u64,
    pub verification: Vec<VerificationRecord>,
    pub change: Option<AgentChange>,
    pub failure: Option<Failure>,
    pub said: AgentStatements,
    /// Why its last run handed over.
    pub handoff: Option<Handover>,
    pub flags: Vec<String>,
    pub commit: Option<String>,
    pub kept: Option<String>,
    /// The health of the last agent when it ended.
    pub health: HealthState,
    /// The length of the last prompt.
    pub prompt_bytes: u64,
    /// The last calls to tools that failed in its last run, newest first.
    pub failed_calls: Vec<String>,
    /// True if an agent wrote its own entry into the progress file.
    pub progress_edited: bool,
}

/// The end of a final message that the record keeps.
const MESSAGE_CHARS: usize = 4_000;

impl IterationLog {
    /// Takes in what a step brought.
    pub fn observe(&mut self, step: &StepDone) {
        match step {
            StepDone::Bundled { prompt_bytes } => self.prompt_bytes = *prompt_bytes,
            StepDone::AgentEnded(ended) => {
                let (by, report, signals) = (&ended.by, &ended.report, &ended.signals);
                self.runs.push(RunRecord {
                    run: u32::try_from(self.runs.len()).unwrap_or(0) + 1,
                    agent: by.agent.clone(),
                    command: by.command.clone(),
                    model: report.model.clone(),
                    version: report.version.clone(),
                    ending: report.ending.clone(),
                    prompt_bytes: self.prompt_bytes,
                    turns: report.turns,
                    context: report.context.clone(),
                    denied: report.denied.clone(),
                    seconds: report.seconds,
                    usage: report.usage,
                });
                self.handoff.clone_from(&ended.handoff);
                self.calls.push(report.calls.clone());
                self.health = report.health;
                self.tool_calls += report.tool_calls;
                let skip = report
                    .final_message
                    .chars()
                    .count()
                    .saturating_sub(MESSAGE_CHARS);
                self.said = AgentStatements {
                    claimed: signals.claims_done(),
                    foreign_claims: signals.foreign_claims.clone(),
                    promise: signals.promise.clone(),
                    escalation: signals.escalation.clone(),
                    block: signals.block.clone(),
                    final_message: report.final_message.chars().skip(skip).collect(),
                };
            }
            StepDone::Inspected { change } => {
                self.flags.extend(change.flags.iter().cloned());
                self.change = Some(change.clone());
            }
            StepDone::Verified { check } => self.take_check(check),
            StepDone::Landed { commit } => self.commit.clone_from(commit),
            StepDone::Kept { reference } => self.kept.clone_from(reference),
            StepDone::Waited { .. }
            | StepDone::LandRefused { .. }
            | StepDone::Recorded
            | StepDone::OutOfBudget { .. }
            | StepDone::Interrupted => {}
        }
    }

    fn take_check(&mut self, check: &Check) {
        self.failure.clone_from(&check.failure);
        self.verification.extend(check.commands.iter().cloned());
    }

    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for run in &self.runs {
            sum.add(&run.usage);
        }
        sum
    }
}
