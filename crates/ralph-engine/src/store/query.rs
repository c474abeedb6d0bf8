//! Questions that `status`, `logs` and `report` ask of the journal. None of them reads all of it.

use ralph_core::record::IterationRecord;

use super::{Journal, JournalError, RepositoryId, failed, unreadable};

/// An iteration as a list shows it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct IterationRow {
    pub n: i64,
    pub task_id: String,
    pub attempt: i64,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub verdict: Option<String>,
    pub outcome: Option<String>,
    pub result_commit: Option<String>,
}

/// A follow-up task that an agent suggested.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Suggestion {
    pub id: i64,
    pub iteration: i64,
    pub title: String,
    pub description: String,
    pub taken_as: Option<String>,
}

impl Journal {
    /// The record of iteration `n`; of the last one that ended where no number is given.
    pub async fn record(
        &mut self,
        repository: &RepositoryId,
        n: Option<u64>,
    ) -> Result<Option<IterationRecord>, JournalError> {
        let row: Option<(String,)> = match n {
            Some(n) => sqlx::query_as(
                "SELECT record FROM iteration WHERE repository_id = ? AND n = ? AND record IS NOT NULL",
            )
            .bind(&repository.0)
            .bind(i64::try_from(n).unwrap_or(i64::MAX)),
            None => sqlx::query_as(
                "SELECT record FROM iteration WHERE repository_id = ? AND record IS NOT NULL ORDER BY n DESC LIMIT 1",
            )
            .bind(&repository.0),
        }
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("look up an iteration"))?;
        row.map(|(text,)| serde_json::from_str(&text).map_err(unreadable("an iteration's record")))
            .transpose()
    }

    /// The records of one loop, oldest first.
    pub async fn records_of(
        &mut self,
        loop_id: &str,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL ORDER BY n",
        )
        .bind(loop_id)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read the loop's iterations"))?;
        rows.iter()
            .map(|(text,)| serde_json::from_str(text).map_err(unreadable("an iteration's record")))
            .collect()
    }

    /// The number that the next iteration will have.
    pub async fn next_iteration(&mut self, repository: &RepositoryId) -> Result<u64, JournalError> {
        let row: Option<(i64,)> =
            sqlx::query_as("SELECT next_iteration FROM repository WHERE id = ?")
                .bind(&repository.0)
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up the next number"))?;
        Ok(row.and_then(|(n,)| u64::try_from(n).ok()).unwrap_or(1))
    }

    /// The newest iterations, newest first.
    pub async fn last_iterations(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<IterationRow>, JournalError> {
        sqlx::query_as(
            "SELECT n, task_id, attempt, started_at, ended_at, verdict, outcome, result_commit
             FROM iteration WHERE repository_id = ? ORDER BY n DESC LIMIT ?",
        )
        .bind(&repository.0)
        .bind(most)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("list the iterations"))
    }

    /// Suggestions that nobody has taken yet.
    pub async fn suggestions(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<Suggestion>, JournalError> {
        sqlx::query_as(
            "SELECT id, iteration, title, description, taken_as FROM suggestion
             WHERE repository_id = ? AND taken_as IS NULL ORDER BY id",
        )
        .bind(&repository.0)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("list the suggestions"))
    }

    pub async fn take_suggestion(&mut self, id: i64, task: &str) -> Result<(), JournalError> {
        sqlx::query("UPDATE suggestion SET taken_as = ? WHERE id = ?")
            .bind(task)
            .bind(id)
            .execute(&mut self.db)
            .await
            .map_err(failed("take a suggestion"))?;
        Ok(())
    }
}
