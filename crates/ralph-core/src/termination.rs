//! Decides what follows from an iteration: what becomes of its task, and whether the loop goes on.
//!
//! One pure function, asked after every iteration and before the first. It changes nothing; the
//! driver acts on the answer. The order in which the rules speak, the first one that has something to
//! say being the answer:
//!
//! 1. the agent can't work at all, a refusal halts the loop, the iteration was stopped by its cost;
//! 2. what becomes of the task: a question, circles, attempts. Nothing of it where a sick agent ends
//!    the loop (circuit breaker, health failure, errors in a row): that is not held against the task;
//! 3. the first criteria of [`evaluate`]: explicit stop, goal achieved, circuit breaker, health
//!    failure, errors in a row;
//! 4. a task out of attempts that halts the loop, `--once`, no task ready;
//! 5. the other criteria of [`evaluate`]: budget, iterations, duration, no progress;
//! 6. a usage limit, which waits, goes on with another agent or stops.

mod limit;
mod stop;

pub use limit::{
    AfterLimit, LimitPolicy, LimitRow, OfLoop, Past, Recalled, Worker, recall, try_again_at,
};
pub use stop::Stop;

use std::time::Duration;

use jiff::Timestamp;
use limit::{after_limit, after_lost_fallback};

use crate::{
    config::{OnGutter, OnMaxAttempts},
    dollars::Dollars,
    economics::{Budget, Reserve},
    gutter::{Gutter, GutterFindings, GutterLimits, Made},
    health::HealthState,
    task::TaskId,
    verdict::{Halt, Verdict},
};

/// Attempts in a row that come to nothing before a person is asked instead of blocking the task.
const ASK_AFTER_IDLE: u32 = 3;

/// Describes what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// 0 is no limit.
    pub max_iterations: u32,
    /// The time that the loop may take; `None` is no limit.
    pub max_time: Option<Duration>,
    /// Tells what the loop may cost; `None` is no limit.
    pub max_cost: Option<Dollars>,
    pub on_max_attempts: OnMaxAttempts,
    pub gutter: GutterPolicy,
    /// Agent errors in a row.
    pub max_errors: u32,
    /// Agents in a row that were ended by their health, or did nothing but fail, and that a fresh one
    /// goes on after.
    pub max_recoveries: u32,
    /// Iterations in a row without a verified commit.
    pub max_no_progress: u32,
    pub usage: LimitPolicy,
    pub span: Span,
}

/// Describes what is done about a task that goes round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GutterPolicy {
    pub limits: GutterLimits,
    pub diagnose: Diagnose,
    pub then: OnGutter,
}

/// Tells whether an agent is to find out why, one step before a limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Diagnose {
    Yes,
    No,
}

/// The point up to which this run of the command is meant to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// Until all is complete.
    All,
    /// One iteration.
    Once,
}

/// Where the loop stands.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopSnapshot<'a> {
    /// The iteration that has just ended.
    pub last: Option<Last<'a>>,
    /// Iterations of this run of the command, but for those that only met a usage limit.
    pub iterations: u32,
    pub now: Timestamp,
    pub elapsed: Duration,
    /// Tells what this run of the command has cost, as far as agents tell.
    pub spent: Dollars,
    /// Tells what another iteration may cost, as far as that is known.
    pub reserve: Option<Reserve>,
    pub errors_in_a_row: u32,
    /// Iterations since the last verified commit, and on how many tasks.
    pub fruitless: u32,
    pub fruitless_tasks: u32,
    pub work: RemainingWork,
    /// The usage limits that the last iterations met.
    pub limit: Option<LimitRow>,
    /// When the agent's own limit resets, while another one works in its place.
    pub main_back_at: Option<Timestamp>,
    /// The signal that asked for a stop.
    pub signal: Option<i32>,
    pub agent_trouble: AgentTrouble,
}

