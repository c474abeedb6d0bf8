//! What one run of the command comes to: how many iterations, how many in a row without fruit.
//!
//! Only counts; what follows from the figures is decided in the core.

use std::collections::HashSet;

use ralph_core::{
    agent::Usage,
    dollars::Dollars,
    economics::{Alert, Budget},
    gutter::Circling,
    health::HealthState,
    task::TaskId,
    termination::{LimitRow, Settled, Sick},
    verdict::Verdict,
};

use super::foresee::Foreseen;
use super::notes::Moved;
use crate::agent::CostLimit;

/// What this run of the command comes to.
#[derive(Debug, Default)]
pub(super) struct RunTally {
    pub(super) iterations: u32,
    /// Those of them that looked for a cause, and are no attempts.
    pub(super) diagnoses: u32,
    pub(super) errors_in_a_row: u32,
    /// How well the last agent did.
    pub(super) health: HealthState,
    /// Iterations in a row that ended with a sick agent.
    pub(super) sick: Option<Sick>,
    pub(super) fruitless: u32,
    pub(super) fruitless_tasks: HashSet<TaskId>,
    pub(super) usage: Usage,
    /// What the iterations that have ended cost.
    pub(super) spent: Dollars,
    /// Models of which it was said that they have no price.
    pub(super) unpriced: HashSet<String>,
    /// The last task that was set aside because its own budget denied it.
    pub(super) unfunded: Option<Alert>,
    pub(super) foreseen: Foreseen,
    pub(super) last: Option<LastIteration>,
    /// Whether the last iteration changed anything, where it was handed over.
    pub(super) moved: Moved,
    /// The number of the last iteration.
    pub(super) number: u64,
    /// Usage limits that were met in a row.
    pub(super) limit: Option<LimitRow>,
    /// The budget that is used up first, as it stood before the last iteration.
    pub(super) budget: Option<CostLimit>,
    /// Budgets of which it was said that they are nearly used up, or that they are.
    pub(super) alerted: Vec<(Budget, bool)>,
}

#[derive(Debug)]
pub(super) struct LastIteration {
    pub(super) task: TaskId,
    pub(super) verdict: Verdict,
    pub(super) settled: Settled,
    pub(super) circling: Circling,
}

impl RunTally {
    /// The iterations that a limit of them is about: a diagnosis is part of the attempt after it.
    pub(super) fn counted(&self) -> u32 {
        self.iterations - self.diagnoses
    }

    /// Nobody could work, which says nothing of the task or the loop: nothing is counted.
    pub(super) fn no_iteration(
        &mut self,
        task: &TaskId,
        verdict: &Verdict,
        limit: Option<LimitRow>,
    ) {
        self.last = Some(LastIteration {
            task: task.clone(),
            verdict: verdict.clone(),
            settled: Settled::NotYet,
            circling: Circling::default(),
        });
        self.limit = limit;
    }

    /// Whether an iteration without fruit says nothing against the loop. A question is no failure, and
    /// neither is a diagnosis: others may be ready that have none. Nor is a handoff, as long as each
    /// agent adds to the work.
    fn goes_on(&self, verdict: &Verdict) -> bool {
        match verdict {
            Verdict::Escalated | Verdict::Diagnosed => true,
            Verdict::Handoff { .. } => self.moved == Moved::Yes,
            _ => false,
        }
    }

    pub(super) fn note(&mut self, task: &TaskId, verdict: &Verdict) {
        self.no_iteration(task, verdict, None);
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
        self.sick = self.sick_after(verdict);
        if matches!(verdict, Verdict::Verified | Verdict::Progress) {
            self.fruitless = 0;
            self.fruitless_tasks.clear();
        } else if !self.goes_on(verdict) {
            self.fruitless += 1;
            self.fruitless_tasks.insert(task.clone());
        }
    }

    /// One that landed its work was well enough, whatever it looked like.
    fn sick_after(&self, verdict: &Verdict) -> Option<Sick> {
        match (self.health, verdict) {
            (_, Verdict::Verified | Verdict::Progress) => None,
            (state @ (HealthState::Failing | HealthState::Terminated), _) => Some(Sick {
                in_a_row: self.sick.map_or(0, |sick| sick.in_a_row) + 1,
                state,
            }),
            (HealthState::Healthy | HealthState::Degraded | HealthState::Stuck, _) => None,
        }
    }
}
