//! When an agent hands over to a fresh one: the settings of `handoff`.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Minutes;
use crate::handoff::Share;

/// When an agent is asked to wrap up, so that a fresh one goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct HandoffConfig {
    /// True if agents are asked to wrap up at all; a person can ask for it either way.
    pub enabled: bool,
    /// The share of its context beyond which an agent hands over.
    pub context_threshold: Share,
    /// Failed steps in a row at which it does.
    pub max_errors: NonZeroU32,
    /// The share of the nearest limit of cost beyond which it does.
    pub budget_threshold: Share,
    /// Minutes before the end of its iteration's time at which it does; of a short time, half of it is
    /// left.
    pub wrap_up_minutes: Minutes,
    /// Handoffs in a row of one task; one more is a failed attempt.
    pub max_in_a_row: NonZeroU32,
}

impl Default for HandoffConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            context_threshold: Share::percent(70),
            max_errors: const { NonZeroU32::new(3).expect("not zero") },
            budget_threshold: Share::percent(80),
            wrap_up_minutes: Minutes::whole(5),
            max_in_a_row: const { NonZeroU32::new(10).expect("not zero") },
        }
    }
}
