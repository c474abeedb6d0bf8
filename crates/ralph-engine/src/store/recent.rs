//! The newest iterations of a loop, for whoever goes on with it.

use ralph_core::record::IterationRecord;

use super::{Journal, JournalError, failed, unreadable};

impl Journal {
    /// The records of a loop's newest iterations that have ended, newest first.
    pub async fn last_records(
        &mut self,
        loop_id: &str,
        most: u32,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL
             ORDER BY n DESC LIMIT ?",
        )
        .bind(loop_id)
        .bind(most)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read the loop's last iterations"))?;
        rows.iter()
            .map(|(text,)| serde_json::from_str(text).map_err(unreadable("an iteration's record")))
            .collect()
    }
}
