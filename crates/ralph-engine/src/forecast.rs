//! The forecast of what a loop's tasks will cost, by its journal; and the comparison with what they did.
//!
//! Reads and writes down; the figures are made in the core.

use ralph_core::{
    dollars::Dollars,
    economics::{
        Caller, ComparedForecast, Forecast, ForecastBasis, KeptForecast, MULTI_AGENT_FACTOR,
        forecast,
    },
    id::LoopId,
};

use crate::store::{Journal, JournalError, RepositoryId, SpendingScope};

/// Any will do: the same history must give the same forecast.
const SEED: u64 = 1;

/// The cost of what a loop has finished.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CostHistory {
    /// The cost of each finished task.
    pub finished: Vec<Dollars>,
    pub had_subagents: bool,
}

impl CostHistory {
    pub async fn of_loop(
        journal: &mut dyn Journal,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Self, JournalError> {
        let mut costs = journal.finished_costs(repository, loop_id).await?;
        costs.sort();
        let parts = journal.model_costs(repository, loop_id).await?;
        Ok(Self {
            finished: costs.into_iter().map(|(_, cost)| cost).collect(),
            had_subagents: parts.iter().any(|part| part.caller == Caller::Subagent),
        })
    }

    /// Returns what so many more tasks will cost. `multi_agent`: subagents are to work from now on.
    pub fn forecast(&self, remaining_tasks: usize, multi_agent: bool) -> Option<Forecast> {
        // Where subagents worked already, what they cost is in the history.
        let factor = if multi_agent && !self.had_subagents {
            MULTI_AGENT_FACTOR
        } else {
            1
        };
        forecast(ForecastBasis {
            finished: &self.finished,
            remaining_tasks,
            factor,
            seed: SEED,
        })
    }
}

/// Returns what became of the forecast that was made of a loop; nothing where none was made.
pub async fn compared(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    loop_id: &LoopId,
) -> Result<Option<ComparedForecast>, JournalError> {
    let Some(kept) = journal.forecast_of(loop_id).await? else {
        return Ok(None);
    };
    let spending = journal.spending(repository, SpendingScope::Loop(loop_id), None);
    let spent = spending.await?.spent;
    let finished = journal.finished_costs(repository, loop_id).await?;
    Ok(Some(kept.compare(spent, finished.len())))
}

/// The forecast as it is to be kept, made now.
pub(crate) async fn dated(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    loop_id: &LoopId,
    forecast: Forecast,
    at: jiff::Timestamp,
) -> Result<KeptForecast, JournalError> {
    let spending = journal.spending(repository, SpendingScope::Loop(loop_id), None);
    let spent_before_usd = spending.await?.spent;
    let finished = journal.finished_costs(repository, loop_id).await?;
    Ok(KeptForecast {
        made_at: at,
        spent_before_usd,
        finished_before: finished.len(),
        forecast,
    })
}