/// The trouble that the agents of the loop have.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AgentTrouble {
    /// The circuit breaker is open, and that ends the loop.
    pub tripped: Option<Tripped>,
    /// The last iterations ended with a sick agent.
    pub sick: Option<FailingStreak>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Last<'a> {
    pub task: &'a TaskId,
    pub verdict: &'a Verdict,
    /// Charged attempts of the task, this one included.
    pub attempts: u32,
    pub max_attempts: u32,
    /// Attempts in a row that changed nothing, or did not say that the task is done; this one included.
    pub idle_in_a_row: u32,
    /// Tells whether it goes round in circles.
    pub gutter_findings: &'a GutterFindings,
    pub settled: Settled,
}

/// Tells whether what becomes of the last task was decided before: it is not decided twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    Yes,
    NotYet,
}

/// Describes what is left to do, not counting the task of the last iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingWork {
    pub all_complete: bool,
    /// A task is ready besides the one just worked on.
    pub other_ready: bool,
    /// The task just worked on could be taken again.
    pub same_ready: bool,
    /// Tasks that wait for a person's answer.
    pub questions: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Decision {
    pub task_decision: TaskDecision,
    pub stop: Option<Stop>,
    /// Tells what a usage limit makes of the next iteration.
    pub limit: Option<AfterLimit>,
}

/// Returns what follows from where the loop stands.
pub fn decide(snapshot: &LoopSnapshot<'_>, limits: &Limits) -> Decision {
    if let Some(last) = &snapshot.last
        && let Some(stop) = stop_at_once(snapshot, last)
    {
        return Decision {
            task_decision: TaskDecision::Keep,
            stop: Some(stop),
            limit: None,
        };
    }
    let criterion = evaluate(&criteria(snapshot), limits);
    let task_decision = match (&snapshot.last, &criterion) {
        (None, _) => TaskDecision::Keep,
        (Some(_), Some(stop)) if ends_for_a_sick_agent(stop) => TaskDecision::Keep,
        (Some(last), _) => task_decision(last, limits),
    };
    let mut stop = loop_stop(snapshot, &task_decision, criterion, limits);
    let mut limit = None;
    if stop.is_none() {
        match after_no_agent_worked(snapshot, limits) {
            Ok(after) => limit = after,
            Err(because) => stop = Some(because),
        }
    }
    Decision {
        task_decision,
        stop,
        limit,
    }
}

/// Returns what follows where the last iteration met a usage limit, or no agent that could stand in for it.
fn after_no_agent_worked(
    snapshot: &LoopSnapshot<'_>,
    limits: &Limits,
) -> Result<Option<AfterLimit>, Stop> {
    match (last_verdict(snapshot), snapshot.main_back_at) {
        (Some(Verdict::LimitHit { resets_at }), _) => after_limit(*resets_at, snapshot, limits),
        (Some(Verdict::AgentUnavailable { message }), Some(back_at)) => {
            after_lost_fallback(back_at, message, snapshot, limits)
        }
        _ => Ok(None),
    }
}

/// Returns true if the last iteration was none of its own: no one could work at all.
fn no_agent_worked(snapshot: &LoopSnapshot<'_>) -> bool {
    match last_verdict(snapshot) {
        Some(Verdict::LimitHit { .. }) => true,
        Some(Verdict::AgentUnavailable { .. }) => snapshot.main_back_at.is_some(),
        _ => false,
    }
}

fn last_verdict<'a>(snapshot: &LoopSnapshot<'a>) -> Option<&'a Verdict> {
    snapshot.last.as_ref().map(|last| last.verdict)
}

