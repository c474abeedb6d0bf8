//! Forecasts of loops in the journal, and the loop that a new one can learn from.

use ralph_core::{economics::KeptForecast, id::LoopId};

use super::{Journal, JournalError, RepositoryId, failed, unreadable};

impl Journal {
    pub async fn keep_forecast(
        &mut self,
        loop_id: &LoopId,
        kept: &KeptForecast,
    ) -> Result<(), JournalError> {
        let text = serde_json::to_string(kept).map_err(unreadable("a forecast"))?;
        sqlx::query("UPDATE loop SET forecast = ? WHERE id = ?")
            .bind(text)
            .bind(loop_id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(failed("keep a forecast"))?;
        Ok(())
    }

    pub async fn forecast_of(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<KeptForecast>, JournalError> {
        let row: Option<(Option<String>,)> =
            sqlx::query_as("SELECT forecast FROM loop WHERE id = ?")
                .bind(loop_id.as_str())
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up a forecast"))?;
        let text = row.and_then(|(text,)| text);
        text.map(|text| serde_json::from_str(&text).map_err(unreadable("a forecast")))
            .transpose()
    }

    /// The loop before this one in the same working tree and at the same tasks.
    pub async fn loop_before(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Option<LoopId>, JournalError> {
        let row: Option<(String,)> = sqlx::query_as(
            "SELECT before.id FROM loop AS this
             JOIN loop AS before INDEXED BY loop_by_time
               ON before.repository_id = this.repository_id AND before.worktree = this.worktree
              AND before.source = this.source AND before.id <> this.id
              AND before.started_at <= this.started_at
             WHERE this.id = ?1 AND this.repository_id = ?2
             ORDER BY before.started_at DESC, before.id DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .bind(&repository.0)
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("look up the loop before"))?;
        Ok(row.map(|(id,)| id.into()))
    }

    /// How many tasks a loop has completed with commands behind them, and that stayed so.
    pub async fn verified_tasks(&mut self, loop_id: &LoopId) -> Result<u64, JournalError> {
        let (count,): (i64,) = sqlx::query_as(
            "SELECT COUNT(DISTINCT task_id) FROM iteration
             WHERE loop_id = ? AND verdict = 'verified' AND reverted_by IS NULL
               AND NOT COALESCE(record ->> '$.unverified', 0)",
        )
        .bind(loop_id.as_str())
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count verified tasks"))?;
        Ok(u64::try_from(count).unwrap_or_default())
    }
}
