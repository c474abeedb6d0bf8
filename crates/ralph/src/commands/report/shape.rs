//! What a report says: the JSON form is a contract (docs/json.md). Holds what was found, and words for
//! none of it but those that are part of the contract.

use jiff::Timestamp;
use ralph_core::{
    agent::Usage,
    board::Counts,
    dollars::Dollars,
    escalation::Question,
    metrics::{Figures, Since},
    record::IterationRecord,
    verdict::Verdict,
};
use ralph_engine::store::LoopModelCost;
use serde::Serialize;

use super::economics::Economics;
use crate::commands::status::facts::{Blocked, LoopFacts, Next, OpenQuestion, Skipped};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Facts {
    pub(super) source: String,
    pub(super) loops: Vec<LoopFacts>,
    pub(super) iterations: usize,
    /// Spent in iterations.
    pub(super) seconds: f64,
    /// Of it, what agents and verify commands took.
    pub(super) agent_seconds: f64,
    pub(super) verify_seconds: f64,
    pub(super) usage: Usage,
    pub(super) metrics: Metrics,
    pub(super) commits: Vec<Commit>,
    /// Commits that a person had taken back; they are in neither list beside it.
    pub(super) reverted: Vec<Commit>,
    pub(super) completed: Vec<Completed>,
    pub(super) failed_attempts: Vec<Failed>,
    /// Of tasks that went round in circles.
    pub(super) diagnoses: Vec<Diagnosed>,
    pub(super) verification: Vec<Command>,
    pub(super) highlights: Vec<Highlight>,
    pub(super) flagged: Vec<Flagged>,
    /// What was asked in these iterations, answered or not.
    pub(super) questions: Vec<Question>,
    pub(super) suggestions: Vec<Suggested>,
    pub(super) timeline: Vec<Point>,
    pub(super) economics: Economics,
    /// Who asked which model, for the page; `ralph tokens` has it as JSON.
    #[serde(skip)]
    pub(super) parts: Vec<LoopModelCost>,
    /// How the tasks stand now; `None` where their file can't be read any more.
    pub(super) now: Option<Now>,
}

/// The success metrics.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metrics {
    #[serde(flatten)]
    pub(super) figures: Figures,
    /// How many iterations the whole feature took; `None` while it is not complete, or where the
    /// report leaves out loops that worked on it.
    pub(super) iterations_per_feature: Option<usize>,
}

/// A verify command, over all iterations.
#[derive(Debug, Serialize)]
pub(super) struct Command {
    pub(super) command: String,
    pub(super) runs: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) seconds: f64,
}

/// What an agent found out about a task that went round in circles, in its own words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnosed {
    pub(super) task_id: String,
    pub(super) iteration: u64,
    /// Which rule fired, with its figures.
    pub(super) why: String,
    pub(super) text: String,
}

/// What an agent learnt or decided, in its own words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Highlight {
    pub(super) task_id: String,
    pub(super) iteration: u64,
    pub(super) kind: HighlightKind,
    pub(super) text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HighlightKind {
    Learning,
    Decision,
}

impl HighlightKind {
    pub(super) fn verb(self) -> &'static str {
        match self {
            Self::Learning => "learnt",
            Self::Decision => "decided",
        }
    }
}

/// An iteration as a plot shows it.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Point {
    pub(super) iteration: u64,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) attempt: u32,
    pub(super) started_at: Timestamp,
    pub(super) ended_at: Timestamp,
    pub(super) verdict: &'static str,
    pub(super) unverified: bool,
    pub(super) reverted: bool,
    pub(super) commit: Option<String>,
    pub(super) tokens: u64,
    /// As the agent told it.
    pub(super) cost_usd: Option<f64>,
    /// What counts: what the agent told, else what the table of prices makes of it.
    pub(super) spent_usd: Option<Dollars>,
    #[serde(skip)]
    pub(super) look: Look,
}

/// How an iteration ended, as far as a plot tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Look {
    Verified,
    Unverified,
    /// It had landed, and a person took it back.
    TakenBack,
    /// Work that failed: the task was charged for it.
    Failed,
    /// A person is asked.
    Asks,
    /// Somebody looked for the cause.
    Diagnosed,
    /// Nobody's failure: a limit, an interruption, an API that was out of reach.
    Other,
}

impl Look {
    pub(super) fn of(record: &IterationRecord, since: Since) -> Self {
        if since == Since::TakenBack {
            return Self::TakenBack;
        }
        match (&record.verdict, record.unverified) {
            (Verdict::Verified | Verdict::Progress, false) => Self::Verified,
            (Verdict::Verified | Verdict::Progress, true) => Self::Unverified,
            (Verdict::Escalated, _) => Self::Asks,
            (Verdict::Diagnosed, _) => Self::Diagnosed,
            (verdict, _) if verdict.is_charged() => Self::Failed,
            (_, _) => Self::Other,
        }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Commit {
    pub(super) commit: String,
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
    /// The one commit that holds it by now.
    pub(super) squashed_into: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Completed {
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
    pub(super) attempt: u32,
    /// No command stood behind it.
    pub(super) unverified: bool,
    pub(super) commit: Option<String>,
    /// The commands that stood behind it.
    pub(super) verified_by: Vec<VerifiedBy>,
    /// The agent's own words about its work; no evidence of anything.
    pub(super) summary: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct VerifiedBy {
    pub(super) command: String,
    pub(super) outcome: String,
    pub(super) seconds: f64,
    pub(super) against_baseline: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Failed {
    pub(super) task_id: String,
    pub(super) title: String,
    pub(super) iteration: u64,
    pub(super) attempt: u32,
    pub(super) verdict: &'static str,
    pub(super) sentence: String,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Flagged {
    pub(super) task_id: String,
    pub(super) iteration: u64,
    pub(super) what: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Suggested {
    pub(super) number: usize,
    pub(super) iteration: i64,
    pub(super) title: String,
    pub(super) description: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Now {
    pub(super) tasks: Counts,
    pub(super) next: Option<Next>,
    pub(super) questions: Vec<OpenQuestion>,
    pub(super) blocked: Vec<Blocked>,
    pub(super) skipped: Vec<Skipped>,
}
