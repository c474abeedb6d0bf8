//! The success figures of a loop's iterations: how much of the work landed verified, how many
//! iterations a task took, how long a failure was in the way.
//!
//! Adds up only, one record after the other in the order in which they happened. Rounds nothing, and
//! makes no figure up: what can't be known is `None`.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;
use serde::Serialize;

use crate::{record::IterationRecord, time::seconds};

/// The state of an iteration's commit since it landed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    Stands,
    /// A person took it back: it is an iteration, and cost what it cost, and nothing came of it.
    TakenBack,
}

/// Iterations as far as they were seen.
#[derive(Debug, Clone, Default)]
pub struct SuccessMetrics {
    iterations: usize,
    verified_commits: usize,
    completed: BTreeSet<String>,
    verified: BTreeSet<String>,
    cost_usd: Option<f64>,
    /// Since when each task that failed has not recovered.
    failing: HashMap<String, Timestamp>,
    recoveries: usize,
    recovery_seconds: f64,
}

/// The figures. The JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SuccessFigures {
    /// Iterations that ended in a commit which commands stood behind.
    pub verified_commits: usize,
    /// Their share of all iterations, from 0 to 1.
    pub verified_share: Option<f64>,
    /// Tasks that were completed, verified or not.
    pub completed_tasks: usize,
    /// Of them those that commands stood behind.
    pub verified_tasks: usize,
    /// All iterations, also those that came to nothing, for each completed task.
    pub iterations_per_task: Option<f64>,
    /// Failures that a verified attempt at the same task followed. Failures in a row are one.
    pub recoveries: usize,
    /// From the end of the first failure to the end of the attempt that was verified, by the clock.
    pub mean_seconds_to_recovery: Option<f64>,
    /// Tasks that failed and were not verified since.
    pub not_recovered: usize,
    /// All that was spent, for each verified task.
    pub cost_per_verified_task_usd: Option<f64>,
}

impl SuccessMetrics {
    /// Takes note of the next iteration.
    pub fn observe(&mut self, record: &IterationRecord, since: Since) {
        self.iterations += 1;
        self.cost_usd = match (self.cost_usd, record.usage.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
        if record.verdict.completes() {
            if since == Since::Stands {
                self.landed(record);
            }
        } else if record.verdict.is_progress() {
            let counts = since == Since::Stands && !record.unverified;
            self.verified_commits += usize::from(counts && record.git.result_commit.is_some());
        } else if record.verdict.is_charged() && record.diagnoses.is_none() {
            // An outcome that is no failure, such as a usage limit, is nothing to recover from.
            let since = self.failing.entry(record.task_id.clone());
            since.or_insert(record.ended_at);
        }
    }

    fn landed(&mut self, record: &IterationRecord) {
        self.completed.insert(record.task_id.clone());
        if !record.unverified {
            self.verified.insert(record.task_id.clone());
            self.verified_commits += usize::from(record.git.result_commit.is_some());
        }
        if let Some(since) = self.failing.remove(&record.task_id) {
            self.recoveries += 1;
            self.recovery_seconds += seconds(since, record.ended_at);
        }
    }

    pub fn figures(&self) -> SuccessFigures {
        let (iterations, completed) = (self.iterations as f64, self.completed.len());
        SuccessFigures {
            verified_commits: self.verified_commits,
            verified_share: per(self.verified_commits as f64, self.iterations),
            completed_tasks: completed,
            verified_tasks: self.verified.len(),
            iterations_per_task: per(iterations, completed),
            recoveries: self.recoveries,
            mean_seconds_to_recovery: per(self.recovery_seconds, self.recoveries),
            not_recovered: self.failing.len(),
            cost_per_verified_task_usd: self
                .cost_usd
                .and_then(|cost| per(cost, self.verified.len())),
        }
    }
}

fn per(what: f64, each: usize) -> Option<f64> {
    (each > 0).then(|| what / each as f64)
}

#[cfg(test)]
mod tests;
