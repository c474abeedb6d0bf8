//! Where a loop stands, in the words that its users know, and which state may follow which.
//!
//! Only words and what follows from them: nothing here starts, stops or records anything.

use std::time::Duration;

use serde::Serialize;

use crate::{
    checkpoint::{self, ExecutionPhase, Found},
    id::{CheckpointId, LoopId},
    record::IterationRecord,
    termination::Stop,
    verdict::Verdict,
};

named! {
    pub enum LoopState {
        /// It is being set up: no iteration yet.
        Initializing = "initializing",
        Running = "running",
        /// A person let it rest.
        Paused = "paused",
        /// A fresh agent takes over from one that was asked to wrap up.
        Handoff = "handoff",
        /// Nothing is left to do but to write that down.
        Completing = "completing",
        /// Everything asked for is complete.
        Completed = "completed",
        /// It could not go on by itself.
        Failed = "failed",
        /// A limit or a person ended it.
        Terminated = "terminated",
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a loop that is {} can't become {}", from.as_str(), to.as_str())]
pub struct IllegalTransition {
    pub from: LoopState,
    pub to: LoopState,
}

impl LoopState {
    /// Returns true if nothing follows.
    pub fn is_final(self) -> bool {
        self.followers().is_empty()
    }

    /// The next state, if it may follow this one.
    pub fn to(self, next: Self) -> Result<Self, IllegalTransition> {
        if self.followers().contains(&next) {
            return Ok(next);
        }
        Err(IllegalTransition {
            from: self,
            to: next,
        })
    }

    fn followers(self) -> &'static [Self] {
        match self {
            // A limit, or a task list without anything to do, can end it before its first iteration.
            Self::Initializing => &[
                Self::Running,
                Self::Completing,
                Self::Failed,
                Self::Terminated,
            ],
            Self::Running => &[
                Self::Paused,
                Self::Handoff,
                Self::Completing,
                Self::Failed,
                Self::Terminated,
            ],
            Self::Paused | Self::Handoff => &[Self::Running, Self::Failed, Self::Terminated],
            // What is written down at the end can fail; then it is not complete.
            Self::Completing => &[Self::Completed, Self::Failed, Self::Terminated],
            Self::Completed | Self::Failed | Self::Terminated => &[],
        }
    }

    /// The state that a loop ends in.
    pub fn after(stop: &Stop) -> Self {
        use TerminationReason as Reason;
        let is_verified = matches!(stop, Stop::OnceDone { verdict } if verdict.completes());
        match TerminationReason::of(stop) {
            Reason::GoalAchieved => Self::Completed,
            Reason::MaxIterations if is_verified => Self::Completed,
            Reason::MaxIterations
            | Reason::MaxDuration
            | Reason::BudgetExhausted
            | Reason::UsageLimit
            | Reason::ExplicitStop => Self::Terminated,
            Reason::HealthFailure
            | Reason::ConsecutiveErrors
            | Reason::CircuitBreakerOpen
            | Reason::NoProgress
            | Reason::AttemptsExhausted
            | Reason::NothingReady
            | Reason::PersonNeeded
            | Reason::Halted
            | Reason::AgentUnavailable
            | Reason::InternalError => Self::Failed,
        }
    }
}

named! {
    pub enum TerminationReason {
        GoalAchieved = "goal_achieved",
        MaxIterations = "max_iterations",
        BudgetExhausted = "budget_exhausted",
        MaxDuration = "max_duration",
        HealthFailure = "health_failure",
        ConsecutiveErrors = "consecutive_errors",
        CircuitBreakerOpen = "circuit_breaker_open",
        ExplicitStop = "explicit_stop",
        NoProgress = "no_progress",
        /// A task is out of attempts, and that is to halt the loop.
        AttemptsExhausted = "attempts_exhausted",
        /// Work is left, and none of it can be taken.
        NothingReady = "nothing_ready",
        /// The tasks that are left wait for a person's answer.
        PersonNeeded = "person_needed",
        /// A person must look at something first.
        Halted = "halted",
        /// The agent's own limit, and no wait was allowed.
        UsageLimit = "usage_limit",
        /// It is not installed or not logged in.
        AgentUnavailable = "agent_unavailable",
        /// ralph itself could not go on.
        InternalError = "internal_error",
    }
}

/// The point up to which a loop had come when it ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reached {
    pub iterations: u32,
    pub elapsed: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Termination {
    pub reason: TerminationReason,
    pub details: String,
}

impl TerminationReason {
    pub fn of(stop: &Stop) -> Self {
        match stop {
            Stop::AllComplete => Self::GoalAchieved,
            // `--once` is a limit of one iteration.
            Stop::OnceDone { .. } | Stop::Iterations { .. } => Self::MaxIterations,
            Stop::Minutes { .. } => Self::MaxDuration,
            Stop::Budget { .. } | Stop::BudgetDenied(_) => Self::BudgetExhausted,
            Stop::Attempts { .. } => Self::AttemptsExhausted,
            Stop::NothingReady => Self::NothingReady,
            Stop::Question => Self::PersonNeeded,
            Stop::Aborted | Stop::Interrupted { .. } => Self::ExplicitStop,
            Stop::Halted { .. } => Self::Halted,
            Stop::Errors { .. } => Self::ConsecutiveErrors,
            Stop::NoProgress { .. } => Self::NoProgress,
            Stop::CircuitBreakerOpen { .. } => Self::CircuitBreakerOpen,
            Stop::HealthFailure { .. } => Self::HealthFailure,
            Stop::UsageLimit { .. } => Self::UsageLimit,
            Stop::AgentUnavailable { .. } => Self::AgentUnavailable,
            Stop::Failed { .. } => Self::InternalError,
        }
    }
}

impl Termination {
    pub fn of(stop: &Stop, reached: Reached) -> Self {
        let details = match stop {
            Stop::Iterations { max } => {
                format!("Iteration {} >= {max} max", reached.iterations)
            }
            Stop::OnceDone { .. } => format!("Iteration {} >= 1 max", reached.iterations.max(1)),
            Stop::Minutes { max } => {
                format!("{} min >= {max} max", reached.elapsed.as_secs() / 60)
            }
            Stop::Budget {
                spent_usd, max_usd, ..
            } => {
                format!("${:.2} >= ${:.2} budget", spent_usd.usd(), max_usd.usd())
            }
            Stop::Errors { count } => format!("{count} consecutive errors"),
            Stop::NoProgress { iterations } => {
                format!("No completed items after {iterations} iterations")
            }
            Stop::CircuitBreakerOpen { .. } => {
                "Too many failures — circuit breaker tripped".to_owned()
            }
            Stop::HealthFailure { state } => format!("Agent health state: {}", state.as_str()),
            Stop::AllComplete
            | Stop::BudgetDenied(_)
            | Stop::Attempts { .. }
            | Stop::NothingReady
            | Stop::Question
            | Stop::Aborted
            | Stop::Halted { .. }
            | Stop::UsageLimit { .. }
            | Stop::AgentUnavailable { .. }
            | Stop::Interrupted { .. }
            | Stop::Failed { .. } => stop.sentence(),
        };
        Self {
            reason: TerminationReason::of(stop),
            details,
        }
    }
}

/// So many iterations are in the file at most, the newest.
pub const MOST_ITERATIONS: usize = 1_000;
/// So many errors at most, the newest.
pub const MOST_ERRORS: usize = 100;
/// So many items each of an iteration's lists has at most.
const MOST_ITEMS: usize = 20;

/// `status.json` of a loop: where it stands, in one bounded file that others can read.
///
/// The JSON form is a contract (docs/json.md). All of it can be made again from the journal: nothing
/// in here is evidence of anything.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopStatus {
    pub loop_id: LoopId,
    pub task_id: String,
    pub project_id: String,
    pub state: LoopState,
    pub goal: String,
    pub config: LoopStatusConfig,
    pub current_iteration: u64,
    pub iterations: Vec<IterationResult>,
    pub total_input_tokens: u64,
    pub total_output_tokens: u64,
    pub total_cost: f64,
    pub started_at: String,
    /// Empty until it has ended, and so is the next.
    pub completed_at: String,
    pub termination_reason: String,
    #[serde(serialize_with = "or_empty")]
    pub last_checkpoint_id: Option<CheckpointId>,
    pub errors: Vec<String>,
}

