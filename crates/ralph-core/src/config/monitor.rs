//! When `ralph monitor` takes a loop for hanging, and how long it waits before it goes further.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Minutes;

/// When `ralph monitor` takes a loop for hanging, and how long it waits before it goes further.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MonitorConfig {
    /// Seconds from one look at all loops to the next.
    pub interval_seconds: NonZeroU32,
    /// Seconds without a sign of life from which a loop whose process lives is taken for hanging.
    pub hang_seconds: NonZeroU32,
    /// Seconds that a hanging loop has to answer before a person is told.
    pub ask_wait_seconds: NonZeroU32,
    /// Minutes that a person has before a hanging loop is terminated.
    pub escalate_wait_minutes: Minutes,
    /// Seconds that a hanging loop has to end by itself before it is killed.
    pub grace_seconds: NonZeroU32,
    /// Restarts an hour in one working tree at most, with `--restart`; 0 for none.
    pub max_restarts: u32,
}

impl Default for MonitorConfig {
    fn default() -> Self {
        Self {
            interval_seconds: const { NonZeroU32::new(10).expect("not zero") },
            hang_seconds: const { NonZeroU32::new(60).expect("not zero") },
            ask_wait_seconds: const { NonZeroU32::new(30).expect("not zero") },
            escalate_wait_minutes: Minutes::whole(15),
            grace_seconds: const { NonZeroU32::new(30).expect("not zero") },
            max_restarts: 3,
        }
    }
}
