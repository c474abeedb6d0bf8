//! Checkpoints. Where an iteration or a loop ends, the row goes into that transaction.

use async_trait::async_trait;
use ralph_core::{
    checkpoint::{Before, Link, Moment, Sealed, Trigger, seal},
    id::{CheckpointId, LoopId},
};
use std::collections::HashMap;

use super::{
    SqlJournal, WriteTransaction,
    statement::{Statement, Value, columns, sql, unreadable},
    transaction,
};
use crate::{CheckpointFilter, CheckpointStore, RepositoryId, Result};

columns!(
    Link as LINK: id, loop_id, n, iteration, phase, at, commit = "tip_commit", body, hash, prev_hash
);

#[async_trait]
impl CheckpointStore for SqlJournal {
    async fn add_checkpoint(
        &mut self,
        repository: &RepositoryId,
        moment: &Moment,
    ) -> Result<Sealed> {
        transaction!(self, "make a checkpoint", |tx| {
            let before = before(&mut tx, repository, &moment.loop_id).await?;
            insert(&mut tx, repository, moment, &before).await
        })
    }

    async fn checkpoints(
        &mut self,
        repository: &RepositoryId,
        of: CheckpointFilter<'_>,
        most: u32,
    ) -> Result<Vec<Link>> {
        let (condition, order, mut values): (_, _, Vec<Value>) = match of {
            CheckpointFilter::Loop(id) => ("loop_id = ?", "n", vec![id.into()]),
            CheckpointFilter::Iteration(id, iteration) => {
                let condition = "loop_id = ? AND iteration = ?";
                (condition, "n", vec![id.into(), iteration.into()])
            }
            CheckpointFilter::Repository => ("repository_id = ?", "id", vec![repository.into()]),
        };
        let text = format!(
            "SELECT {LINK} FROM checkpoint WHERE {condition} ORDER BY {order} DESC LIMIT ?"
        );
        values.push(most.into());
        let found = Statement::new("list the checkpoints", text, values);
        self.all(found).await
    }

    async fn checkpoints_after(&mut self, loop_id: &LoopId) -> Result<HashMap<u64, CheckpointId>> {
        let rows: Vec<(u64, CheckpointId)> = self
            .all(sql!(
                "look up the checkpoints of a loop",
                "SELECT iteration, id FROM checkpoint WHERE loop_id = ? AND iteration IS NOT NULL
             ORDER BY n DESC LIMIT 4000",
                loop_id,
            ))
            .await?;
        // The newest comes last, and stays.
        Ok(rows.into_iter().rev().collect())
    }

    async fn last_checkpoint_id(&mut self, loop_id: &LoopId) -> Result<Option<CheckpointId>> {
        let text = "SELECT id FROM checkpoint WHERE loop_id = ? ORDER BY n DESC LIMIT 1";
        self.first(sql!("look up the last checkpoint", text, loop_id))
            .await
    }

    async fn checkpoints_made(&mut self, loop_id: &LoopId) -> Result<u64> {
        let made = self.first(made(loop_id)).await?;
        Ok(made.unwrap_or_default())
    }

