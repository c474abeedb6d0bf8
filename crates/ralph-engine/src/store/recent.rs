//! The newest iterations of a worktree or a task, for whoever goes on there.

use ralph_core::{record::IterationRecord, task::TaskId};

use super::{Journal, JournalError, RepositoryId, failed, unreadable};

/// How many of them there are at most.
const RECENT: u32 = 50;

impl Journal {
    /// The records of a worktree's newest iterations that have ended, of whichever loop, newest first.
    pub async fn last_records(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT i.record FROM iteration i JOIN loop l ON l.id = i.loop_id
             WHERE i.repository_id = ? AND l.worktree = ? AND i.record IS NOT NULL
             ORDER BY i.n DESC LIMIT ?",
        )
        .bind(&repository.0)
        .bind(worktree)
        .bind(RECENT)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read the last iterations"))?;
        rows.iter()
            .map(|(text,)| serde_json::from_str(text).map_err(unreadable("an iteration's record")))
            .collect()
    }

    /// The records of a task's newest iterations that have ended, newest first.
    pub async fn task_records(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        most: usize,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT i.record FROM iteration i JOIN loop l ON l.id = i.loop_id
             WHERE i.repository_id = ? AND i.task_id = ? AND l.source = ? AND i.record IS NOT NULL
             ORDER BY i.n DESC LIMIT ?",
        )
        .bind(&repository.0)
        .bind(task.as_str())
        .bind(source)
        .bind(i64::try_from(most).unwrap_or(i64::MAX))
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read a task's last iterations"))?;
        rows.iter()
            .map(|(text,)| serde_json::from_str(text).map_err(unreadable("an iteration's record")))
            .collect()
    }
}
