//! When an agent is sick, what is done about it, and when no agent is started any more.
//!
//! Only what is wanted; how an agent does is found out by `health` and `breaker`.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Minutes;

/// When an agent makes no progress, and what is done about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HealthConfig {
    /// True if ralph watches how an agent does, and acts on it.
    pub enabled: bool,
    /// Minutes without progress (a changed tree, a passing command) after which an agent is stuck.
    pub stuck_minutes: Minutes,
    /// Minutes after a reminder before the next one, and after the last one before a person is asked.
    pub nudge_wait_minutes: Minutes,
    /// Reminders before a person is asked; 0 for none.
    pub max_nudges: u32,
    /// Minutes that a person has to answer before the agent is ended.
    pub escalation_wait_minutes: Minutes,
    /// Percent of the last steps that failed from which an agent is degraded.
    #[schemars(range(min = 1, max = 100))]
    pub degraded_error_percent: u8,
    /// Steps that this needs at least.
    pub degraded_steps: NonZeroU32,
    /// Steps with nothing but errors after which an agent is failing.
    pub failing_steps: NonZeroU32,
    /// The number of times the same tool call with the same result comes, without progress, before an agent is
    /// degraded.
    pub degraded_repeats: NonZeroU32,
    /// The number of times before it is stuck.
    pub stuck_repeats: NonZeroU32,
    /// The number of times in a row a fresh agent goes on after one that was failing or had to be ended; 0 for
    /// never.
    pub max_recoveries: u32,
}

impl Default for HealthConfig {
    fn default() -> Self {
        const TEN: NonZeroU32 = NonZeroU32::new(10).expect("not zero");
        Self {
            enabled: true,
            stuck_minutes: Minutes::whole(30),
            nudge_wait_minutes: Minutes::whole(10),
            max_nudges: 3,
            escalation_wait_minutes: Minutes::whole(15),
            degraded_error_percent: 50,
            degraded_steps: TEN,
            failing_steps: const { NonZeroU32::new(20).expect("not zero") },
            degraded_repeats: const { NonZeroU32::new(5).expect("not zero") },
            stuck_repeats: TEN,
            max_recoveries: 1,
        }
    }
}

impl HealthConfig {
    /// Returns what a limit of an iteration's time cuts off, if it does: what would come, and when at the
    /// earliest.
    pub(super) fn cut_by(&self, limit: Minutes) -> Option<(&'static str, Minutes)> {
        if !self.enabled {
            return None;
        }
        let stuck = self.stuck_minutes.duration();
        let asked = stuck + self.nudge_wait_minutes.duration() * self.max_nudges;
        let ended = asked + self.escalation_wait_minutes.duration();
        [
            ("reminded", stuck),
            ("asked about", asked),
            ("ended", ended),
        ]
        .into_iter()
        .find(|(_, at)| limit.duration() < *at)
        .map(|(what, at)| (what, Minutes::of(at)))
    }
}

/// When agents fail so often that none is started for a while.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BreakerConfig {
    /// Failures of the agent or its API that open the circuit breaker.
    pub failures: NonZeroU32,
    /// Among so many of the last iterations.
    pub window: NonZeroU32,
    /// Minutes until it lets one iteration through.
    pub cooldown_minutes: Minutes,
    /// What to do when it opens: `stop` the loop, or `wait` and try one iteration.
    pub on_open: OnOpen,
}

/// What to do when the circuit breaker opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnOpen {
    Stop,
    Wait,
}

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failures: const { NonZeroU32::new(5).expect("not zero") },
            window: const { NonZeroU32::new(10).expect("not zero") },
            cooldown_minutes: Minutes::whole(10),
            on_open: OnOpen::Stop,
        }
    }
}
