//! `health.json` of a loop: how its agent does, for outside observers.
//!
//! The JSON form is a contract (docs/json.md). Rewritten as the loop goes, so that its age tells
//! whether the loop itself still works; nothing in it is evidence of anything.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{HealthState, InterventionLevel};
use crate::{breaker::BreakerState, id::LoopId};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HealthReport {
    pub loop_id: LoopId,
    /// The process of the loop, and when that began in the ticks of the kernel: a number alone may be
    /// someone else's by now.
    pub pid: u32,
    pub pid_started: u64,
    pub worktree: String,
    /// When this was written: the loop's own heartbeat.
    pub written_at: Timestamp,
    /// Tells what the loop does: `agent`, `verify`, `wait`, `pause`, `between`.
    pub doing: String,
    /// No sign of life is expected before this: a wait, a pause, a long verify command.
    pub quiet_until: Option<Timestamp>,
    pub iteration: Option<u64>,
    pub task_id: Option<String>,
    pub agent: Option<String>,
    pub state: HealthState,
    /// Since when it is in that state.
    pub since: Timestamp,
    /// The last thing that the agent's stream said.
    pub last_heartbeat: Option<Timestamp>,
    /// The last time that something came of it: a changed tree, a passing command.
    pub last_progress: Option<Timestamp>,
    /// Steps that failed, of the last ones.
    pub errors: u32,
    pub steps: u32,
    /// The number of times that the same tool call came again.
    pub repeats: u32,
    pub nudges: u32,
    /// The last intervention, if there was one.
    pub intervention: Option<InterventionLevel>,
    /// A person is asked, and this is how long ralph waits for the answer.
    pub answer_until: Option<Timestamp>,
    pub breaker: BreakerState,
}
