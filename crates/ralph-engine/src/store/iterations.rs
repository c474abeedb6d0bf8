//! Iterations in the journal: their steps as they happen, and their end in one transaction.

use jiff::Timestamp;
pub use ralph_core::board::TaskHistory as TaskState;
use ralph_core::{
    checkpoint::Moment,
    gutter::Gutter,
    id::{IterationId, LoopId},
    iteration::{Lands, StepDone},
    record::IterationRecord,
    task::TaskId,
};
use serde::{Deserialize, Serialize};

use super::{
    Journal, JournalError, RepositoryId, checkpoints, failed,
    held::{self, unwritten},
    tokens::{self, Accounts},
    unreadable,
};

/// What is known when an iteration begins; enough to go on with it after a crash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IterationStart {
    pub id: IterationId,
    pub loop_id: LoopId,
    pub task: TaskId,
    pub attempt: u32,
    pub base_commit: String,
    /// Untracked files that were there before the agent ran: never committed.
    pub untracked: Vec<String>,
    pub at: Timestamp,
    /// It is no attempt: it is to find out why this happens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnose: Option<Gutter>,
    /// Which of its changes land: a step towards a goal does, done or not.
    #[serde(default, skip_serializing_if = "Lands::is_default")]
    pub lands: Lands,
}

/// A step of an iteration: done, or about to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Written before what can't be taken back: `agent` or `land`.
    Intent(String),
    Done(StepDone),
}

#[derive(Debug, Clone, PartialEq)]
pub struct UnfinishedIteration {
    pub n: u64,
    pub start: IterationStart,
    pub steps: Vec<Step>,
}

/// The end of an iteration: all that is written of it at once.
#[derive(Debug, Clone, Copy)]
pub struct IterationEnd<'a> {
    /// Steps that are not written yet.
    pub pending: &'a [Step],
    pub record: &'a IterationRecord,
    pub state: &'a TaskState,
    /// Where the loop stands now.
    pub checkpoint: Option<&'a Moment>,
    /// What it used.
    pub accounts: &'a Accounts,
}

impl Journal {
    /// Begins an iteration together with the intent to start its agent; gives its number.
    pub async fn begin_iteration(
        &mut self,
        repository: &RepositoryId,
        start: &IterationStart,
    ) -> Result<u64, JournalError> {
        let failed = || failed("begin an iteration");
        let body = serde_json::to_string(start).map_err(unreadable("an iteration's start"))?;
        let mut tx = held::begin(&mut self.db, &self.path, "begin an iteration").await?;
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
        Ok(u64::try_from(n).unwrap_or_default())
    }

    /// Appends steps, all or none.
    pub async fn append_steps(
        &mut self,
        iteration: &IterationId,
        steps: &[Step],
        at: Timestamp,
    ) -> Result<(), JournalError> {
        if steps.is_empty() {
            return Ok(());
        }
        let mut tx = held::begin(&mut self.db, &self.path, "record a step").await?;
        insert_steps(&mut tx, iteration, steps, at).await?;
        tx.commit().await.map_err(failed("record a step"))
    }

    /// Appends steps, and a checkpoint where a phase ends with them, all or none.
    pub async fn append_steps_of_phase(
        &mut self,
        repository: &RepositoryId,
        iteration: &IterationId,
        steps: &[Step],
        moment: &Moment,
    ) -> Result<(), JournalError> {
        let failed = || failed("record a step");
        let mut tx = held::begin(&mut self.db, &self.path, "record a step").await?;
        insert_steps(&mut tx, iteration, steps, moment.at).await?;
        checkpoints::add_to(&mut tx, repository, moment).await?;
        tx.commit().await.map_err(failed())
    }

    /// Ends an iteration: steps not written yet, its record, what it comes to for its task, what it
    /// used, its suggestions, and the checkpoint.
    pub async fn end_iteration(
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
        let mut tx = held::begin(&mut self.db, &self.path, "end an iteration").await?;
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
        tokens::insert(&mut tx, repository, record, accounts).await?;
        for follow_up in &record.said.block.follow_ups {
            sqlx::query(
                "INSERT INTO suggestion (repository_id, iteration, title, description) VALUES (?, ?, ?, ?)
                 ON CONFLICT DO NOTHING",
            )
            .bind(&repository.0)
            .bind(i64::try_from(record.iteration).unwrap_or_default())
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

    /// Ends an iteration that nothing more can be said about: its task is gone.
    pub async fn forget_iteration(
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

    pub async fn set_task_state(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskState,
    ) -> Result<(), JournalError> {
        let what = "record a task's history";
        let mut tx = held::begin(&mut self.db, &self.path, what).await?;
        upsert_state(&mut tx, repository, source, task.as_str(), state).await?;
        tx.commit().await.map_err(failed(what))
    }

    /// What the journal knows of the tasks of a source. Tasks never worked on are not in it.
    pub async fn task_states(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, TaskState)>, JournalError> {
        let rows: Vec<(String, String)> = sqlx::query_as(
            "SELECT task_id, state FROM task_state WHERE repository_id = ? AND source = ?",
        )
        .bind(&repository.0)
        .bind(source)
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

    /// The iteration that a crash left without an end.
    pub async fn unfinished_iteration(
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
            n: u64::try_from(n).unwrap_or_default(),
            start: serde_json::from_str(&start).map_err(unreadable("an iteration's start"))?,
            steps,
        }))
    }
}

/// One statement for all of them: each goes to the database's thread and back.
async fn insert_steps(
    db: &mut sqlx::SqliteConnection,
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

pub(super) async fn upsert_state(
    db: &mut sqlx::SqliteConnection,
    repository: &RepositoryId,
    source: &str,
    task: &str,
    state: &TaskState,
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
