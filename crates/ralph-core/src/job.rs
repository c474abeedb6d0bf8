//! An iteration as data: the job that goes in, and the outcome that comes out.
//!
//! Both are plain values with a version in their JSON, so that a job can be given to a worker in this
//! process or on another machine. A job says everything that an iteration has to know of its loop; it
//! knows no task board and no queue of commands.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    agent::Usage,
    checkpoint::ExecutionPhase,
    config::Config,
    dollars::Dollars,
    economics::{Budget, ModelCall, Prices},
    goal::Goal,
    gutter::{Diagnosis, Gutter, Trace},
    handoff::Handover,
    health::HealthState,
    id::{IterationId, LoopId},
    iteration::{AgentChange, Check, Failure, IterationPolicy, Lands, Purpose, StepDone},
    loop_machine::WorkMoved,
    prompt::{DiagnosisBrief, Instructions},
    record::{AgentStatements, Guidance, RunRecord, VerificationRecord},
    task::{Task, suggested::SuggestedTask},
    verdict::Verdict,
    verify::{LandedTests, VerifyReport},
};

/// The version of both shapes. A reader refuses a newer one.
pub const JOB_VERSION: u32 = 1;

/// Everything that one iteration is told.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub version: u32,
    pub iteration: IterationId,
    /// The number that people see.
    pub number: u64,
    pub loop_id: LoopId,
    pub task: Task,
    pub attempt: u32,
    pub max_attempts: u32,
    pub started_at: Timestamp,
    pub start: StartPoint,
    pub policy: IterationPolicy,
    /// Tells what made a diagnosis necessary, where it is one.
    pub diagnose: Option<Gutter>,
    pub history: AttemptHistory,
    pub prompt: PromptParts,
    pub limits: JobLimits,
    /// The goal that is worked at, where it is one.
    pub goal: Option<Goal>,
    pub config: Config,
    pub prices: Prices,
    /// Tells what the verify commands said before any work was done.
    pub baseline: Option<VerifyReport>,
}

/// Where the work starts from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StartPoint {
    pub branch: String,
    pub base_commit: String,
    /// Untracked files that were there before: never committed.
    pub untracked: Vec<String>,
    /// The ref of an earlier attempt that is continued.
    pub attempt_ref: Option<String>,
}

/// Describes what earlier iterations left for this one.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AttemptHistory {
    /// The faults of the last attempt, in one sentence.
    pub last_verdict: Option<String>,
    pub failure: Option<Failure>,
    pub diagnosis: Option<Diagnosis>,
    /// The phase that the agent of the last handoff said to be in.
    pub phase: Option<ExecutionPhase>,
    /// The tests of commands that are not part of the baseline, as the changes before it left them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub landed_tests: Vec<LandedTests>,
}

/// Parts of the prompt that come from the loop.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PromptParts {
    /// Tells what a person wrote down for every task.
    pub instructions: Option<Instructions>,
    /// Tells what agents at this task noted before.
    pub continuation: Option<String>,
    /// Tells what the agents of the task before this one noted, in short.
    pub previous_task: Option<String>,
    pub guidance: Vec<Guidance>,
    /// Tells what this task depends on and was skipped, in sentences.
    pub skipped: Vec<String>,
    /// Tells what a diagnosis is to find out.
    pub diagnose: Option<DiagnosisBrief>,
    /// The project's own template, with its name.
    pub template: Option<(String, String)>,
    /// Iterations that the loop may still begin after this one.
    pub iterations_left: u32,
    /// Tasks that are open besides this one.
    pub other_open_tasks: usize,
}

/// The time that an iteration may take, and its budget.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobLimits {
    /// Milliseconds that it may take by its own limit.
    pub own_ms: u64,
    /// Milliseconds that the run of the command has left, where that is limited.
    pub run_left_ms: Option<u64>,
    /// The length of that limit, for a message.
    pub run_minutes: u64,
    pub cost: Option<JobCost>,
}

/// Describes what may be spent in all, and what was spent of it before this iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct JobCost {
    pub spent: Dollars,
    pub max: Dollars,
    /// The budget that says so; none where the command does.
    pub budget: Option<Budget>,
}

impl Job {
    pub fn purpose(&self) -> Purpose {
        self.policy.purpose
    }

