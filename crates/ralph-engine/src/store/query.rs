//! Questions that `status`, `logs` and `report` ask of the journal. None of them reads all of it.

use ralph_core::{id::LoopId, record::IterationRecord};

use super::{
    Journal, JournalError, LoopRow, RepositoryId, TaskState, failed, held::unwritten, loops,
    unreadable,
};

/// An iteration as a list shows it.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct IterationRow {
    pub n: i64,
    #[sqlx(try_from = "String")]
    pub loop_id: LoopId,
    pub task_id: String,
    /// `None` until the iteration has ended.
    pub title: Option<String>,
    pub attempt: i64,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub verdict: Option<String>,
    pub outcome: Option<String>,
    pub result_commit: Option<String>,
    /// Its commit was taken back since.
    pub reverted: bool,
}

const ROW: &str = "n, loop_id, task_id, json_extract(record, '$.title') AS title, attempt, \
                   started_at, ended_at, verdict, outcome, result_commit, \
                   reverted_by IS NOT NULL AS reverted";

/// Only with the very words of the index can it be used; the planner has to be told that it is the
/// small one.
pub(super) const HELD: &str = "SELECT task_id, state FROM task_state INDEXED BY task_state_held \
     WHERE repository_id = ? AND source = ? AND \
     (json_extract(state, '$.question') IS NOT NULL OR json_extract(state, '$.blocked') IS NOT NULL)";

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
        loop_id: &LoopId,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL ORDER BY n",
        )
        .bind(loop_id.as_str())
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
        let sql =
            format!("SELECT {ROW} FROM iteration WHERE repository_id = ? ORDER BY n DESC LIMIT ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the iterations"))
    }

    /// The newest iterations at one task of a source, newest first.
    pub async fn iterations_at(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &str,
        most: u32,
    ) -> Result<Vec<IterationRow>, JournalError> {
        let sql = format!(
            "SELECT {ROW} FROM iteration WHERE repository_id = ? AND task_id = ?
             AND loop_id IN (SELECT id FROM loop WHERE repository_id = ? AND source = ?)
             ORDER BY n DESC LIMIT ?"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(task)
            .bind(&repository.0)
            .bind(source)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the iterations of a task"))
    }

    /// The task that a loop completed last, if it did so within its newest iterations.
    pub async fn last_completed(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<String>, JournalError> {
        // A loop may go on for long without completing anything; this question is not worth
        // reading all of that.
        let row: Option<(String,)> = sqlx::query_as(
            "SELECT task_id FROM
               (SELECT task_id, verdict, reverted_by, n FROM iteration WHERE loop_id = ? ORDER BY n DESC LIMIT 200)
             WHERE verdict = 'verified' AND reverted_by IS NULL ORDER BY n DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("look up the last completed task"))?;
        Ok(row.map(|(task,)| task))
    }

    /// The lowest and the highest number that an iteration has.
    pub async fn iteration_range(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Option<(u64, u64)>, JournalError> {
        // Two questions: each is answered by one end of the index, both at once by all of it.
        let ends: (Option<i64>, Option<i64>) = sqlx::query_as(
            "SELECT (SELECT MIN(n) FROM iteration WHERE repository_id = ?1),
                    (SELECT MAX(n) FROM iteration WHERE repository_id = ?1)",
        )
        .bind(&repository.0)
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count the iterations"))?;
        let number = |n: i64| u64::try_from(n).unwrap_or_default();
        Ok(ends.0.zip(ends.1).map(|(a, b)| (number(a), number(b))))
    }

    /// The loops of a source in this worktree, oldest first.
    pub async fn loops_of(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        source: &str,
    ) -> Result<Vec<LoopRow>, JournalError> {
        let sql = format!(
            "SELECT {} FROM loop WHERE repository_id = ? AND worktree = ? AND source = ?
             ORDER BY started_at, id",
            loops::COLUMNS
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(worktree)
            .bind(source)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the loops"))
    }

    /// The loops whose id begins like this; no more than two, which is one too many.
    pub async fn loops_like(
        &mut self,
        repository: &RepositoryId,
        prefix: &str,
    ) -> Result<Vec<LoopRow>, JournalError> {
        let sql = format!(
            "SELECT {} FROM loop WHERE repository_id = ?1 AND substr(id, 1, length(?2)) = ?2 LIMIT 2",
            loops::COLUMNS
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(prefix)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    /// What the journal knows of one task.
    pub async fn task_state(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &str,
    ) -> Result<Option<TaskState>, JournalError> {
        let row: Option<(String,)> = sqlx::query_as(
            "SELECT state FROM task_state WHERE repository_id = ? AND source = ? AND task_id = ?",
        )
        .bind(&repository.0)
        .bind(source)
        .bind(task)
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("read a task's history"))?;
        row.map(|(state,)| serde_json::from_str(&state).map_err(unreadable("a task's history")))
            .transpose()
    }

    /// The tasks that wait for a person: a question is open, or they are out of attempts.
    pub async fn held_tasks(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, TaskState)>, JournalError> {
        let rows: Vec<(String, String)> = sqlx::query_as(HELD)
            .bind(&repository.0)
            .bind(source)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look for tasks that wait for a person"))?;
        rows.into_iter()
            .map(|(id, state)| {
                let state = serde_json::from_str(&state).map_err(unreadable("a task's history"))?;
                Ok((id, state))
            })
            .collect()
    }

    /// The tasks that a person skipped, and why.
    pub async fn skipped_tasks(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, String)>, JournalError> {
        sqlx::query_as(
            "SELECT task_id, json_extract(state, '$.skipped') FROM task_state
             INDEXED BY task_state_skipped
             WHERE repository_id = ? AND source = ? AND json_extract(state, '$.skipped') IS NOT NULL
             ORDER BY task_id",
        )
        .bind(&repository.0)
        .bind(source)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look for skipped tasks"))
    }

    /// Suggestions that nobody has taken yet.
    pub async fn suggestions(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<Suggestion>, JournalError> {
        let mut all = self.all_suggestions(repository).await?;
        all.retain(|one| one.taken_as.is_none());
        Ok(all)
    }

    /// All suggestions, oldest first, those that were taken among them: a suggestion's place in
    /// this list never changes.
    pub async fn all_suggestions(
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

    pub async fn take_suggestion(&mut self, id: i64, task: &str) -> Result<(), JournalError> {
        sqlx::query("UPDATE suggestion SET taken_as = ? WHERE id = ?")
            .bind(task)
            .bind(id)
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "take a suggestion"))?;
        Ok(())
    }
}
