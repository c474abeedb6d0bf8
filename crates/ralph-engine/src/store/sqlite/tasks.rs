//! The histories of tasks, and suggestions, in SQLite.

use async_trait::async_trait;
use ralph_core::task::TaskId;
use sqlx::SqliteConnection;

use super::{
    JournalError, SqliteJournal, failed, from_row,
    lock::{self, unwritten},
    unreadable,
};
use crate::store::{RepositoryId, Suggestion, TaskHistory, TaskStore};

from_row!(Suggestion {} [id, iteration, title, description, taken_as]);

#[async_trait]
impl TaskStore for SqliteJournal {
    async fn set_task_state(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
    ) -> Result<(), JournalError> {
        let what = "record a task's history";
        let mut tx = lock::begin(&mut self.db, &self.path, what).await?;
        upsert_state(&mut tx, repository, source, task.as_str(), state).await?;
        tx.commit().await.map_err(failed(what))
    }

    async fn task_states(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, TaskHistory)>, JournalError> {
        // The history of a completed task is most often that of one never worked on.
        let empty = serde_json::to_string(&TaskHistory::default());
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT task_id, state FROM task_state WHERE repository_id = ? AND source = ? AND state <> ?",
        )
        .bind(&repository.0)
        .bind(source)
        .bind(empty.map_err(unreadable("a task's history"))?)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read the tasks' history"))?;
        rows.into_iter()
            .map(|(id, state)| {
                let state = serde_json::from_str(&state).map_err(unreadable("a task's history"))?;
                Ok((id, state))
            })
            .collect()
    }

    async fn all_suggestions(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<Suggestion>, JournalError> {
        sqlx::query_as(
            "SELECT id, iteration, title, description, taken_as FROM suggestion
             WHERE repository_id = ? ORDER BY id",
        )
        .bind(&repository.0)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("list the suggestions"))
    }

    async fn take_suggestion(&mut self, id: i64, task: &str) -> Result<(), JournalError> {
        sqlx::query("UPDATE suggestion SET taken_as = ? WHERE id = ?")
            .bind(task)
            .bind(id)
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "take a suggestion"))?;
        Ok(())
    }
}

pub(super) async fn upsert_state(
    db: &mut SqliteConnection,
    repository: &RepositoryId,
    source: &str,
    task: &str,
    state: &TaskHistory,
) -> Result<(), JournalError> {
    let body = serde_json::to_string(state).map_err(unreadable("a task's history"))?;
    sqlx::query(
        "INSERT INTO task_state (repository_id, source, task_id, state) VALUES (?, ?, ?, ?)
         ON CONFLICT (repository_id, source, task_id) DO UPDATE SET state = excluded.state",
    )
    .bind(&repository.0)
    .bind(source)
    .bind(task)
    .bind(body)
    .execute(db)
    .await
    .map_err(failed("record a task's history"))?;
    Ok(())
}
