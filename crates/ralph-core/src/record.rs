//! The record of one iteration: what is kept of it in the journal and in `.ralph/logs/`.
//!
//! The JSON form is a contract (docs/json.md). It holds what happened, never an opinion of it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{ContextUse, Usage},
    event::KeptEvent,
    gutter::{Diagnosis, Gutter, Trace},
    health::HealthState,
    id::{IterationId, LoopId},
    iteration::ChangedFile,
    signal::{ClosingBlock, Escalation, FollowUp},
    task::suggested::SuggestedTask,
    verdict::{IterationOutcome, Verdict},
    verify::TestCounts,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationRecord {
    pub iteration_id: IterationId,
    pub iteration: u64,
    pub loop_id: LoopId,
    pub task_id: String,
    pub title: String,
    pub attempt: u32,
    pub started_at: Timestamp,
    pub ended_at: Timestamp,
    pub runs: Vec<RunRecord>,
    #[serde(flatten)]
    pub git: GitRecord,
    pub verification: Vec<VerificationRecord>,
    /// No command at all stood behind the verdict.
    pub unverified: bool,
    #[serde(flatten)]
    pub verdict: Verdict,
    pub outcome: IterationOutcome,
    /// Tells what the next attempt is told.
    pub feedback: Option<String>,
    pub flags: Vec<String>,
    /// Tasks that the agent wrote into task files, from which they were taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggested: Vec<SuggestedTask>,
    pub said: AgentStatements,
    /// Tells what a person said that stood in its prompts, or was told to it while it ran.
    #[serde(default)]
    pub guidance: Vec<Guidance>,
    /// Tells what later attempts are compared with; of an attempt whose verification failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
    /// It was no attempt: it was to find out why this happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnoses: Option<Gutter>,
    /// Tells what came of that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Diagnosis>,
    pub usage: Usage,
    /// Says how well its last agent did when it ended.
    #[serde(default)]
    pub health_state: HealthState,
    /// Changes of health and interventions while its agents ran, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<KeptEvent>,
}

/// The flag of an iteration that ended because ralph itself was gone. It counts as one, though the same attempt
/// is made again: its agent has worked, and was paid.
pub const CUT_OFF: &str = "ralph was gone before its agent had ended";

impl IterationRecord {
    /// Everything that its agents suggest as tasks: in their closing block, and in task files.
    pub fn follow_ups(&self) -> Vec<FollowUp> {
        let written = self.suggested.iter().map(|one| FollowUp {
            title: one.title().to_owned(),
            description: one.task.text.description.clone(),
        });
        let said = self.said.block.follow_ups.iter().cloned();
        said.chain(written).collect()
    }
}

/// Describes what a person added to a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guidance {
    pub text: String,
    /// The one who said it.
    pub by: String,
    pub at: Timestamp,
}

/// One run of an agent: the seed's invocation metadata.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunRecord {
    pub run: u32,
    pub agent: String,
    pub command: Vec<String>,
    pub model: Option<String>,
    pub version: Option<String>,
    pub ending: crate::agent::Ending,
    pub prompt_bytes: u64,
    pub turns: Option<u32>,
    /// The fill of the context, turn by turn.
    #[serde(default)]
    pub context: ContextUse,
    pub denied: Vec<String>,
    pub seconds: f64,
    pub usage: Usage,
    /// The hosts that it asked for, where its network is limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<crate::agent::Connection>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GitRecord {
    pub branch: String,
    pub base_commit: String,
    pub result_commit: Option<String>,
    /// Where the work of an attempt that did not land is kept.
    pub kept_ref: Option<String>,
    pub files_changed: Vec<ChangedFile>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VerificationRecord {
    /// Which run of an agent it followed.
    pub run: u32,
    pub command: String,
    pub outcome: String,
    pub passed: bool,
    pub seconds: f64,
    pub against_baseline: String,
    pub signature: Option<String>,
    pub tail: String,
    /// The tests that it ran, where a known runner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<TestCounts>,
}

/// Describes what the agent said about its work. None of it is evidence.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentStatements {
    pub claimed: bool,
    pub foreign_claims: Vec<String>,
    pub promise: Option<String>,
    pub escalation: Option<Escalation>,
    pub block: ClosingBlock,
    /// The end of its final message.
    pub final_message: String,
}