    async fn checkpoints_like(
        &mut self,
        repository: &RepositoryId,
        part: &str,
    ) -> Result<Vec<Link>> {
        for condition in [
            // No id has a character behind `~`.
            "id >= ?2 AND id < ?2 || '~'",
            "substr(id, length(id) - length(?2) + 1) = ?2",
        ] {
            let text = format!(
                "SELECT {LINK} FROM checkpoint WHERE repository_id = ?1 AND {condition} LIMIT 2"
            );
            let found = sql!("look up a checkpoint", text, repository, part);
            let found = self.all(found).await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(Vec::new())
    }

    async fn checkpoint_chain(
        &mut self,
        loop_id: &LoopId,
        after: Option<u64>,
        most: u32,
    ) -> Result<Vec<Link>> {
        let text = format!(
            "SELECT {LINK} FROM checkpoint WHERE loop_id = ? AND n > COALESCE(?, -1) ORDER BY n LIMIT ?"
        );
        self.all(sql!("read the checkpoints", text, loop_id, after, most))
            .await
    }

    async fn checkpointed_loops(&mut self, repository: &RepositoryId) -> Result<Vec<LoopId>> {
        self.all(sql!(
            "list the loops with checkpoints",
            "SELECT id FROM loop WHERE repository_id = ?
             AND checkpoints > 0 ORDER BY id",
            repository,
        ))
        .await
    }
}

/// Adds a checkpoint to a transaction that has written already, and so is alone in writing. One of a
/// phase is made only where the phase is another than before.
pub(crate) async fn add_to(
    tx: &mut WriteTransaction<'_>,
    repository: &RepositoryId,
    moment: &Moment,
) -> Result<()> {
    let before = before(tx, repository, &moment.loop_id).await?;
    let old = before.checkpoint.as_ref();
    let same = old.is_some_and(|old| old.execution.phase == moment.phase(Some(old)));
    if moment.trigger == Trigger::Phase && same {
        return Ok(());
    }
    insert(tx, repository, moment, &before).await?;
    Ok(())
}

/// Looks up the number of the newest checkpoint that a loop was given.
fn made(loop_id: &LoopId) -> Statement {
    let text = "SELECT checkpoints FROM loop WHERE id = ?";
    sql!("count the checkpoints of a loop", text, loop_id)
}

/// The number of checkpoints that a loop has made, the last one's number, hash and body, and the tasks whose work was
/// taken back. One question: each goes to the database's thread and back.
type LastCheckpoint = (
    Option<u64>,
    Option<u64>,
    Option<String>,
    Option<String>,
    Option<String>,
);

/// Stands between ids of tasks; none holds it.
const BETWEEN: &str = "\u{1f}";

/// Returns what the next checkpoint of a loop follows. A newest one that can't be read is followed by its
/// hash alone: that it is damaged is what `verify` is there to say.
async fn before(
    db: &mut WriteTransaction<'_>,
    repository: &RepositoryId,
    loop_id: &LoopId,
) -> Result<Before> {
    if db.is_shared() {
        let lock = "SELECT 1 FROM loop WHERE id = ? FOR UPDATE";
        sql!("continue the checkpoints of a loop", lock, loop_id)
            .run(db)
            .await?;
    }
    let (made, n, hash, body, taken_back): LastCheckpoint = sql!(
        "look up the last checkpoint",
        "SELECT (SELECT checkpoints FROM loop WHERE id = ?1), last.n, last.hash, last.body,
           (SELECT string_agg(task_id, ?3) FROM
              (SELECT DISTINCT task_id FROM iteration AS gone INDEXED BY iteration_reverted
               WHERE repository_id = ?2 AND reverted_by IS NOT NULL AND loop_id = ?1 AND NOT EXISTS
                 (SELECT 1 FROM iteration AS again WHERE again.loop_id = gone.loop_id
                  AND again.task_id = gone.task_id AND again.verdict IN ('verified', 'unverified')
                  AND again.reverted_by IS NULL)) AS reverted)
         FROM (SELECT 1) AS always LEFT JOIN
           (SELECT n, hash, body FROM checkpoint WHERE loop_id = ?1 ORDER BY n DESC LIMIT 1) AS last
           ON true",
        loop_id,
        repository,
        BETWEEN,
    )
    .one(db)
    .await?;
    let made = made.unwrap_or_default();
    let (Some(n), Some(hash), Some(body)) = (n, hash, body) else {
        return Ok(Before {
            n: made,
            ..Before::default()
        });
    };
    Ok(Before {
        n: n.max(made),
        hash: Some(hash),
        checkpoint: serde_json::from_str(&body).ok(),
        taken_back: taken_back
            .map(|ids| ids.split(BETWEEN).map(str::to_owned).collect())
            .unwrap_or_default(),
    })
}

async fn insert(
    db: &mut WriteTransaction<'_>,
    repository: &RepositoryId,
    moment: &Moment,
    before: &Before,
) -> Result<Sealed> {
    let sealed = seal(moment.after(before)).map_err(unreadable("a checkpoint"))?;
    let link = Link::from(&sealed);
    sql!(
        "make a checkpoint",
        "INSERT INTO checkpoint (id, repository_id, loop_id, n, iteration, phase, at, body, hash, prev_hash, tip_commit)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        &link.id,
        repository,
        &link.loop_id,
        link.n,
        link.iteration,
        link.phase,
        link.at,
        link.body,
        link.hash,
        link.prev_hash,
        link.commit,
    )
    .run(db)
    .await?;
    Ok(sealed)
}
