//! Iterations. No question reads all of them.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    id::{IterationId, LoopId},
    iteration::StepDone,
    record::IterationRecord,
    task::TaskId,
};

use serde_json::Value;

use super::{
    SqlJournal, checkpoints, costs,
    statement::{Columns, FromColumns, Statement, columns, json, sql, unreadable},
    tasks::upsert_state,
    transaction,
};
use crate::{
    IterationEnd, IterationRow, IterationStart, IterationStore, LandingRow, RepositoryId, Result,
    Step, UnfinishedIteration,
};

columns!(
    IterationRow as ROW: n, loop_id, task_id, title = "record ->> '$.title'", attempt,
    started_at, ended_at, verdict, outcome, result_commit, reverted = "reverted_by IS NOT NULL"
);
columns!(
    LandingRow as LANDING: id = "iteration.id", n, task_id, title = "record ->> '$.title'",
    verdict, result_commit, branch, source, worktree, reverted_by, squashed_by
);

const LANDINGS: &str = "FROM iteration JOIN loop ON loop.id = iteration.loop_id";

impl FromColumns for Step {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        match row.next::<String>()?.as_str() {
            "intent" => row.next().map(Self::Intent),
            _ => row.next().map(Self::Done),
        }
    }
}

/// The most that there are of them.
const RECENT: u32 = 50;

#[async_trait]
impl IterationStore for SqlJournal {
    async fn begin_iteration(
        &mut self,
        repository: &RepositoryId,
        start: &IterationStart,
    ) -> Result<u64> {
        let what = "begin an iteration";
        let next = "UPDATE repository SET next_iteration = next_iteration + 1 WHERE id = ? RETURNING next_iteration - 1";
        let iteration = sql!(
            what,
            "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at)
             VALUES (?1, ?2, ?3, (SELECT next_iteration - 1 FROM repository WHERE id = ?2), ?4, ?5, ?6, ?7, ?8)",
            &start.id,
            repository,
            &start.loop_id,
            &start.task,
            start.attempt,
            &start.base_commit,
            json(start)?,
            start.at,
        );
        let intent = [Step::Intent("agent".into())];
        let intent = insertion(&start.id, &intent, start.at)?;
        let begin = sql!(what, next, repository).then(iteration).then(intent);
        transaction!(self, what, |tx| {
            let numbers: Vec<u64> = begin.list(&mut tx).await?;
            Ok(numbers.first().copied().unwrap_or_default())
        })
    }

    async fn append_steps(
        &mut self,
        repository: &RepositoryId,
        iteration: &IterationId,
        steps: &[Step],
        at: Timestamp,
        checkpoint: Option<&Moment>,
    ) -> Result<()> {
        if steps.is_empty() && checkpoint.is_none() {
            return Ok(());
        }
        // An intent is on the disk before it is carried out, and a checkpoint once it is taken. The result of a step
        // alone goes there with the next write: after a power cut without it, the step is looked up or done again.
        if let Some(moment) = checkpoint {
            let insert = insertion(iteration, steps, at)?;
            return transaction!(self, "record a step", |tx| {
                insert.run(&mut tx).await?;
                checkpoints::add_to(&mut tx, repository, moment).await
            });
        }
        if steps.iter().any(|step| matches!(step, Step::Intent(_))) {
            let insert = insertion(iteration, steps, at)?;
            return self.write(insert).await;
        }
        self.write_unflushed(insertion(iteration, steps, at)?).await
    }

    async fn end_iteration(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        end: IterationEnd<'_>,
    ) -> Result<()> {
        let what = "end an iteration";
        let record = end.record;
        let at = record.ended_at;
        let mut steps = end.pending.to_vec();
        steps.push(Step::Done(StepDone::Recorded));
        let ended = sql!(
            what,
            "UPDATE iteration SET ended_at = ?, verdict = ?, outcome = ?, result_commit = ?, record = ? WHERE id = ?",
            at,
            record.verdict.name(),
            record.outcome.as_str(),
            record.git.result_commit.as_ref(),
            json(record)?,
            &record.iteration_id,
        );
        let state = upsert_state(repository, source, &record.task_id, end.state)?;
        let ended = insertion(&record.iteration_id, &steps, at)?
            .then(ended)
            .then(state);
        transaction!(self, what, |tx| {
            ended.run(&mut tx).await?;
            costs::insert(&mut tx, repository, record, end.accounts).await?;
            for follow_up in record.follow_ups() {
                sql!(
                    what,
                    "INSERT INTO suggestion (repository_id, iteration, title, description) VALUES (?, ?, ?, ?)
                     ON CONFLICT DO NOTHING",
                    repository,
                    record.iteration,
                    &follow_up.title,
                    &follow_up.description,
                )
                .run(&mut tx)
                .await?;
            }
            if let Some(moment) = end.checkpoint {
                checkpoints::add_to(&mut tx, repository, moment).await?;
            }
            Ok(())
        })
    }

