//! The allowance of a loop: what is left of its limits when it goes on in another process.
//!
//! A person's `ralph run` gives a new one; `ralph resume` and `ralph monitor --restart` go on with the rest. The
//! journal keeps since when each limit counts, and has everything that counts against it.

use std::time::Duration;

use jiff::Timestamp;
use ralph_core::{
    dollars::Dollars,
    economics::reserve,
    loop_machine::EarlierIterations,
    record::{CUT_OFF, IterationRecord},
};
use serde::{Deserialize, Serialize};

use super::{Iterations, LoopError, LoopRunner, Mode, start_options};

/// Iterations that the reserve is judged by.
const RECENT: u32 = 50;

/// The moments since which limits count; nothing means since this start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AllowanceStart {
    pub iterations: Option<Timestamp>,
    pub cost: Option<Timestamp>,
    pub time: Option<Timestamp>,
}

impl AllowanceStart {
    /// These moments, or now.
    pub(super) fn or_now(self, now: Timestamp) -> Self {
        Self {
            iterations: self.iterations.or(Some(now)),
            cost: self.cost.or(Some(now)),
            time: self.time.or(Some(now)),
        }
    }

    fn earliest(self) -> Option<Timestamp> {
        let all = [self.iterations, self.cost, self.time];
        all.into_iter().flatten().min()
    }
}

/// The allowance of a loop, from what the journal keeps of its configuration.
pub fn allowance_of(config: &str) -> AllowanceStart {
    start_options::part_of(config, "allowance")
}

/// Everything that counts against an allowance already.
#[derive(Debug, Default)]
struct UsedAllowance {
    iterations: EarlierIterations,
    spent: Dollars,
    time: Duration,
}

impl LoopRunner {
    /// Takes into account what earlier processes used of this loop's allowance.
    pub(super) async fn recall_allowance(&mut self) -> Result<(), LoopError> {
        let used = self.used_allowance().await?;
        self.earlier_time = used.time;
        let tally = self.machine.tally_mut();
        if !self.settings.counts_tasks {
            tally.earlier = used.iterations;
        }
        // An iteration that was brought to its end just now is in the journal too.
        tally.spent = tally.spent.max(used.spent);
        self.recall_reserve().await
    }

    /// Works out what another iteration may cost, where a limit of the cost depends on it.
    pub(super) async fn recall_reserve(&mut self) -> Result<(), LoopError> {
        if self.machine.limits().max_cost.is_some() {
            let costs = self.journal.last_costs(&self.place.repository, RECENT);
            let costs = costs.await?;
            self.machine.tally_mut().reserve = reserve(&costs);
        }
        Ok(())
    }

    async fn used_allowance(&mut self) -> Result<UsedAllowance, LoopError> {
        let since = self.settings.allowance;
        let mut used = UsedAllowance::default();
        let Some(earliest) = since.earliest() else {
            return Ok(used);
        };
        let loops = self.loops_of_source().await?;
        for row in loops.iter().rev() {
            let records = self.journal.records_of(&row.id).await?;
            let mut counted = records
                .iter()
                .filter(|r| r.started_at >= earliest)
                .peekable();
            if counted.peek().is_none() && !records.is_empty() {
                break;
            }
            let costs = self.journal.spent_by_iteration(&row.id).await?;
            for record in counted {
                let cost = costs.get(&record.iteration_id).copied();
                used.add(record, cost.unwrap_or(Dollars::NOTHING), since);
            }
        }
        Ok(used)
    }

    /// The time that this loop has had of its allowance.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed() + self.earlier_time
    }
}

impl UsedAllowance {
    fn add(&mut self, record: &IterationRecord, cost: Dollars, since: AllowanceStart) {
        let counts = |since: Option<Timestamp>| since.is_some_and(|at| record.started_at >= at);
        if counts(since.iterations) {
            let is_cut_off = record.flags.iter().any(|flag| flag == CUT_OFF);
            self.iterations.add(&record.verdict, is_cut_off);
        }
        if counts(since.cost) {
            self.spent = self.spent.plus(cost);
        }
        if counts(since.time) {
            let took = record.ended_at.duration_since(record.started_at);
            self.time += Duration::try_from(took).unwrap_or_default();
        }
    }
}

/// Returns whether the limit of iterations follows from the open tasks, and not from a person.
pub(super) fn counts_tasks(mode: &Mode) -> bool {
    matches!(mode, Mode::Execute(execution) if execution.iterations == Iterations::ByTasks)
}
