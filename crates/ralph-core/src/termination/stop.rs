//! Why a loop stopped, what that means to a caller, and what a person can do about it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    dollars::Dollars,
    economics::{Alert, Budget, Reserve, Scope},
    health::HealthState,
    verdict::Verdict,
};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "why",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Stop {
    AllComplete,
    /// `--once`: its iteration is over.
    OnceDone {
        verdict: Verdict,
    },
    Iterations {
        max: u32,
    },
    Minutes {
        max: u64,
    },
    /// The amount that this run of the command may cost is used up.
    Budget {
        spent_usd: Dollars,
        max_usd: Dollars,
        /// The budget that it was, where it is not the limit of the command itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
        /// Tells what another iteration may cost, where the rest can't fund that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reserve_usd: Option<Reserve>,
    },
    /// A budget of the configuration is used up, or could not fund another iteration.
    BudgetDenied(Alert),
    /// A task is out of attempts, and that is to halt the loop.
    Attempts {
        task: String,
        attempts: u32,
        max: u32,
    },
    /// Work is left, and none of it can be taken.
    NothingReady,
    /// All that is left waits for a person's answer, or for a task that does.
    Question,
    /// A person answered a question by ending the loop.
    Aborted,
    /// Something happened that a person must look at before anything else is done.
    Halted {
        reason: String,
    },
    Errors {
        count: u32,
    },
    NoProgress {
        iterations: u32,
    },
    /// Too many of the last iterations failed: no agent is started before `until`.
    CircuitBreakerOpen {
        failures: u32,
        of: u32,
        until: Option<Timestamp>,
    },
    /// The agent was ended because it made no progress, or does nothing but fail.
    HealthFailure {
        state: HealthState,
    },
    UsageLimit {
        resets_at: Option<Timestamp>,
    },
    AgentUnavailable {
        message: String,
    },
    Interrupted {
        signal: i32,
    },
    /// ralph itself could not go on: git, the disk, the database or a file failed.
    Failed {
        error: String,
        exit_code: u8,
    },
}

impl Stop {
    /// Returns what a verdict says that is about money.
    pub(super) fn by_cost(verdict: &Verdict) -> Option<Self> {
        match verdict {
            Verdict::Budget {
                spent_usd,
                max_usd,
                budget,
            } => Some(Self::Budget {
                spent_usd: *spent_usd,
                max_usd: *max_usd,
                budget: *budget,
                reserve_usd: None,
            }),
            _ => None,
        }
    }