/// Returns what ends the loop whatever becomes of the task: nothing is held against it.
fn stop_at_once(snapshot: &LoopSnapshot<'_>, last: &Last<'_>) -> Option<Stop> {
    match last.verdict {
        // The agent of the loop comes back when its limit resets; the fallback need not.
        Verdict::AgentUnavailable { .. } if snapshot.main_back_at.is_some() => None,
        Verdict::AgentUnavailable { message } => Some(Stop::AgentUnavailable {
            message: message.clone(),
        }),
        Verdict::Refused {
            reason,
            halt: Halt::Loop,
        } => Some(Stop::Halted {
            reason: reason.clone(),
        }),
        Verdict::Failed { command, .. } if last.verdict.could_not_start() => Some(Stop::Halted {
            reason: format!("the verify command `{command}` can't be started on this machine"),
        }),
        // The money of one task is used up: others have theirs.
        Verdict::Budget { budget, .. } if !budget.is_some_and(Budget::is_of_task) => {
            Stop::by_cost(last.verdict)
        }
        Verdict::Verified
        | Verdict::Unverified
        | Verdict::Progress
        | Verdict::UnverifiedProgress
        | Verdict::Unclaimed
        | Verdict::Failed { .. }
        | Verdict::NoChange { .. }
        | Verdict::Refused { .. }
        | Verdict::Escalated
        | Verdict::Diagnosed
        | Verdict::LimitHit { .. }
        | Verdict::Interrupted
        | Verdict::Budget { .. }
        | Verdict::Handoff { .. }
        | Verdict::TimedOut { .. }
        | Verdict::Terminated { .. }
        | Verdict::Overloaded { .. }
        | Verdict::Overtaken { .. }
        | Verdict::AgentError { .. } => None,
    }
}

fn criteria(snapshot: &LoopSnapshot<'_>) -> Snapshot {
    Snapshot {
        signal: snapshot.signal,
        all_complete: snapshot.work.all_complete,
        tripped: snapshot.agent_trouble.tripped,
        sick: snapshot.agent_trouble.sick,
        errors_in_a_row: snapshot.errors_in_a_row,
        spent: snapshot.spent,
        reserve: snapshot.reserve,
        iterations: snapshot.iterations,
        elapsed: snapshot.elapsed,
        fruitless: Fruitless {
            iterations: snapshot.fruitless,
            tasks: snapshot.fruitless_tasks,
            other_ready: snapshot.work.other_ready,
        },
    }
}

fn ends_for_a_sick_agent(stop: &Stop) -> bool {
    matches!(
        stop,
        Stop::CircuitBreakerOpen { .. } | Stop::HealthFailure { .. } | Stop::Errors { .. }
    )
}

/// Why the loop ends, if it does: its criteria, and what the tasks say between them.
fn loop_stop(
    snapshot: &LoopSnapshot<'_>,
    task_decision: &TaskDecision,
    criterion: Option<Stop>,
    limits: &Limits,
) -> Option<Stop> {
    match criterion {
        Some(stop @ (Stop::Interrupted { .. } | Stop::AllComplete)) => Some(stop),
        Some(stop) if ends_for_a_sick_agent(&stop) => Some(stop),
        // Running out of something matters only where there is more to be done.
        criterion => task_stop(snapshot, task_decision, limits).or(criterion),
    }
}

/// Why there is nothing more to be done: the tasks, or what was asked for.
fn task_stop(
    snapshot: &LoopSnapshot<'_>,
    task_decision: &TaskDecision,
    limits: &Limits,
) -> Option<Stop> {
    if let (Some(last), TaskDecision::Block { .. }, OnMaxAttempts::Halt) =
        (&snapshot.last, task_decision, limits.on_max_attempts)
        && last.verdict.is_charged()
    {
        return Some(Stop::Attempts {
            task: last.task.to_string(),
            attempts: last.attempts,
            max: last.max_attempts,
        });
    }
    // One in which no one could work, or that was paused, is not the iteration that was asked for.
    match (limits.span, last_verdict(snapshot)) {
        (Span::All, _) | (Span::Once, None | Some(Verdict::Interrupted)) => {}
        (Span::Once, Some(_)) if no_agent_worked(snapshot) => {}
        (Span::Once, Some(verdict)) => {
            return Some(Stop::OnceDone {
                verdict: verdict.clone(),
            });
        }
    }
    let ready = snapshot.work.other_ready || (snapshot.work.same_ready && task_decision.goes_on());
    if ready {
        return None;
    }
    let asked = task_decision.asks() || snapshot.work.questions > 0;
    let by_cost = last_verdict(snapshot).and_then(Stop::by_cost);
    Some(if asked {
        Stop::Question
    } else {
        by_cost.unwrap_or(Stop::NothingReady)
    })
}