    pub fn lands(&self) -> Lands {
        self.policy.lands
    }

    /// Returns the commands that verify this task: the configured ones, then its own.
    pub fn verify_commands(&self) -> Vec<crate::task::VerifyCommand> {
        let verification = &self.config.verification;
        let mut commands = verification.commands.clone();
        for own in &self.task.verify {
            if !commands.iter().any(|known| known.is_same_as(own)) {
                commands.push(own.clone());
            }
        }
        if !commands.is_empty() {
            commands.splice(..0, verification.prepare.iter().cloned());
        }
        commands
    }
}

/// Tells whether an outcome is still to be landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LandingState {
    Due,
    /// There is nothing to land, or it has landed.
    Settled,
}

/// Describes what one iteration came to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    pub version: u32,
    pub iteration: IterationId,
    /// [`Verdict::Verified`] and [`Verdict::Progress`] say that the tree may land, not that it has.
    pub verdict: Verdict,
    pub landing: LandingState,
    /// False where it ended before an agent was started.
    pub agent_started: bool,
    /// The ref below `refs/ralph/attempts` whose commit holds the tree; none where nothing changed.
    pub tree_ref: Option<String>,
    /// Where the branch stood when the tree was written.
    pub tip: Option<String>,
    pub log: IterationLog,
    /// The number of its last run of an agent.
    pub last_run: u32,
    /// No command at all stood behind the verdict.
    pub unverified: bool,
    pub moved: WorkMoved,
    /// Tells what a failed attempt did, for comparing later ones with it.
    pub trace: Option<Trace>,
    pub diagnosis: Option<Diagnosis>,
    /// Tells what the agents were told by people.
    pub guidance: Vec<Guidance>,
}

/// Why the JSON of a job or an outcome can't be used.
#[derive(Debug, thiserror::Error)]
pub enum BadJob {
    #[error("it is of version {found}, and this ralph knows {JOB_VERSION}")]
    Version { found: u32 },
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

/// Reads the JSON of a job or an outcome, unless it is of another version.
pub fn parse_versioned<T: serde::de::DeserializeOwned>(json: &str) -> Result<T, BadJob> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let Versioned { version } = serde_json::from_str(json)?;
    if version != JOB_VERSION {
        return Err(BadJob::Version { found: version });
    }
    Ok(serde_json::from_str(json)?)
}

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
    /// Tasks that its agents wrote into task files.
    pub suggested: Vec<SuggestedTask>,
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
    /// Returns the commit that the change stands on, which is the base unless it was brought elsewhere.
    pub fn onto<'a>(&'a self, base: &'a str) -> &'a str {
        self.change.as_ref().map_or(base, |c| c.onto(base))
    }

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
                    connections: report.connections.clone(),
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
                self.suggested.extend(change.suggested.iter().cloned());
                self.change = Some(change.clone());
            }
            StepDone::Replayed { change } => self.change = Some(change.clone()),
            StepDone::Verified { check } => self.take_check(check),
            StepDone::Landed { commit } => self.commit.clone_from(commit),
            StepDone::Kept { reference } => self.kept.clone_from(reference),
            StepDone::Waited { .. }
            | StepDone::LandRefused { .. }
            | StepDone::LandMoved
            | StepDone::Overtaken { .. }
            | StepDone::Recorded
            | StepDone::OutOfBudget { .. }
            | StepDone::Interrupted => {}
        }
    }

    fn take_check(&mut self, check: &Check) {
        self.failure.clone_from(&check.failure);
        self.verification.extend(check.commands.iter().cloned());
        if let Some(change) = &check.change {
            self.flags.extend(change.flags.iter().cloned());
            let before = self.change.take().map(|change| change.flags);
            let change = self.change.insert(AgentChange::clone(change));
            change.flags.splice(..0, before.unwrap_or_default());
        }
        self.flags.extend(check.flags.iter().cloned());
        if let Some(change) = &mut self.change {
            change.flags.extend(check.flags.iter().cloned());
        }
    }

    pub fn usage(&self) -> Usage {
        let mut sum = Usage::default();
        for run in &self.runs {
            sum.add(&run.usage);
        }
        sum
    }
}

#[cfg(test)]
mod tests;
