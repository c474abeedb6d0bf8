//! When ralph stops: limits of a run, an iteration, a task, and of what is logged.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Minutes;
use crate::dollars::Dollars;

/// When ralph stops: limits of a run, an iteration and a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LoopConfig {
    /// Iterations of one run of the command.
    pub max_iterations: NonZeroU32,
    /// Minutes of one run of the command; none for no limit.
    pub max_minutes: Option<Minutes>,
    /// Dollars that one run of the command may cost, as far as the agent tells; none for no limit.
    pub max_cost_usd: Option<Dollars>,
    /// Minutes after the start of an iteration at which its agent is stopped; verify commands have
    /// their own limit.
    pub max_minutes_per_iteration: Minutes,
    /// Attempts at a task before it is set aside as blocked.
    pub max_attempts: NonZeroU32,
    /// What to do when a task is out of attempts: `block` it and go on with others, or `halt` the loop.
    pub on_max_attempts: OnMaxAttempts,
    /// The number of times within an iteration an agent is started again to repair a failed verification;
    /// 0 for never.
    pub max_verify_retries: u32,
    /// Errors of the agent or its API in a row before the loop stops.
    pub max_errors: NonZeroU32,
    /// Iterations in a row without a verified commit before the loop stops.
    pub max_no_progress: NonZeroU32,
    /// Minutes an agent may be silent while none of its tools runs.
    pub idle_minutes: Minutes,
    /// Minutes an agent may be silent while one of its tools runs.
    pub idle_minutes_tool: Minutes,
    /// Seconds a process is given to end by itself before it is killed.
    pub stop_grace_seconds: NonZeroU32,
    /// When ralph finds that work goes round in circles.
    pub gutter: GutterConfig,
}

impl Default for LoopConfig {
    fn default() -> Self {
        const THREE: NonZeroU32 = NonZeroU32::new(3).expect("not zero");
        Self {
            max_iterations: const { NonZeroU32::new(50).expect("not zero") },
            max_minutes: None,
            max_cost_usd: None,
            max_minutes_per_iteration: Minutes::whole(90),
            max_attempts: THREE,
            on_max_attempts: OnMaxAttempts::Block,
            max_verify_retries: 1,
            max_errors: THREE,
            max_no_progress: THREE,
            idle_minutes: Minutes::whole(15),
            idle_minutes_tool: Minutes::whole(60),
            stop_grace_seconds: const { NonZeroU32::new(10).expect("not zero") },
            gutter: GutterConfig::default(),
        }
    }
}

/// What to do when a task is out of attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnMaxAttempts {
    Block,
    Halt,
}

/// When ralph finds that work goes round in circles.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GutterConfig {
    /// Attempts in a row whose verification fails in the same way before a person is asked.
    pub max_same_failure: NonZeroU32,
    /// Attempts in a row that change the same files again, and make nothing better, before a person is
    /// asked.
    pub max_churn_commits: NonZeroU32,
    /// Attempts in a row that undo what the one before did before a person is asked.
    pub max_oscillations: NonZeroU32,
    /// True if an agent is to find out why, one step before one of these limits is reached.
    pub diagnose: bool,
    /// What to do when a limit is reached: `ask` a person, ask and `pause` the loop, or `block` the task.
    pub then: OnGutter,
}

impl Default for GutterConfig {
    fn default() -> Self {
        const TWO: NonZeroU32 = NonZeroU32::new(2).expect("not zero");
        Self {
            max_same_failure: const { NonZeroU32::new(3).expect("not zero") },
            max_churn_commits: TWO,
            max_oscillations: TWO,
            diagnose: true,
            then: OnGutter::Ask,
        }
    }
}

/// What to do with a task that goes round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnGutter {
    Ask,
    Pause,
    Block,
}

/// What is kept of an agent's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LogsConfig {
    /// Megabytes of one iteration's log; beyond that its middle is dropped.
    pub max_mb: NonZeroU32,
}

impl Default for LogsConfig {
    fn default() -> Self {
        Self {
            max_mb: const { NonZeroU32::new(50).expect("not zero") },
        }
    }
}
