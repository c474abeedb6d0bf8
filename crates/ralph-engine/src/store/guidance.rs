//! What a person added to prompts: kept for as long as its task is worked on.

use jiff::Timestamp;
use ralph_core::{record::Guidance, task::TaskId};

use super::{Journal, JournalError, RepositoryId, commands::column, failed, held::unwritten};

/// Of all that was ever said about a task, the newest are told.
const MOST: i64 = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGuidance {
    /// `None`: for whichever prompt is next.
    pub task: Option<TaskId>,
    pub text: String,
    pub who: String,
    pub at: Timestamp,
    /// The iteration that was told already, while it ran.
    pub iteration: Option<u64>,
}

impl Journal {
    /// What the next prompt of a task has to tell. Changes nothing.
    pub async fn guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
    ) -> Result<Vec<Guidance>, JournalError> {
        let rows: Vec<(String, String, String)> = sqlx::query_as(
            "SELECT text, who, at FROM
               (SELECT id, text, who, at FROM guidance
                WHERE repository_id = ? AND source = ? AND (task_id = ? OR task_id IS NULL)
                ORDER BY id DESC LIMIT ?)
             ORDER BY id",
        )
        .bind(&repository.0)
        .bind(source)
        .bind(task.as_str())
        .bind(MOST)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look for guidance"))?;
        let guidance = rows.into_iter().map(|(text, by, at)| Guidance {
            text,
            by,
            at: at.parse().unwrap_or_default(),
        });
        Ok(guidance.collect())
    }

    /// The same for an iteration that begins: what was for the next prompt is this task's now.
    pub async fn use_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        iteration: u64,
    ) -> Result<Vec<Guidance>, JournalError> {
        let found = self.guidance(repository, source, task).await?;
        if found.is_empty() {
            return Ok(found);
        }
        sqlx::query(
            "UPDATE guidance SET task_id = ?1, iteration = COALESCE(iteration, ?2)
             WHERE repository_id = ?3 AND source = ?4 AND (task_id = ?1 OR task_id IS NULL)
               AND (iteration IS NULL OR task_id IS NULL)",
        )
        .bind(task.as_str())
        .bind(column(iteration))
        .bind(&repository.0)
        .bind(source)
        .execute(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "note that guidance is used"))?;
        Ok(found)
    }
}

pub(super) async fn insert_guidance(
    db: &mut sqlx::SqliteConnection,
    repository: &RepositoryId,
    source: &str,
    new: &NewGuidance,
) -> Result<(), JournalError> {
    sqlx::query(
        "INSERT INTO guidance (repository_id, source, task_id, text, who, at, iteration)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(&repository.0)
    .bind(source)
    .bind(new.task.as_ref().map(TaskId::as_str))
    .bind(&new.text)
    .bind(&new.who)
    .bind(new.at.to_string())
    .bind(new.iteration.map(column))
    .execute(db)
    .await
    .map_err(failed("keep guidance"))?;
    Ok(())
}