/// Describes what becomes of the task that was worked on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TaskDecision {
    /// It goes on as it is: completed, or to be tried again.
    Keep,
    /// A person has to answer before it is taken again.
    SetAside { question: String },
    /// It goes round in circles: its next iteration is to find out why.
    Diagnose { gutter: Gutter },
    /// It goes round in circles, and that is enough.
    Stuck { gutter: Gutter, then: OnGutter },
    /// It is out of attempts.
    Block { reason: String },
}

impl TaskDecision {
    /// Returns true if the task can be taken again.
    fn goes_on(&self) -> bool {
        match self {
            Self::Keep | Self::Diagnose { .. } => true,
            Self::SetAside { .. } | Self::Stuck { .. } | Self::Block { .. } => false,
        }
    }

    /// Returns true if a person is asked.
    fn asks(&self) -> bool {
        match self {
            Self::SetAside { .. } => true,
            Self::Stuck { then, .. } => match then {
                OnGutter::Ask | OnGutter::Pause => true,
                OnGutter::Block => false,
            },
            Self::Keep | Self::Diagnose { .. } | Self::Block { .. } => false,
        }
    }
}

/// Returns what becomes of the task that was worked on, by its own history.
pub fn task_decision(last: &Last<'_>, limits: &Limits) -> TaskDecision {
    match last.settled {
        Settled::Yes => return TaskDecision::Keep,
        Settled::NotYet => {}
    }
    if let (Verdict::Failed { .. }, Some(gutter)) = (last.verdict, &last.gutter_findings.reached) {
        return TaskDecision::Stuck {
            gutter: gutter.clone(),
            then: limits.gutter.then,
        };
    }
    match last.verdict {
        Verdict::Diagnosed => TaskDecision::Keep,
        verdict if verdict.lands() => TaskDecision::Keep,
        Verdict::Escalated => TaskDecision::SetAside {
            question: "the agent asks a person".into(),
        },
        // Nothing failed that another attempt could mend: the task itself may be the problem.
        verdict
            if verdict.is_idle()
                && last.attempts >= last.max_attempts
                && last.idle_in_a_row >= ASK_AFTER_IDLE
                && limits.on_max_attempts == OnMaxAttempts::Block =>
        {
            TaskDecision::SetAside {
                question: format!(
                    "{} attempts in a row came to nothing, the last one: {}. How should it go on?",
                    last.idle_in_a_row,
                    verdict.sentence()
                ),
            }
        }
        verdict if verdict.is_charged() && last.attempts >= last.max_attempts => {
            TaskDecision::Block {
                reason: format!(
                    "{}, the last one: {}",
                    failed_attempts(last.attempts, last.max_attempts),
                    verdict.sentence()
                ),
            }
        }
        // The money of one task is used up: others have theirs.
        Verdict::Budget { budget, .. } if budget.is_some_and(Budget::is_of_task) => {
            TaskDecision::Block {
                reason: last.verdict.sentence(),
            }
        }
        // After the last attempt no one would go by what it finds.
        Verdict::Failed { .. } => diagnosis(last.gutter_findings, limits),
        _ => TaskDecision::Keep,
    }
}

/// A diagnosis comes one step before a limit is reached, once.
fn diagnosis(gutter_findings: &GutterFindings, limits: &Limits) -> TaskDecision {
    match (
        &gutter_findings.near,
        gutter_findings.made,
        limits.gutter.diagnose,
    ) {
        (Some(gutter), Made::NotYet, Diagnose::Yes) => TaskDecision::Diagnose {
            gutter: gutter.clone(),
        },
        (_, _, _) => TaskDecision::Keep,
    }
}

/// Where a loop stands, as far as its end depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// The signal that asked for a stop.
    pub signal: Option<i32>,
    pub all_complete: bool,
    /// The circuit breaker is open, and that ends the loop.
    pub tripped: Option<Tripped>,
    pub sick: Option<FailingStreak>,
    pub errors_in_a_row: u32,
    pub spent: Dollars,
    pub reserve: Option<Reserve>,
    pub iterations: u32,
    pub elapsed: Duration,
    pub fruitless: Fruitless,
}

