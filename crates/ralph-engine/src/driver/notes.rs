//! What is known of an iteration so far, gathered from its steps: live, and folded after a crash.

use std::{collections::HashSet, path::PathBuf};

use jiff::Timestamp;
use ralph_core::{
    agent::Usage,
    economics::ModelCall,
    handoff::Handover,
    health::HealthState,
    id::IterationId,
    iteration::{Change, Check, Failure, Iteration, StepDone},
    loop_machine::WorkMoved,
    record::{Guidance, RunRecord, Said, VerificationRecord},
    task::{Task, TaskId},
};

use crate::{
    git::Oid,
    store::{IterationStart, Step},
};

/// One iteration on its way.
pub(super) struct Turn {
    pub(super) n: u64,
    pub(super) start: IterationStart,
    pub(super) task: Task,
    pub(super) base: Oid,
    pub(super) untracked: HashSet<PathBuf>,
    pub(super) machine: Iteration,
    pub(super) notes: Notes,
    /// The progress file as the agent found it.
    pub(super) progress: String,
    pub(super) progress_edited: bool,
    /// Steps that are done and not yet in the journal.
    pub(super) pending: Vec<Step>,
    pub(super) agent: AgentSeen,
    /// The tree that an attempt gone on with made of the working tree.
    pub(super) taken_up: Option<Oid>,
    /// Where the branch stood when the tree was staged.
    pub(super) tip: Option<Oid>,
    /// Tools that its agents were seen to use.
    pub(super) tool_calls: u64,
    /// What a person said that it is told.
    pub(super) guidance: Vec<Guidance>,
    /// The last calls to tools that failed in its last run.
    pub(super) failed_calls: Vec<String>,
    /// Whether its work is another than what it began with, where that was looked at.
    pub(super) moved: WorkMoved,
}

/// Whether an agent was started: until then, what is in the tree is only what ralph put there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AgentSeen {
    NotYet,
    Started,
}

#[derive(Default)]
pub(super) struct Notes {
    pub(super) runs: Vec<RunRecord>,
    /// The calls to models of each run.
    pub(super) calls: Vec<Vec<ModelCall>>,
    pub(super) tool_calls: u64,
    pub(super) verification: Vec<VerificationRecord>,
    pub(super) change: Option<Change>,
    pub(super) failure: Option<Failure>,
    pub(super) said: Said,
    /// Why its last run handed over.
    pub(super) handoff: Option<Handover>,
    pub(super) flags: Vec<String>,
    pub(super) commit: Option<String>,
    pub(super) kept: Option<String>,
    /// How well the last agent did when it ended.
    pub(super) health: HealthState,
    prompt_bytes: u64,
}

/// The end of a final message that the record keeps.
const MESSAGE_CHARS: usize = 4_000;

impl Notes {
    /// Takes in what a step brought.
    pub(super) fn observe(&mut self, step: &StepDone) {
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
                self.said = Said {
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

    pub(super) fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for run in &self.runs {
            sum.add(&run.usage);
        }
        sum
    }
}

impl Turn {
    pub(super) fn id(&self) -> &IterationId {
        &self.start.id
    }

    pub(super) fn task_id(&self) -> &TaskId {
        &self.task.id
    }

    pub(super) fn began(&self) -> Timestamp {
        self.start.at
    }
}