/// No limit is 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LoopStatusConfig {
    pub max_iterations: u32,
    pub max_cost: f64,
    pub max_duration_minutes: f64,
    pub context_threshold: f64,
    pub agent_type: String,
    /// As the agent last told it; empty until then.
    pub model: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IterationResult {
    /// Counted within the loop, from 1.
    pub iteration: u64,
    pub agent_id: String,
    pub started_at: String,
    pub completed_at: String,
    pub phase: String,
    pub completed_items: Vec<String>,
    pub pending_items: Vec<String>,
    pub errors: Vec<String>,
    #[serde(serialize_with = "or_empty")]
    pub checkpoint_id: Option<CheckpointId>,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cost: f64,
    pub handoff_trigger: String,
    pub health_state: String,
}

impl LoopStatus {
    /// Adds an iteration that has ended; what is more than the file holds goes, oldest first.
    pub fn add(&mut self, record: &IterationRecord, checkpoint_id: Option<&CheckpointId>) {
        self.current_iteration += 1;
        self.total_input_tokens += record.usage.input_tokens;
        self.total_output_tokens += record.usage.output_tokens;
        self.total_cost = exact(self.total_cost + record.usage.cost_usd.unwrap_or(0.0));
        self.show(record, self.current_iteration, checkpoint_id);
    }