/// Why the circuit breaker is open, and until when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tripped {
    pub failures: u32,
    pub of: u32,
    pub until: Option<Timestamp>,
}

/// Iterations in a row whose agent was failing or had to be ended, and that landed nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FailingStreak {
    pub in_a_row: u32,
    /// The health of the last one.
    pub state: HealthState,
}

/// Iterations since the last verified commit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fruitless {
    pub iterations: u32,
    /// On how many tasks.
    pub tasks: u32,
    /// A task is ready besides the one just worked on.
    pub other_ready: bool,
}

/// Why the loop ends, if it does. The order: explicit stop, goal achieved, circuit breaker open, health
/// failure, consecutive errors, budget, iterations, duration, no progress.
pub fn evaluate(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    explicit_stop(at)
        .or_else(|| at.all_complete.then_some(Stop::AllComplete))
        .or_else(|| circuit_breaker_open(at))
        .or_else(|| health_failure(at, limits))
        .or_else(|| consecutive_errors(at, limits))
        .or_else(|| budget_exhausted(at, limits))
        .or_else(|| max_iterations(at, limits))
        .or_else(|| max_duration(at, limits))
        .or_else(|| no_progress(at, limits))
}

fn explicit_stop(at: &Snapshot) -> Option<Stop> {
    at.signal.map(|signal| Stop::Interrupted { signal })
}

fn circuit_breaker_open(at: &Snapshot) -> Option<Stop> {
    at.tripped.map(|tripped| Stop::CircuitBreakerOpen {
        failures: tripped.failures,
        of: tripped.of,
        until: tripped.until,
    })
}

/// A fresh agent goes on from the last checkpoint, so often in a row as is allowed.
fn health_failure(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let sick = at.sick.filter(|s| s.in_a_row > limits.max_recoveries)?;
    match sick.state {
        HealthState::Failing | HealthState::Terminated => {
            Some(Stop::HealthFailure { state: sick.state })
        }
        HealthState::Healthy | HealthState::Degraded | HealthState::Stuck => None,
    }
}

fn consecutive_errors(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let count = at.errors_in_a_row;
    (count >= limits.max_errors).then_some(Stop::Errors { count })
}

fn budget_exhausted(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max_usd = limits.max_cost?;
    // As with budgets: an iteration that would be cut off by the limit is not begun.
    let left = max_usd.without(at.spent);
    let unfunded = at.reserve.filter(|Reserve(reserve)| *reserve > left);
    let is_spent = at.spent >= max_usd;
    (is_spent || unfunded.is_some()).then_some(Stop::Budget {
        spent_usd: at.spent,
        max_usd,
        budget: None,
        reserve_usd: unfunded.filter(|_| !is_spent),
    })
}

fn max_iterations(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max = limits.max_iterations;
    (max > 0 && at.iterations >= max).then_some(Stop::Iterations { max })
}

fn max_duration(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let max = limits.max_time.filter(|max| at.elapsed >= *max)?;
    Some(Stop::Minutes {
        max: max.as_secs().div_ceil(60).max(1),
    })
}

/// On two tasks or more, or on one with no other ready: one hard task is no reason while there are
/// others.
fn no_progress(at: &Snapshot, limits: &Limits) -> Option<Stop> {
    let Fruitless {
        iterations,
        tasks,
        other_ready,
    } = at.fruitless;
    let counts = tasks >= 2 || !other_ready;
    (iterations >= limits.max_no_progress && counts).then_some(Stop::NoProgress { iterations })
}

/// The limit may have been lowered since the first of them.
fn failed_attempts(made: u32, most: u32) -> String {
    if made > most {
        format!("{made} attempts failed, and {most} are allowed now")
    } else {
        format!("{made} of {most} attempts failed")
    }
}

#[cfg(test)]
mod tests;
