//! What the loops of a report used and spent, how well, by which model, and as foreseen or not.
//!
//! Sums of the journal; nothing is worked out here but shares.

use ralph_core::{
    economics::{ComparedForecast, Totals},
    id::LoopId,
};
use ralph_engine::{
    forecast::compared,
    store::{Journal, JournalError, LoopModelCost, RepositoryId, SpendingScope},
};
use serde::Serialize;

use crate::commands::cost::figures::Figures;

/// The JSON form is a contract (docs/json.md).
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Economics {
    #[serde(flatten)]
    pub(super) total: Figures,
    pub(super) tool_calls: u64,
    pub(super) tokens_per_tool_call: Option<f64>,
    pub(super) cache_hit_rate: Option<f64>,
    /// The dearest first.
    pub(super) models: Vec<ModelSum>,
    pub(super) forecasts: Vec<LoopForecast>,
    #[serde(skip)]
    totals: Totals,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ModelSum {
    /// None for calls to an unnamed model.
    pub(super) model: Option<String>,
    #[serde(flatten)]
    pub(super) figures: Figures,
    #[serde(skip)]
    totals: Totals,
}

/// The forecast of a loop and the real cost.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoopForecast {
    pub(super) loop_id: LoopId,
    #[serde(flatten)]
    pub(super) compared: ComparedForecast,
}

impl Default for Economics {
    fn default() -> Self {
        let totals = Totals::default();
        Self {
            total: totals.into(),
            tool_calls: 0,
            tokens_per_tool_call: None,
            cache_hit_rate: None,
            models: Vec::new(),
            forecasts: Vec::new(),
            totals,
        }
    }
}

impl Economics {
    /// Adds a loop, with who asked which model in it.
    pub(super) async fn add(
        &mut self,
        journal: &mut dyn Journal,
        repository: &RepositoryId,
        loop_id: &LoopId,
        parts: &[LoopModelCost],
    ) -> Result<(), JournalError> {
        let totals = journal.spending(repository, SpendingScope::Loop(loop_id), None);
        self.totals = self.totals.plus(totals.await?);
        self.total = self.totals.into();
        self.tool_calls = self.totals.tool_calls;
        self.tokens_per_tool_call = self.totals.tokens_per_tool_call();
        self.cache_hit_rate = self.totals.tokens.cache_hit_rate();
        for part in parts {
            self.add_model(part);
        }
        self.models
            .sort_by_key(|one| std::cmp::Reverse((one.totals.spent, one.totals.tokens.total())));
        if let Some(compared) = compared(journal, repository, loop_id).await? {
            self.forecasts.push(LoopForecast {
                loop_id: loop_id.clone(),
                compared,
            });
        }
        Ok(())
    }

    fn add_model(&mut self, part: &LoopModelCost) {
        match self.models.iter_mut().find(|one| one.model == part.model) {
            Some(known) => {
                known.totals = known.totals.plus(part.totals);
                known.figures = known.totals.into();
            }
            None => self.models.push(ModelSum {
                model: part.model.clone(),
                figures: part.totals.into(),
                totals: part.totals,
            }),
        }
    }

    /// All that was spent, for each task that commands stood behind.
    pub(super) fn per_verified_task(&self, tasks: usize) -> Option<f64> {
        let spent = self.totals.spent.usd();
        (tasks > 0 && spent > 0.0).then(|| spent / tasks as f64)
    }
}