    /// The same for one that the totals have already.
    pub fn show(
        &mut self,
        record: &IterationRecord,
        nth: u64,
        checkpoint_id: Option<&CheckpointId>,
    ) {
        let result = IterationResult::of(record, nth, checkpoint_id);
        if let Some(model) = record.runs.iter().rev().find_map(|run| run.model.clone()) {
            self.config.model = model;
        }
        if let Some(id) = checkpoint_id {
            self.last_checkpoint_id = Some(id.clone());
        }
        self.errors.extend(result.errors.iter().cloned());
        self.iterations.push(result);
        drop_oldest(&mut self.errors, MOST_ERRORS);
        drop_oldest(&mut self.iterations, MOST_ITERATIONS);
    }
}

impl IterationResult {
    pub fn of(record: &IterationRecord, nth: u64, checkpoint_id: Option<&CheckpointId>) -> Self {
        let title = format!("{}: {}", record.task_id, record.title);
        let follow_ups = record.follow_ups().into_iter();
        let follow_ups = follow_ups.map(|one| one.title);
        let (completed, left) = match &record.verdict {
            Verdict::Verified | Verdict::Unverified => (vec![title], None),
            Verdict::Progress | Verdict::UnverifiedProgress => (
                record.said.block.summary.iter().cloned().collect(),
                Some(title),
            ),
            _ => (Vec::new(), Some(title)),
        };
        let loop_id = record.loop_id.as_str();
        let short = loop_id.get(..8).unwrap_or(loop_id);
        Self {
            iteration: nth,
            agent_id: format!("ralph-loop-{short}-iter-{nth}"),
            started_at: record.started_at.to_string(),
            completed_at: record.ended_at.to_string(),
            phase: phase(record).as_str().to_owned(),
            completed_items: completed,
            pending_items: left
                .into_iter()
                .chain(follow_ups)
                .take(MOST_ITEMS)
                .collect(),
            errors: error(&record.verdict).into_iter().collect(),
            checkpoint_id: checkpoint_id.cloned(),
            input_tokens: record.usage.input_tokens,
            output_tokens: record.usage.output_tokens,
            cost: exact(record.usage.cost_usd.unwrap_or(0.0)),
            handoff_trigger: match &record.verdict {
                Verdict::Handoff { trigger } => trigger.as_str().to_owned(),
                _ => String::new(),
            },
            health_state: record.health_state.as_str().to_owned(),
        }
    }
}

/// The same as in the checkpoint that was written with the record.
fn phase(record: &IterationRecord) -> ExecutionPhase {
    let block = &record.said.block;
    let handoff = match &record.verdict {
        Verdict::Handoff { trigger } => Some(trigger.as_str()),
        _ => block.handoff.as_deref(),
    };
    checkpoint::phase(Found::in_record(record), block.phase.as_deref(), handoff)
}

/// Returns what went wrong, where something did: a question or a stop is no error.
fn error(verdict: &Verdict) -> Option<String> {
    let is_none = matches!(
        verdict,
        Verdict::Verified
            | Verdict::Unverified
            | Verdict::Progress
            | Verdict::UnverifiedProgress
            | Verdict::Unclaimed
            | Verdict::Escalated
            | Verdict::Diagnosed
            | Verdict::Handoff { .. }
            | Verdict::Interrupted
    );
    (!is_none).then(|| verdict.sentence())
}

/// Writes no id as an empty text.
fn or_empty<S: serde::Serializer>(id: &Option<CheckpointId>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(id.as_ref().map_or("", CheckpointId::as_str))
}

/// To a millionth of a dollar: sums of floats would show what is none of it.
fn exact(usd: f64) -> f64 {
    crate::dollars::Dollars::told(usd).usd()
}

fn drop_oldest<T>(list: &mut Vec<T>, most: usize) {
    let over = list.len().saturating_sub(most);
    list.drain(..over);
}

#[cfg(test)]
mod tests;
