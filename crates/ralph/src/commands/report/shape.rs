//! What a report says: the JSON form is a contract (docs/json.md). Holds what was found, and words for
//! none of it but those that are part of the contract.

use jiff::Timestamp;
use ralph_core::{
    agent::Usage,
    board::Counts,
    dollars::Dollars,
    economics::{ComparedForecast, KnownCost},
    escalation::Question,
    id::LoopId,
    metrics::{Since, SuccessFigures},
    record::IterationRecord,
    verdict::Verdict,
};
use ralph_engine::store::LoopModelCost;
use serde::Serialize;

use super::flows::IterationFlows;
use crate::commands::{
    cost::figures::{Figures, LoopUse},
    status::facts::{Blocked, LoopFacts, Next, OpenQuestion, Skipped},
};

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReportFacts {
    pub(super) source: String,
    /// The parent task of the last loop, if it had one.
    pub(super) parent: Option<String>,
    /// These are all loops of the source with that parent.
    pub(super) whole_feature: bool,
    pub(super) loops: Vec<LoopFacts>,
    pub(super) iterations: usize,
    /// Spent in iterations.
    pub(super) seconds: f64,
    /// Of it, what agents and verify commands took.
    pub(super) agent_seconds: f64,
    pub(super) verify_seconds: f64,
    pub(super) usage: Usage,
    pub(super) metrics: ReportMetrics,
    pub(super) commits: Vec<Commit>,
    /// Commits that a person had taken back; they are in neither list beside it.
    pub(super) reverted: Vec<Commit>,
    pub(super) completed: Vec<Completed>,
    pub(super) failed_attempts: Vec<FailedAttempt>,
    /// Of tasks that went round in circles.
    pub(super) diagnoses: Vec<Diagnosed>,
    pub(super) verification: Vec<CommandRuns>,
    /// Of iterations whose verify commands ran flows in a browser.
    pub(super) flows: Vec<IterationFlows>,
    pub(super) highlights: Vec<Highlight>,
    pub(super) flagged: Vec<Flagged>,
    /// Questions from these iterations, answered or not.
    pub(super) questions: Vec<Question>,
    pub(super) suggestions: Vec<Suggested>,
    pub(super) timeline: Vec<Point>,
    pub(super) economics: Economics,
    /// Usage by caller and model, for the page; `ralph tokens` has it as JSON.
    #[serde(skip)]
    pub(super) parts: Vec<LoopModelCost>,
    /// The present state of the tasks; `None` if their file can't be read any more.
    pub(super) now: Option<Now>,
}

impl ReportFacts {
    /// The branch of the last loop.
    pub(super) fn branch(&self) -> &str {
        self.loops.last().map_or("", |row| row.branch.as_str())
    }

    /// The cost that counts; of journals without calls, what agents reported.
    pub(super) fn cost(&self) -> KnownCost {
        let total = &self.economics.used.total;
        if total.calls > 0 {
            return total.spent();
        }
        KnownCost {
            spent_usd: self.usage.told(),
            ..KnownCost::default()
        }
    }
}

/// The tokens and the money that were used, and whether that was foreseen.
#[derive(Debug, Default, Serialize)]
pub(super) struct Economics {
    #[serde(flatten)]
    pub(super) used: LoopUse,
    /// The dearest first.
    pub(super) models: Vec<ModelSum>,
    pub(super) forecasts: Vec<LoopForecast>,
}

#[derive(Debug, Serialize)]
pub(super) struct ModelSum {
    /// None for calls to an unnamed model.
    pub(super) model: Option<String>,
    #[serde(flatten)]
    pub(super) figures: Figures,
}

/// The forecast of a loop and the real cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoopForecast {
    pub(super) loop_id: LoopId,
    #[serde(flatten)]
    pub(super) compared: ComparedForecast,
}

/// The success metrics.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ReportMetrics {
    #[serde(flatten)]
    pub(super) figures: SuccessFigures,
    /// The number of iterations of the whole feature; `None` while it is not complete, or where the
    /// report leaves out loops that worked on it.
    pub(super) iterations_per_feature: Option<usize>,
}

/// A verify command, over all iterations.
#[derive(Debug, Default, Serialize)]
pub(super) struct CommandRuns {
    pub(super) command: String,
    pub(super) runs: usize,
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) seconds: f64,
}

/// The agent's diagnosis of a task that went round in circles, in its own words.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Diagnosed {
    pub(super) task_id: String,
    pub(super) iteration: u64,
    /// Which rule fired, with its figures.
    pub(super) why: String,
    pub(super) text: String,
}

/// A learning or a decision of an agent, in its own words.
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
    /// The cost that counts: as the agent reported it, else from the price table.
    pub(super) spent_usd: Option<Dollars>,
    #[serde(skip)]
    pub(super) look: PointOutcome,
}

/// The outcome of an iteration, as far as a chart distinguishes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PointOutcome {
    Verified,
    Unverified,
    /// It had landed, and a person took it back.
    TakenBack,
    /// Work that failed: the task was charged for it.
    Failed,
    /// A person is asked.
    Asks,
    /// A diagnosis of the cause.
    Diagnosed,
    /// No failure of the work: a limit, an interruption, an API that was out of reach.
    Other,
}

impl PointOutcome {
    pub(super) fn of(record: &IterationRecord, since: Since) -> Self {
        if since == Since::TakenBack {
            return Self::TakenBack;
        }
        match (&record.verdict, record.unverified) {
            (verdict, false) if verdict.lands() => Self::Verified,
            (verdict, true) if verdict.lands() => Self::Unverified,
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
pub(super) struct FailedAttempt {
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
#[serde(rename_all = "camelCase")]
pub(super) struct Suggested {
    pub(super) number: usize,
    pub(super) iteration: u64,
    pub(super) title: String,
    pub(super) description: String,
    /// The reason why `tasks.accept_new` did not take it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_taken: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Now {
    pub(super) tasks: Counts,
    pub(super) next: Option<Next>,
    pub(super) questions: Vec<OpenQuestion>,
    pub(super) blocked: Vec<Blocked>,
    pub(super) skipped: Vec<Skipped>,
}
