//! Iterations in SQLite. No question reads all of them.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    id::{IterationId, LoopId},
    iteration::StepDone,
    record::IterationRecord,
    task::TaskId,
};
use sqlx::SqliteConnection;

use super::{
    JournalError, SqliteJournal, checkpoints, costs, failed, from_row,
    lock::{self, unwritten},
    signed,
    tasks::upsert_state,
    unreadable, unsigned,
};
use crate::store::{
    IterationEnd, IterationRow, IterationStart, IterationStore, LandingRow, RepositoryId, Step,
    UnfinishedIteration,
};

from_row!(IterationRow { loop_id } [n, task_id, title, attempt, started_at, ended_at, verdict, outcome, result_commit, reverted]);
from_row!(LandingRow { id } [n, task_id, title, verdict, result_commit, branch, source, worktree, reverted_by, squashed_by]);

const ROW: &str = "n, loop_id, task_id, json_extract(record, '$.title') AS title, attempt, \
                   started_at, ended_at, verdict, outcome, result_commit, \
                   reverted_by IS NOT NULL AS reverted";

const LANDING: &str = "SELECT iteration.id, n, task_id, json_extract(record, '$.title') AS title, \
     verdict, result_commit, branch, source, worktree, reverted_by, squashed_by \
     FROM iteration JOIN loop ON loop.id = iteration.loop_id";

/// The most that there are of them.
const RECENT: u32 = 50;

#[async_trait]
impl IterationStore for SqliteJournal {
    async fn begin_iteration(
        &mut self,
        repository: &RepositoryId,
        start: &IterationStart,
    ) -> Result<u64, JournalError> {
        let failed = || failed("begin an iteration");
        let body = serde_json::to_string(start).map_err(unreadable("an iteration's start"))?;
        let mut tx = lock::begin(&mut self.db, &self.path, "begin an iteration").await?;
        let (n,): (i64,) = sqlx::query_as(
            "UPDATE repository SET next_iteration = next_iteration + 1 WHERE id = ? RETURNING next_iteration - 1",
        )
        .bind(&repository.0)
        .fetch_one(&mut *tx)
        .await
        .map_err(failed())?;
        sqlx::query(
            "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(start.id.as_str())
        .bind(&repository.0)
        .bind(start.loop_id.as_str())
        .bind(n)
        .bind(start.task.as_str())
        .bind(start.attempt)
        .bind(&start.base_commit)
        .bind(body)
        .bind(start.at.to_string())
        .execute(&mut *tx)
        .await
        .map_err(failed())?;
        let intent = [Step::Intent("agent".into())];
        insert_steps(&mut tx, &start.id, &intent, start.at).await?;
        tx.commit().await.map_err(failed())?;
        Ok(unsigned(n))
    }

    async fn append_steps(
        &mut self,
        iteration: &IterationId,
        steps: &[Step],
        at: Timestamp,
    ) -> Result<(), JournalError> {
        if steps.is_empty() {
            return Ok(());
        }
        // An intent is on the disk before it is carried out. The result of a step goes there with the
        // next write: after a power cut without it, the step is looked up or done again.
        let is_durable = steps.iter().any(|step| matches!(step, Step::Intent(_)));
        if !is_durable {
            self.set_synchronous("NORMAL").await?;
        }
        let done = self.add_steps(iteration, steps, at).await;
        if !is_durable {
            self.set_synchronous("FULL").await?;
        }
        done
    }

    async fn append_steps_of_phase(
        &mut self,
        repository: &RepositoryId,
        iteration: &IterationId,
        steps: &[Step],
        moment: &Moment,
    ) -> Result<(), JournalError> {
        let failed = || failed("record a step");
        let mut tx = lock::begin(&mut self.db, &self.path, "record a step").await?;
        insert_steps(&mut tx, iteration, steps, moment.at).await?;
        checkpoints::add_to(&mut tx, repository, moment).await?;
        tx.commit().await.map_err(failed())
    }

    async fn end_iteration(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        end: IterationEnd<'_>,
    ) -> Result<(), JournalError> {
        let IterationEnd {
            pending,
            record,
            state,
            checkpoint,
            accounts,
        } = end;
        let failed = || failed("end an iteration");
        let body = serde_json::to_string(record).map_err(unreadable("an iteration's record"))?;
        let at = record.ended_at;
        let mut tx = lock::begin(&mut self.db, &self.path, "end an iteration").await?;
        let mut steps = pending.to_vec();
        steps.push(Step::Done(StepDone::Recorded));
        insert_steps(&mut tx, &record.iteration_id, &steps, at).await?;
        sqlx::query(
            "UPDATE iteration SET ended_at = ?, verdict = ?, outcome = ?, result_commit = ?, record = ? WHERE id = ?",
        )
        .bind(at.to_string())
        .bind(record.verdict.name())
        .bind(record.outcome.as_str())
        .bind(&record.git.result_commit)
        .bind(body)
        .bind(record.iteration_id.as_str())
        .execute(&mut *tx)
        .await
        .map_err(failed())?;
        upsert_state(&mut tx, repository, source, &record.task_id, state).await?;
        costs::insert(&mut tx, repository, record, accounts).await?;
        for follow_up in &record.said.block.follow_ups {
            sqlx::query(
                "INSERT INTO suggestion (repository_id, iteration, title, description) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO NOTHING",
            )
            .bind(&repository.0)
            .bind(signed(record.iteration))
            .bind(&follow_up.title)
            .bind(&follow_up.description)
            .execute(&mut *tx)
            .await
            .map_err(failed())?;
        }
        if let Some(moment) = checkpoint {
            checkpoints::add_to(&mut tx, repository, moment).await?;
        }
        tx.commit().await.map_err(failed())
    }

    async fn forget_iteration(
        &mut self,
        id: &IterationId,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        sqlx::query("UPDATE iteration SET ended_at = ?, verdict = 'interrupted', outcome = 'failed' WHERE id = ?")
            .bind(at.to_string())
            .bind(id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "end an iteration"))?;
        Ok(())
    }

