//! Describes what one run of the command comes to: how many iterations, how many in a row without a commit.
//!
//! Only counts; what follows from the figures is decided by the loop and its criteria.

use std::{collections::HashSet, time::Duration};

use jiff::Timestamp;

use super::IterationSummary;
use crate::{
    agent::Usage,
    dollars::Dollars,
    economics::{Alert, Budget},
    gutter::GutterFindings,
    health::HealthState,
    task::TaskId,
    termination::{FailingStreak, LimitRow, Settled, Worker},
    verdict::Verdict,
};

/// Describes what this run of the command comes to.
#[derive(Debug, Clone, Default)]
pub struct LoopTally {
    pub iterations: u32,
    /// Those of them that looked for a cause, and are no attempts.
    diagnoses: u32,
    pub errors_in_a_row: u32,
    /// Iterations in a row that ended with a sick agent.
    pub sick: Option<FailingStreak>,
    /// Iterations since the last verified commit, and their tasks.
    pub fruitless: u32,
    pub fruitless_tasks: HashSet<TaskId>,
    pub usage: Usage,
    /// Tells what the iterations that have ended cost.
    pub spent: Dollars,
    /// The last task that was set aside because its own budget denied it.
    pub unfunded: Option<Alert>,
    pub last: Option<LastIteration>,
    /// The number of the last iteration.
    pub number: u64,
    /// Usage limits that were met in a row.
    pub limit: Option<LimitRow>,
    /// Budgets of which it was said that they are nearly used up, or that they are.
    pub alerted: Vec<(Budget, bool)>,
}

#[derive(Debug, Clone)]
pub struct LastIteration {
    pub task: TaskId,
    pub verdict: Verdict,
    pub settled: Settled,
    pub gutter_findings: GutterFindings,
}

/// Tells whether an agent that handed over has changed anything.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkMoved {
    #[default]
    Yes,
    No,
}

impl LoopTally {
    /// The iterations that a limit of them is about: a diagnosis is part of the attempt after it.
    pub fn counted(&self) -> u32 {
        self.iterations - self.diagnoses
    }

    /// Takes an iteration in which no agent could work: it says nothing of the task or the loop, and
    /// nothing is counted.
    pub fn add_idle(
        &mut self,
        task: &TaskId,
        verdict: &Verdict,
        gutter_findings: GutterFindings,
        limit: Option<LimitRow>,
    ) {
        self.last = Some(LastIteration {
            task: task.clone(),
            verdict: verdict.clone(),
            settled: Settled::NotYet,
            gutter_findings,
        });
        self.limit = limit;
    }

    /// Takes the figures of an iteration that a crash had cut off: it was part of an earlier run.
    pub fn add_recovered(&mut self, number: u64, usage: &Usage, spent: Dollars) {
        self.number = number;
        self.usage.add(usage);
        self.spent = self.spent.plus(spent);
    }

    /// Takes an iteration that has ended.
    pub(super) fn add(&mut self, ended: IterationSummary, at: Timestamp, max_wait: Duration) {
        self.add_recovered(ended.number, &ended.usage, ended.spent);
        let limit = match (&ended.verdict, ended.worker) {
            (Verdict::LimitHit { .. }, worker) => {
                Some(LimitRow::next(self.limit, at, worker, max_wait))
            }
            (Verdict::AgentUnavailable { .. }, Worker::Fallback) => self.limit,
            _ => {
                self.count(&ended);
                None
            }
        };
        self.add_idle(&ended.task, &ended.verdict, ended.gutter_findings, limit);
    }

    fn count(&mut self, ended: &IterationSummary) {
        let verdict = &ended.verdict;
        // Cut short by a person: it is the same iteration when it is begun again.
        if *verdict == Verdict::Interrupted {
            return;
        }
        self.iterations += 1;
        self.diagnoses += u32::from(*verdict == Verdict::Diagnosed);
        self.errors_in_a_row = if verdict.is_agent_error() {
            self.errors_in_a_row + 1
        } else {
            0
        };
        self.sick = self.sick_after(ended);
        if matches!(verdict, Verdict::Verified | Verdict::Progress) {
            self.fruitless = 0;
            self.fruitless_tasks.clear();
        } else if !says_nothing_against_the_loop(ended) {
            self.fruitless += 1;
            self.fruitless_tasks.insert(ended.task.clone());
        }
    }

    /// An agent that landed its work was well enough, whatever it looked like.
    fn sick_after(&self, ended: &IterationSummary) -> Option<FailingStreak> {
        match (ended.health, &ended.verdict) {
            (_, Verdict::Verified | Verdict::Progress) => None,
            (state @ (HealthState::Failing | HealthState::Terminated), _) => Some(FailingStreak {
                in_a_row: self.sick.map_or(0, |sick| sick.in_a_row) + 1,
                state,
            }),
            (HealthState::Healthy | HealthState::Degraded | HealthState::Stuck, _) => None,
        }
    }
}

/// A question is no failure, and neither is a diagnosis: others may be ready that have none. Nor is a
/// handoff, as long as each agent adds to the work.
fn says_nothing_against_the_loop(ended: &IterationSummary) -> bool {
    match ended.verdict {
        Verdict::Escalated | Verdict::Diagnosed => true,
        Verdict::Handoff { .. } => ended.moved == WorkMoved::Yes,
        _ => false,
    }
}
