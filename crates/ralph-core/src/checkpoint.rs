//! A checkpoint: where a loop stands, in one hashed document that a fresh agent or a person can go on
//! from. Chained to the one before it in its loop, so that damage shows.
//!
//! Says what happened and what was said, never more: what an agent said stays its words, and a task is
//! completed only where ralph verified it. Holds no floats, so that it has one canonical form. Reads
//! no clock and mints no id; both come as arguments.

mod chain;
mod make;

pub use chain::{Chain, Damage, Link, Sealed, canonical, seal, verify};
pub use make::{
    Before, IterationWork, Left, Moment, Spent, Stopped, continuation, run_before, summary,
};

pub use crate::signal::BlockedItem;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    id::{CheckpointId, LoopId},
    record::IterationRecord,
};

/// The shape of the document; a reader that finds a higher one knows that there may be more in it.
pub const VERSION: u32 = 1;

/// Most entries of each list: of those that grow with the loop, the newest are kept.
pub const MAX_ITEMS: usize = 20;
/// Most characters of an entry.
pub const MAX_CHARS: usize = 300;
/// Most characters of what is said to be next.
pub const MAX_NEXT: usize = 2_000;

/// The JSON form is a contract (docs/json.md); its canonical form is what is hashed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkpoint {
    pub version: u32,
    pub metadata: Metadata,
    pub execution: Execution,
    pub context: Context,
    pub metrics: Metrics,
    pub recovery: Recovery,
    /// The hash of the checkpoint before it in its loop; none before the first.
    pub previous: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub checkpoint_id: CheckpointId,
    pub loop_id: LoopId,
    /// Which one of its loop, from 1.
    pub n: u64,
    /// The newest iteration of the loop, and its task; none before the first.
    pub iteration: Option<u64>,
    pub task_id: Option<String>,
    pub agent: String,
    pub at: Timestamp,
    pub trigger: Trigger,
    /// Tells what a person noted.
    pub note: Option<String>,
}

named! {
    /// Why a checkpoint was made.
    pub enum Trigger {
        /// An iteration has ended.
        Iteration = "iteration",
        /// A phase has ended within an iteration: a fresh agent repairs what failed.
        Phase = "phase",
        /// An iteration has ended with its agent handing over.
        Handoff = "handoff",
        /// The loop has stopped.
        Stop = "stop",
        /// A person asked for it.
        Manual = "manual",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    pub phase: ExecutionPhase,
    /// Tasks that this loop completed and that were not taken back, oldest first.
    pub completed: Vec<Item>,
    /// Tells what comes next, in its order.
    pub pending: Vec<Item>,
    pub blocked: Vec<BlockedItem>,
}

/// A task, as far as a reader needs to know it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub task_id: String,
    pub title: String,
}

/// Describes what the agents of this loop said: none of it is evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Context {
    pub decisions: Vec<String>,
    pub assumptions: Vec<String>,
    pub constraints: Vec<String>,
}

/// Describes what the loop has come to so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metrics {
    pub iterations: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    /// Millionths of a dollar: whole, where a float would print in more than one way.
    pub cost_micro_usd: u64,
    /// Those that ralph saw; a crash loses those of the run that it cut off.
    pub tool_calls: u64,
    /// Tells what verification of the newest iteration found.
    pub verification: Vec<CommandResult>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    pub command: String,
    pub outcome: String,
    pub passed: bool,
}

/// The way to go back to this point, and on from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    pub branch: String,
    /// The tip of the branch.
    pub commit: String,
    /// In words.
    pub rollback: String,
    /// Tells what a fresh agent is to do.
    pub continuation_prompt: String,
}

named! {
    pub enum ExecutionPhase {
        Planning = "planning",
        Implementing = "implementing",
        Testing = "testing",
        Reviewing = "reviewing",
        Handoff = "handoff",
        Complete = "complete",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no phase")]
pub struct UnknownPhase(pub String);

impl std::str::FromStr for ExecutionPhase {
    type Err = UnknownPhase;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let word = text.trim();
        let known = Self::ALL.into_iter();
        let mut known = known.filter(|phase| word.eq_ignore_ascii_case(phase.as_str()));
        known.next().ok_or_else(|| UnknownPhase(word.to_owned()))
    }
}

/// Describes what the traces of an iteration show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Its task is complete.
    Complete,
    /// The verification commands were run.
    Checked,
    /// Files were changed, and nothing was checked.
    Changed,
    Nothing,
}

impl Found {
    pub fn in_record(record: &IterationRecord) -> Self {
        match (&record.verdict, &record.verification[..]) {
            (verdict, _) if verdict.completes() => Self::Complete,
            (_, [_, ..]) => Self::Checked,
            // What an agent left that was cut off is kept, and no one has looked at it.
            (_, []) if record.git.kept_ref.is_some() => Self::Changed,
            (_, []) if !record.git.files_changed.is_empty() => Self::Changed,
            (_, []) => Self::Nothing,
        }
    }
}

/// The phase at the end of an agent's work. `told` and `handoff` are from its closing block.
///
/// An agent's word alone never makes a task complete.
pub fn phase(found: Found, told: Option<&str>, handoff: Option<&str>) -> ExecutionPhase {
    let told = told.and_then(|told| told.parse().ok());
    match (found, handoff, told) {
        (Found::Complete, _, _) => ExecutionPhase::Complete,
        (_, Some(_), _) => ExecutionPhase::Handoff,
        // The agent thinks that it is done, and ralph did not find it so: someone has to look.
        (_, None, Some(ExecutionPhase::Complete)) => ExecutionPhase::Reviewing,
        (_, None, Some(told)) => told,
        (Found::Checked, None, None) => ExecutionPhase::Testing,
        (Found::Changed, None, None) => ExecutionPhase::Implementing,
        (Found::Nothing, None, None) => ExecutionPhase::Planning,
    }
}

/// The valid ones of these links, newest first as they are, and the first damage that was met.
pub fn valid(newest_first: &[Link]) -> (Vec<Checkpoint>, Option<Damage>) {
    let mut damage = None;
    let mut found = Vec::new();
    for (at, link) in newest_first.iter().enumerate() {
        let before = newest_first.get(at + 1);
        match link.read().and_then(|one| follows(one, link, before)) {
            Ok(checkpoint) => found.push(checkpoint),
            Err(wrong) => {
                damage.get_or_insert(wrong);
            }
        }
    }
    (found, damage)
}

/// Returns the chain before the oldest of the links, which is not checked.
fn follows(one: Checkpoint, link: &Link, before: Option<&Link>) -> Result<Checkpoint, Damage> {
    match before {
        Some(before)
            if before.loop_id == link.loop_id
                && before.n + 1 == link.n
                && one.previous.as_ref() != Some(&before.hash) =>
        {
            Err(Damage::Link {
                id: link.id.clone(),
                n: link.n,
            })
        }
        Some(_) | None => Ok(one),
    }
}

#[cfg(test)]
mod tests;