    async fn unfinished_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<UnfinishedIteration>, JournalError> {
        let failed = || failed("look for an unfinished iteration");
        let row: Option<(String, i64, String)> = sqlx::query_as(
            "SELECT id, n, start FROM iteration WHERE loop_id = ? AND ended_at IS NULL ORDER BY n DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed())?;
        let Some((id, n, start)) = row else {
            return Ok(None);
        };
        let rows: Vec<(String, String)> =
            sqlx::query_as("SELECT kind, body FROM step WHERE iteration_id = ? ORDER BY seq")
                .bind(&id)
                .fetch_all(&mut self.db)
                .await
                .map_err(failed())?;
        let steps = rows
            .into_iter()
            .map(|(kind, body)| match kind.as_str() {
                "intent" => Ok(Step::Intent(body)),
                _ => Ok(Step::Done(
                    serde_json::from_str(&body).map_err(unreadable("a step"))?,
                )),
            })
            .collect::<Result<_, JournalError>>()?;
        Ok(Some(UnfinishedIteration {
            n: unsigned(n),
            start: serde_json::from_str(&start).map_err(unreadable("an iteration's start"))?,
            steps,
        }))
    }

    async fn record(
        &mut self,
        repository: &RepositoryId,
        n: Option<u64>,
    ) -> Result<Option<IterationRecord>, JournalError> {
        let row: Option<(String,)> = match n {
            Some(n) => sqlx::query_as(
                "SELECT record FROM iteration WHERE repository_id = ? AND n = ? AND record IS NOT NULL",
            )
            .bind(&repository.0)
            .bind(signed(n)),
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

    async fn records_of(&mut self, loop_id: &LoopId) -> Result<Vec<IterationRecord>, JournalError> {
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

    async fn last_records_of(
        &mut self,
        loop_id: &LoopId,
        most: u32,
    ) -> Result<Vec<IterationRecord>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL
             ORDER BY n DESC LIMIT ?",
        )
        .bind(loop_id.as_str())
        .bind(most)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("read the loop's iterations"))?;
        rows.iter()
            .rev()
            .map(|(text,)| serde_json::from_str(text).map_err(unreadable("an iteration's record")))
            .collect()
    }

    async fn last_records(
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

    async fn task_records(
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

    async fn next_iteration(&mut self, repository: &RepositoryId) -> Result<u64, JournalError> {
        let row: Option<(i64,)> =
            sqlx::query_as("SELECT next_iteration FROM repository WHERE id = ?")
                .bind(&repository.0)
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up the next number"))?;
        Ok(row.and_then(|(n,)| u64::try_from(n).ok()).unwrap_or(1))
    }

    async fn last_iterations(
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

    async fn iterations_at(
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

    async fn last_completed(&mut self, loop_id: &LoopId) -> Result<Option<String>, JournalError> {
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

    async fn verified_tasks(&mut self, loop_id: &LoopId) -> Result<u64, JournalError> {
        let (count,): (i64,) = sqlx::query_as(
            "SELECT COUNT(DISTINCT task_id) FROM iteration
             WHERE loop_id = ? AND verdict = 'verified' AND reverted_by IS NULL
               AND NOT COALESCE(record ->> '$.unverified', 0)",
        )
        .bind(loop_id.as_str())
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count verified tasks"))?;
        Ok(unsigned(count))
    }

    async fn iteration_range(
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
        Ok(ends.0.zip(ends.1).map(|(a, b)| (unsigned(a), unsigned(b))))
    }

    async fn newest_record(&mut self, loop_id: &LoopId) -> Result<Option<u64>, JournalError> {
        let n: Option<i64> = sqlx::query_scalar(
            "SELECT n FROM iteration WHERE loop_id = ? AND record IS NOT NULL ORDER BY n DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("look up the last iteration"))?;
        Ok(n.map(unsigned))
    }

    async fn landing(
        &mut self,
        repository: &RepositoryId,
        n: u64,
    ) -> Result<Option<LandingRow>, JournalError> {
        let sql = format!("{LANDING} WHERE iteration.repository_id = ? AND n = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(signed(n))
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up an iteration"))
    }

    async fn landings(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<LandingRow>, JournalError> {
        let sql = format!(
            "{LANDING} WHERE iteration.repository_id = ? AND (verdict = 'verified' OR result_commit IS NOT NULL)
             ORDER BY n"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list what landed"))
    }

    async fn count_reverted(&mut self, repository: &RepositoryId) -> Result<usize, JournalError> {
        let (count,): (i64,) = sqlx::query_as(
            "SELECT count(*) FROM iteration INDEXED BY iteration_reverted
             WHERE repository_id = ? AND reverted_by IS NOT NULL AND result_commit IS NOT NULL",
        )
        .bind(&repository.0)
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count what was reverted"))?;
        Ok(usize::try_from(count).unwrap_or_default())
    }
}

impl SqliteJournal {
    async fn add_steps(
        &mut self,
        iteration: &IterationId,
        steps: &[Step],
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let mut tx = lock::begin(&mut self.db, &self.path, "record a step").await?;
        insert_steps(&mut tx, iteration, steps, at).await?;
        tx.commit().await.map_err(failed("record a step"))
    }

    /// Sets what a commit waits for. With `NORMAL` it is safe from the end of this process, and from a power
    /// cut once a later write is flushed.
    async fn set_synchronous(&mut self, mode: &'static str) -> Result<(), JournalError> {
        let pragma = format!("PRAGMA synchronous = {mode}");
        sqlx::query(sqlx::AssertSqlSafe(pragma))
            .execute(&mut self.db)
            .await
            .map(drop)
            .map_err(failed("record a step"))
    }
}

/// One statement for all of them: each goes to the database's thread and back.
async fn insert_steps(
    db: &mut SqliteConnection,
    iteration: &IterationId,
    steps: &[Step],
    at: Timestamp,
) -> Result<(), JournalError> {
    let rows = steps
        .iter()
        .map(|step| match step {
            Step::Intent(what) => Ok(["intent".to_owned(), what.clone()]),
            Step::Done(done) => Ok(["done".to_owned(), serde_json::to_string(done)?]),
        })
        .collect::<Result<Vec<_>, _>>();
    let rows = rows
        .and_then(|rows| serde_json::to_string(&rows))
        .map_err(unreadable("a step"))?;
    sqlx::query(
        "INSERT INTO step (iteration_id, seq, at, kind, body)
         SELECT ?1, (SELECT COALESCE(MAX(seq), 0) FROM step WHERE iteration_id = ?1) + key + 1,
                ?2, value ->> 0, value ->> 1
         FROM json_each(?3)",
    )
    .bind(iteration.as_str())
    .bind(at.to_string())
    .bind(rows)
    .execute(db)
    .await
    .map_err(failed("record a step"))?;
    Ok(())
}
