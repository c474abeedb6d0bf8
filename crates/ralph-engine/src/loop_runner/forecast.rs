//! Keeps what a loop is foreseen to cost, once: when it starts, by the loop before it, or as soon as
//! enough of its own tasks are finished.
//!
//! Decides nothing by it; the report at the end compares.

use ralph_core::dollars::Dollars;

use super::{LoopError, LoopRunner};
use crate::forecast::{self, CostHistory};

/// The forecast of the loop's cost: recorded or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ForecastState {
    #[default]
    NotYet,
    Kept,
}

impl LoopRunner {
    /// By the history of this loop, or of the one before it while this one has none of its own.
    pub(super) async fn forecast_at_start(&mut self) -> Result<(), LoopError> {
        if self.journal.forecast_of(&self.loop_id).await?.is_some() {
            self.costs.forecast = ForecastState::Kept;
        }
        if self.costs.forecast == ForecastState::Kept {
            return Ok(());
        }
        let history =
            CostHistory::of_loop(&mut *self.journal, &self.place.repository, &self.loop_id).await?;
        self.keep_forecast(&history).await?;
        if self.costs.forecast == ForecastState::Kept {
            return Ok(());
        }
        let before = self
            .journal
            .loop_before(&self.place.repository, &self.loop_id);
        if let Some(before) = before.await? {
            let history =
                CostHistory::of_loop(&mut *self.journal, &self.place.repository, &before).await?;
            self.keep_forecast(&history).await?;
        }
        Ok(())
    }

    /// After an iteration: by what this loop has finished.
    pub(super) async fn forecast_after_iteration(&mut self) -> Result<(), LoopError> {
        // Of an agent that tells of no cost, nothing is foreseen, and its history is not looked at.
        if self.costs.forecast == ForecastState::Kept
            || self.machine.tally().spent == Dollars::NOTHING
        {
            return Ok(());
        }
        let history =
            CostHistory::of_loop(&mut *self.journal, &self.place.repository, &self.loop_id).await?;
        self.keep_forecast(&history).await
    }

    async fn keep_forecast(&mut self, history: &CostHistory) -> Result<(), LoopError> {
        let tasks = self.board.tally();
        let remaining = tasks.ready + tasks.waiting;
        let forecast = history.forecast(remaining, self.settings.config.economics.multi_agent);
        // Nothing to come, or nothing told by agents so far, is nothing to compare.
        let Some(forecast) = forecast.filter(|f| remaining > 0 && f.high_usd > Dollars::NOTHING)
        else {
            return Ok(());
        };
        let now = self.now();
        let (repository, id) = (&self.place.repository, &self.loop_id);
        let kept = forecast::dated(&mut *self.journal, repository, id, forecast, now).await?;
        self.journal.keep_forecast(&self.loop_id, &kept).await?;
        self.costs.forecast = ForecastState::Kept;
        Ok(())
    }
}
