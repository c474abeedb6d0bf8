//! Checkpoints in SQLite. Where an iteration or a loop ends, the row goes into that transaction.

use async_trait::async_trait;
use ralph_core::{
    checkpoint::{Before, Checkpoint, Link, Moment, Sealed, Trigger, seal},
    id::{CheckpointId, LoopId},
};
use sqlx::SqliteConnection;
use std::collections::{HashMap, HashSet};

use super::{JournalError, SqliteJournal, failed, from_row, lock, signed, unreadable, unsigned};
use crate::store::{CheckpointFilter, CheckpointStore, RepositoryId};

struct CheckpointColumns {
    id: String,
    loop_id: String,
    n: i64,
    iteration: Option<i64>,
    phase: String,
    at: String,
    tip_commit: String,
    body: String,
    hash: String,
    prev_hash: Option<String>,
}

from_row!(CheckpointColumns {} [id, loop_id, n, iteration, phase, at, tip_commit, body, hash, prev_hash]);

const COLUMNS: &str =
    "id, loop_id, n, iteration, phase, at, tip_commit, body, hash, prev_hash FROM checkpoint";

impl From<CheckpointColumns> for Link {
    fn from(row: CheckpointColumns) -> Self {
        Self {
            id: row.id.into(),
            loop_id: row.loop_id.into(),
            n: unsigned(row.n),
            iteration: row.iteration.map(unsigned),
            phase: row.phase,
            at: row.at,
            commit: row.tip_commit,
            body: row.body,
            hash: row.hash,
            prev_hash: row.prev_hash,
        }
    }
}

#[async_trait]
impl CheckpointStore for SqliteJournal {
    async fn add_checkpoint(
        &mut self,
        repository: &RepositoryId,
        moment: &Moment,
    ) -> Result<Sealed, JournalError> {
        let failed = || failed("make a checkpoint");
        let mut tx = lock::begin(&mut self.db, &self.path, "make a checkpoint").await?;
        let before = before(&mut tx, repository, &moment.loop_id).await?;
        let sealed = insert(&mut tx, repository, moment, &before).await?;
        tx.commit().await.map_err(failed())?;
        Ok(sealed)
    }

    async fn checkpoints(
        &mut self,
        repository: &RepositoryId,
        of: CheckpointFilter<'_>,
        most: u32,
    ) -> Result<Vec<Link>, JournalError> {
        let rows: Result<Vec<CheckpointColumns>, _> = match of {
            CheckpointFilter::Loop(id) => {
                let sql = format!("SELECT {COLUMNS} WHERE loop_id = ? ORDER BY n DESC LIMIT ?");
                let query = sqlx::query_as(sqlx::AssertSqlSafe(sql))
                    .bind(id.as_str())
                    .bind(most);
                query.fetch_all(&mut self.db).await
            }
            CheckpointFilter::Repository => {
                let sql =
                    format!("SELECT {COLUMNS} WHERE repository_id = ? ORDER BY id DESC LIMIT ?");
                let query = sqlx::query_as(sqlx::AssertSqlSafe(sql));
                let query = query.bind(&repository.0).bind(most);
                query.fetch_all(&mut self.db).await
            }
        };
        let rows = rows.map_err(failed("list the checkpoints"))?;
        Ok(rows.into_iter().map(Link::from).collect())
    }