    /// The exit code of `ralph run`.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::AllComplete => 0,
            Self::OnceDone { verdict } => match verdict {
                Verdict::Verified | Verdict::Unverified => 0,
                Verdict::Escalated | Verdict::Refused { .. } => 4,
                Verdict::Budget { .. } => 5,
                Verdict::LimitHit { .. } | Verdict::AgentUnavailable { .. } => 6,
                Verdict::Progress
                | Verdict::UnverifiedProgress
                | Verdict::Handoff { .. }
                | Verdict::Unclaimed
                | Verdict::Diagnosed
                | Verdict::Failed { .. }
                | Verdict::NoChange { .. }
                | Verdict::Interrupted
                | Verdict::TimedOut { .. }
                | Verdict::Terminated { .. }
                | Verdict::Overloaded { .. }
                | Verdict::Overtaken { .. }
                | Verdict::AgentError { .. } => 3,
            },
            Self::Iterations { .. } | Self::Minutes { .. } => 3,
            Self::NothingReady
            | Self::Question
            | Self::Aborted
            | Self::Halted { .. }
            | Self::Attempts { .. } => 4,
            Self::Budget { .. } | Self::BudgetDenied(_) => 5,
            Self::UsageLimit { .. } | Self::AgentUnavailable { .. } => 6,
            Self::Errors { .. }
            | Self::NoProgress { .. }
            | Self::CircuitBreakerOpen { .. }
            | Self::HealthFailure { .. } => 7,
            Self::Interrupted { signal } => u8::try_from(128 + signal).unwrap_or(130),
            Self::Failed { exit_code, .. } => *exit_code,
        }
    }

    /// Which rule spoke, with its figures, in one sentence without a full stop.
    pub fn sentence(&self) -> String {
        match self {
            Self::AllComplete => "all tasks are complete".into(),
            Self::OnceDone { verdict } => {
                format!("one iteration, as asked: {}", verdict.sentence())
            }
            Self::Iterations { max: 1 } => "the limit of one iteration is reached".into(),
            Self::Iterations { max } => format!("the limit of {max} iterations is reached"),
            Self::Minutes { max: 1 } => "the limit of one minute is reached".into(),
            Self::Minutes { max } => format!("the limit of {max} minutes is reached"),
            Self::Budget {
                spent_usd,
                max_usd,
                budget: Some(budget),
                ..
            } => Alert::of_limit(*budget, *spent_usd, *max_usd).sentence(),
            Self::Budget {
                spent_usd,
                max_usd,
                budget: None,
                reserve_usd: Some(Reserve(reserve)),
            } => format!(
                "the limit of {max_usd} can't fund another iteration: {} are left, and one may cost {reserve}",
                max_usd.without(*spent_usd)
            ),
            Self::Budget {
                spent_usd,
                max_usd,
                budget: None,
                reserve_usd: None,
            } => {
                format!("the limit of {max_usd} is reached: {spent_usd} are spent")
            }
            Self::BudgetDenied(alert) => alert.sentence(),
            Self::Attempts {
                task,
                attempts,
                max,
            } => format!("task {task} is out of attempts: {attempts} of {max} failed"),
            Self::NothingReady => "work is left, but no task is ready".into(),
            Self::Question => "what is left waits for a person's answer".into(),
            Self::Aborted => "ended by a person instead of an answer".into(),
            Self::Halted { reason } => format!("halted: {reason}"),
            Self::Errors { count } => format!("the agent failed {count} times in a row"),
            Self::NoProgress { iterations } => {
                format!("{iterations} iterations in a row without a verified commit")
            }
            Self::CircuitBreakerOpen {
                failures,
                of,
                until,
            } => {
                let until = until.map(|at| format!("; it lets one through at {at}"));
                format!(
                    "the circuit breaker is open: {failures} of the last {of} iterations failed{}",
                    until.unwrap_or_default()
                )
            }
            Self::HealthFailure { state } => match state {
                HealthState::Failing => "agents do nothing but fail".into(),
                HealthState::Terminated => {
                    "agents make no progress, and the last one had to be ended".into()
                }
                HealthState::Healthy | HealthState::Degraded | HealthState::Stuck => {
                    format!("agents do not get on: the last one is {}", state.as_str())
                }
            },
            Self::UsageLimit {
                resets_at: Some(at),
            } => {
                format!("the agent's usage limit is reached, it resets at {at}")
            }
            Self::UsageLimit { resets_at: None } => "the agent's usage limit is reached".into(),
            Self::AgentUnavailable { message } => format!("the agent is not available: {message}"),
            Self::Interrupted { signal: 1 } => "stopped: the terminal is gone (SIGHUP)".into(),
            Self::Interrupted { signal: 2 } => "stopped by Ctrl-C (SIGINT)".into(),
            Self::Interrupted { signal: 15 } => "asked to stop (SIGTERM)".into(),
            // A process that is killed says nothing: who began another loop in its place did.
            Self::Interrupted { signal: 9 } => "its process was gone, and it was given up".into(),
            Self::Interrupted { signal } => format!("stopped by signal {signal}"),
            Self::Failed { error, .. } => format!("ralph can't go on: {error}"),
        }
    }

    /// The sentence for the end of a loop that completed so many tasks with nothing to verify them.
    pub fn end_sentence(&self, unverified: usize) -> String {
        match (self, unverified) {
            (Self::AllComplete, 1..) => {
                format!("{}, {unverified} of them unverified", self.sentence())
            }
            (_, _) => self.sentence(),
        }
    }

    /// Returns what the user can do.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::AllComplete => None,
            Self::OnceDone { verdict } if verdict.completes() => None,
            Self::OnceDone { .. } => {
                Some("`ralph logs` shows what happened; `ralph run --once` tries again")
            }
            Self::Iterations { .. } => {
                Some("`ralph run` goes on; `--max-iterations N` allows more")
            }
            Self::Minutes { .. } => Some("`ralph run` goes on; `loop.max_minutes` allows more"),
            Self::Budget {
                budget: Some(budget),
                ..
            } => Some(more_money(budget)),
            Self::Budget { budget: None, .. } => {
                Some("`ralph run` goes on with the work that was kept; `--max-cost N` allows more")
            }
            Self::BudgetDenied(alert) => Some(more_money(&alert.budget)),
            Self::Attempts { .. } => Some(
                "`ralph logs` shows what failed; `ralph retry --task ID` opens the task again, or set `loop.on_max_attempts: block`",
            ),
            Self::NothingReady => Some(
                "`ralph status` shows what blocks what; `ralph unblock --task ID` or `ralph retry --task ID` opens a task again",
            ),
            Self::Question => Some(
                "`ralph escalations` shows the questions, `ralph answer` answers; then `ralph run` goes on",
            ),
            Self::Aborted => {
                Some("the question stays open: `ralph answer` answers it, then `ralph run` goes on")
            }
            Self::Halted { .. } => {
                Some("look at `ralph logs` and `git log`, then `ralph run` goes on")
            }
            Self::Errors { .. } => Some(
                "`ralph logs` shows what it said; if its API is down, `ralph run` later; `ralph \
                     doctor` checks the agent",
            ),
            Self::NoProgress { .. } => Some(
                "`ralph logs` shows the last one; a clearer task often helps, and an agent must say \
                     that the task is complete",
            ),
            Self::CircuitBreakerOpen { .. } => Some(
                "`ralph logs` shows what failed, `ralph health` the breaker; `ralph run` tries one iteration",
            ),
            Self::HealthFailure { .. } => Some(
                "`ralph logs` shows where it got stuck; a smaller task often helps; `ralph run` goes on from the last checkpoint",
            ),
            Self::UsageLimit { .. } => {
                Some("`ralph run` goes on after the reset; no attempt was charged")
            }
            Self::AgentUnavailable { .. } => Some(
                "`ralph doctor` checks its program; login, key and model are set in the agent or in \
                     ralph.yaml; `--agent` chooses another one",
            ),
            Self::Interrupted { .. } => Some("`ralph run` goes on where it stopped"),
            Self::Failed { .. } => Some("once that is put right, `ralph run` goes on"),
        }
    }
}

/// Returns what can be done about a budget of the configuration.
fn more_money(budget: &Budget) -> &'static str {
    match budget.scope {
        Scope::Organisation => {
            "`ralph cost` shows what was spent; `budgets` in ralph.yaml, or `ralph db budget set` where it is a team's, allows more, and `ralph run` goes on"
        }
        Scope::Project | Scope::Loop => {
            "`ralph cost` shows what was spent; `budgets` in ralph.yaml allows more, and `ralph run` goes on"
        }
        Scope::Task => {
            "`ralph cost` shows what was spent; `budgets` in ralph.yaml allows more, then `ralph unblock --task ID` opens the task again"
        }
    }
}