    async fn forget_iteration(&mut self, id: &IterationId, at: Timestamp) -> Result<()> {
        let end = "UPDATE iteration SET ended_at = ?, verdict = 'interrupted', outcome = 'failed' WHERE id = ?";
        self.write(sql!("end an iteration", end, at, id)).await
    }

    async fn unfinished_iteration(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<UnfinishedIteration>> {
        let what = "look for an unfinished iteration";
        let newest = "SELECT n, start, id FROM iteration WHERE loop_id = ? AND ended_at IS NULL ORDER BY n DESC LIMIT 1";
        let found = self.first(sql!(what, newest, loop_id)).await?;
        let Some((n, start, id)): Option<(u64, IterationStart, IterationId)> = found else {
            return Ok(None);
        };
        let steps = "SELECT kind, body FROM step WHERE iteration_id = ? ORDER BY seq";
        let steps = self.all(sql!(what, steps, &id)).await?;
        Ok(Some(UnfinishedIteration { n, start, steps }))
    }

    async fn record(
        &mut self,
        repository: &RepositoryId,
        n: Option<u64>,
    ) -> Result<Option<IterationRecord>> {
        let which = if n.is_some() { "AND n = ?2" } else { "" };
        let text = format!(
            "SELECT record FROM iteration WHERE repository_id = ?1 {which} AND record IS NOT NULL
             ORDER BY n DESC LIMIT 1"
        );
        self.first(sql!("look up an iteration", text, repository, n))
            .await
    }

    async fn made_by_agents(
        &mut self,
        repository: &RepositoryId,
        paths: &[String],
    ) -> Result<Vec<String>> {
        let mut made = Vec::new();
        for path in paths {
            let text = "SELECT record FROM iteration
                WHERE repository_id = ?1 AND result_commit IS NOT NULL AND replace(record, ?2, '') <> record
                  AND NOT EXISTS (SELECT 1 FROM loop WHERE repository_id = ?1 AND source = ?2)";
            let what = "look up who made a file";
            let records: Vec<String> = self.all(sql!(what, text, repository, path)).await?;
            let added = |record: &String| {
                let record: Value = serde_json::from_str(record).unwrap_or_default();
                let files = record["filesChanged"].as_array().into_iter().flatten();
                files
                    .into_iter()
                    .any(|file| file["path"] == **path && file["kind"] == "added")
            };
            if records.iter().any(added) {
                made.push(path.clone());
            }
        }
        Ok(made)
    }

    async fn records_of(&mut self, loop_id: &LoopId) -> Result<Vec<IterationRecord>> {
        let text =
            "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL ORDER BY n";
        self.all(sql!("read the loop's iterations", text, loop_id))
            .await
    }

    async fn last_records_of(
        &mut self,
        loop_id: &LoopId,
        most: u32,
    ) -> Result<Vec<IterationRecord>> {
        let text = "SELECT record FROM iteration WHERE loop_id = ? AND record IS NOT NULL
             ORDER BY n DESC LIMIT ?";
        let found = sql!("read the loop's iterations", text, loop_id, most);
        let mut records: Vec<IterationRecord> = self.all(found).await?;
        records.reverse();
        Ok(records)
    }

    async fn last_records(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<IterationRecord>> {
        self.all(sql!(
            "read the last iterations",
            "SELECT i.record FROM iteration i JOIN loop l ON l.id = i.loop_id
             WHERE i.repository_id = ? AND l.worktree = ? AND i.record IS NOT NULL
             ORDER BY i.n DESC LIMIT ?",
            repository,
            worktree,
            RECENT,
        ))
        .await
    }

    async fn task_records(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        most: usize,
    ) -> Result<Vec<IterationRecord>> {
        self.all(sql!(
            "read a task's last iterations",
            "SELECT i.record FROM iteration i JOIN loop l ON l.id = i.loop_id
             WHERE i.repository_id = ? AND i.task_id = ? AND l.source = ? AND i.record IS NOT NULL
             ORDER BY i.n DESC LIMIT ?",
            repository,
            task,
            source,
            most,
        ))
        .await
    }

    async fn next_iteration(&mut self, repository: &RepositoryId) -> Result<u64> {
        let text = "SELECT next_iteration FROM repository WHERE id = ?";
        let found = sql!("look up the next number", text, repository);
        Ok(self.first(found).await?.unwrap_or(1))
    }

    async fn last_iterations(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<IterationRow>> {
        let text =
            format!("SELECT {ROW} FROM iteration WHERE repository_id = ? ORDER BY n DESC LIMIT ?");
        self.all(sql!("list the iterations", text, repository, most))
            .await
    }

    async fn iterations_at(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &str,
        most: u32,
    ) -> Result<Vec<IterationRow>> {
        let what = "list the iterations of a task";
        let text = format!(
            "SELECT {ROW} FROM iteration WHERE repository_id = ?1 AND task_id = ?2
             AND loop_id IN (SELECT id FROM loop WHERE repository_id = ?1 AND source = ?3)
             ORDER BY n DESC LIMIT ?4"
        );
        self.all(sql!(what, text, repository, task, source, most))
            .await
    }

    async fn last_completed(&mut self, loop_id: &LoopId) -> Result<Option<String>> {
        // A loop may go on for long without completing anything; this question is not worth
        // reading all of that.
        self.first(sql!(
            "look up the last completed task",
            "SELECT task_id FROM
               (SELECT task_id, verdict, reverted_by, n FROM iteration WHERE loop_id = ? ORDER BY n DESC LIMIT 200) AS newest
             WHERE verdict IN ('verified', 'unverified') AND reverted_by IS NULL ORDER BY n DESC LIMIT 1",
            loop_id,
        ))
        .await
    }

    async fn verified_tasks(&mut self, loop_id: &LoopId) -> Result<u64> {
        self.one(sql!(
            "count verified tasks",
            "SELECT COUNT(DISTINCT task_id) FROM iteration
             WHERE loop_id = ? AND verdict = 'verified' AND reverted_by IS NULL
               AND COALESCE(CAST(record ->> '$.unverified' AS TEXT), '0') NOT IN ('1', 'true')",
            loop_id,
        ))
        .await
    }

    async fn iteration_range(&mut self, repository: &RepositoryId) -> Result<Option<(u64, u64)>> {
        // Two questions: each is answered by one end of the index, both at once by all of it.
        let (first, last): (Option<u64>, Option<u64>) = self
            .one(sql!(
                "count the iterations",
                "SELECT (SELECT MIN(n) FROM iteration WHERE repository_id = ?1),
                    (SELECT MAX(n) FROM iteration WHERE repository_id = ?1)",
                repository,
            ))
            .await?;
        Ok(first.zip(last))
    }

    async fn newest_record(&mut self, loop_id: &LoopId) -> Result<Option<u64>> {
        let text = "SELECT n FROM iteration WHERE loop_id = ? AND record IS NOT NULL ORDER BY n DESC LIMIT 1";
        self.first(sql!("look up the last iteration", text, loop_id))
            .await
    }

    async fn landing(&mut self, repository: &RepositoryId, n: u64) -> Result<Option<LandingRow>> {
        let text =
            format!("SELECT {LANDING} {LANDINGS} WHERE iteration.repository_id = ? AND n = ?");
        self.first(sql!("look up an iteration", text, repository, n))
            .await
    }

    async fn landings(&mut self, repository: &RepositoryId) -> Result<Vec<LandingRow>> {
        let text = format!(
            "SELECT {LANDING} {LANDINGS} WHERE iteration.repository_id = ? AND (verdict IN ('verified', 'unverified') OR result_commit IS NOT NULL)
             ORDER BY n"
        );
        self.all(sql!("list what landed", text, repository)).await
    }

    async fn count_reverted(&mut self, repository: &RepositoryId) -> Result<usize> {
        self.one(sql!(
            "count what was reverted",
            "SELECT count(*) FROM iteration INDEXED BY iteration_reverted
             WHERE repository_id = ? AND reverted_by IS NOT NULL AND result_commit IS NOT NULL",
            repository,
        ))
        .await
    }
}

/// One statement for all of them: each goes to SQLite's thread and back.
const INSERT_STEPS: &str = "INSERT INTO step (iteration_id, seq, at, kind, body)
    SELECT ?1, (SELECT COALESCE(MAX(seq), 0) FROM step WHERE iteration_id = ?1) + key + 1,
           ?2, value ->> 0, value ->> 1
    FROM json_each(?3)";

/// The statement that adds these steps.
fn insertion(iteration: &IterationId, steps: &[Step], at: Timestamp) -> Result<Statement> {
    let rows = steps
        .iter()
        .map(|step| match step {
            Step::Intent(what) => Ok(["intent".to_owned(), what.clone()]),
            Step::Done(done) => Ok(["done".to_owned(), json(done)?]),
        })
        .collect::<Result<Vec<_>>>()?;
    let rows = serde_json::to_string(&rows).map_err(unreadable("a step"))?;
    Ok(sql!("record a step", INSERT_STEPS, iteration, at, rows))
}