    async fn checkpoints_after(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<HashMap<u64, CheckpointId>, JournalError> {
        let rows: Vec<(i64, String)> = sqlx::query_as(
            "SELECT iteration, id FROM checkpoint WHERE loop_id = ? AND iteration IS NOT NULL
             ORDER BY n DESC LIMIT 4000",
        )
        .bind(loop_id.as_str())
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look up the checkpoints of a loop"))?;
        let mut newest = HashMap::new();
        for (iteration, id) in rows {
            newest.entry(unsigned(iteration)).or_insert(id.into());
        }
        Ok(newest)
    }

    async fn last_checkpoint_id(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<CheckpointId>, JournalError> {
        sqlx::query_scalar("SELECT id FROM checkpoint WHERE loop_id = ? ORDER BY n DESC LIMIT 1")
            .bind(loop_id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map(|id: Option<String>| id.map(CheckpointId::from))
            .map_err(failed("look up the last checkpoint"))
    }

    async fn checkpoints_like(
        &mut self,
        repository: &RepositoryId,
        part: &str,
    ) -> Result<Vec<Link>, JournalError> {
        for condition in [
            // No id has a character behind `~`.
            "id >= ?2 AND id < ?2 || '~'",
            "substr(id, -length(?2)) = ?2",
        ] {
            let sql = format!("SELECT {COLUMNS} WHERE repository_id = ?1 AND {condition} LIMIT 2");
            let rows: Vec<CheckpointColumns> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
                .bind(&repository.0)
                .bind(part)
                .fetch_all(&mut self.db)
                .await
                .map_err(failed("look up a checkpoint"))?;
            if !rows.is_empty() {
                return Ok(rows.into_iter().map(Link::from).collect());
            }
        }
        Ok(Vec::new())
    }

    async fn checkpoint_chain(
        &mut self,
        loop_id: &LoopId,
        after: Option<u64>,
        most: u32,
    ) -> Result<Vec<Link>, JournalError> {
        let after = after.map_or(i64::MIN, signed);
        let sql = format!("SELECT {COLUMNS} WHERE loop_id = ? AND n > ? ORDER BY n LIMIT ?");
        let rows: Vec<CheckpointColumns> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(loop_id.as_str())
            .bind(after)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("read the checkpoints"))?;
        Ok(rows.into_iter().map(Link::from).collect())
    }

    async fn checkpointed_loops(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<LoopId>, JournalError> {
        sqlx::query_scalar(
            "SELECT id FROM loop WHERE repository_id = ?
             AND EXISTS (SELECT 1 FROM checkpoint WHERE loop_id = loop.id) ORDER BY id",
        )
        .bind(&repository.0)
        .fetch_all(&mut self.db)
        .await
        .map(|ids: Vec<String>| ids.into_iter().map(LoopId::from).collect())
        .map_err(failed("list the loops with checkpoints"))
    }
}

/// Adds a checkpoint to a transaction that has written already, and so is alone in writing. One of a
/// phase is made only where the phase is another than before.
pub(super) async fn add_to(
    tx: &mut SqliteConnection,
    repository: &RepositoryId,
    moment: &Moment,
) -> Result<(), JournalError> {
    let before = before(tx, repository, &moment.loop_id).await?;
    let old = before.checkpoint.as_ref();
    let same = old.is_some_and(|old| old.execution.phase == moment.phase(Some(old)));
    if moment.trigger == Trigger::Phase && same {
        return Ok(());
    }
    insert(tx, repository, moment, &before).await?;
    Ok(())
}

/// Returns what the next checkpoint of a loop follows. A newest one that can't be read is followed by its
/// hash alone: that it is damaged is what `verify` is there to say.
async fn before(
    db: &mut SqliteConnection,
    repository: &RepositoryId,
    loop_id: &LoopId,
) -> Result<Before, JournalError> {
    let failed = || failed("look up the last checkpoint");
    let newest: Option<(i64, String, String)> = sqlx::query_as(
        "SELECT n, hash, body FROM checkpoint WHERE loop_id = ? ORDER BY n DESC LIMIT 1",
    )
    .bind(loop_id.as_str())
    .fetch_optional(&mut *db)
    .await
    .map_err(failed())?;
    let Some((n, hash, body)) = newest else {
        return Ok(Before::default());
    };
    let checkpoint: Option<Checkpoint> = serde_json::from_str(&body).ok();
    let taken_back: Vec<String> = sqlx::query_scalar(
        "SELECT DISTINCT task_id FROM iteration AS gone INDEXED BY iteration_reverted
         WHERE repository_id = ? AND reverted_by IS NOT NULL AND loop_id = ? AND NOT EXISTS
           (SELECT 1 FROM iteration AS again WHERE again.loop_id = gone.loop_id
            AND again.task_id = gone.task_id AND again.verdict = 'verified'
            AND again.reverted_by IS NULL)",
    )
    .bind(&repository.0)
    .bind(loop_id.as_str())
    .fetch_all(db)
    .await
    .map_err(failed())?;
    Ok(Before {
        n: unsigned(n),
        hash: Some(hash),
        checkpoint,
        taken_back: HashSet::from_iter(taken_back),
    })
}

async fn insert(
    db: &mut SqliteConnection,
    repository: &RepositoryId,
    moment: &Moment,
    before: &Before,
) -> Result<Sealed, JournalError> {
    let sealed = seal(moment.after(before)).map_err(unreadable("a checkpoint"))?;
    let link = Link::from(&sealed);
    sqlx::query(
        "INSERT INTO checkpoint (id, repository_id, loop_id, n, iteration, phase, at, body, hash, prev_hash, tip_commit)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )
    .bind(link.id.as_str())
    .bind(&repository.0)
    .bind(link.loop_id.as_str())
    .bind(signed(link.n))
    .bind(link.iteration.map(signed))
    .bind(&link.phase)
    .bind(&link.at)
    .bind(&link.body)
    .bind(&link.hash)
    .bind(&link.prev_hash)
    .bind(&link.commit)
    .execute(db)
    .await
    .map_err(failed("make a checkpoint"))?;
    Ok(sealed)
}
