//! Reverts and squashes in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    JournalError, SqliteJournal, failed,
    lock::{self, unwritten},
    tasks::upsert_state,
    unreadable,
};
use crate::store::{NewRewrite, RepositoryId, RewriteKind, RewriteRow, RewriteStore, TaskHistory};

const REWRITE: &str =
    "SELECT id, kind, branch, from_commit, to_commit, made_commit, body FROM rewrite";

type RawRewrite = (
    String,
    String,
    String,
    String,
    String,
    Option<String>,
    String,
);

#[async_trait]
impl RewriteStore for SqliteJournal {
    async fn begin_rewrite(&mut self, new: &NewRewrite<'_>) -> Result<(), JournalError> {
        let body = serde_json::to_string(new.body).map_err(unreadable("a rewrite"))?;
        sqlx::query(
            "INSERT INTO rewrite (id, repository_id, worktree, kind, branch, from_commit, to_commit, made_commit, body, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(new.id)
        .bind(&new.repository.0)
        .bind(new.worktree)
        .bind(new.kind.as_str())
        .bind(new.branch)
        .bind(new.from)
        .bind(new.to)
        .bind(new.made)
        .bind(body)
        .bind(new.at.to_string())
        .execute(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "record what is about to be rewritten"))?;
        Ok(())
    }

    async fn end_rewrite(
        &mut self,
        repository: &RepositoryId,
        row: &RewriteRow,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let failed = || failed("record what was rewritten");
        let iterations =
            serde_json::to_string(&row.body.iterations).map_err(unreadable("a rewrite"))?;
        let mark = match row.kind {
            RewriteKind::Revert => {
                "UPDATE iteration SET reverted_by = ? WHERE repository_id = ? AND id IN (SELECT value FROM json_each(?))"
            }
            RewriteKind::Squash => {
                "UPDATE iteration SET squashed_by = ? WHERE repository_id = ? AND id IN (SELECT value FROM json_each(?))"
            }
        };
        let mut tx = lock::begin(&mut self.db, &self.path, "record what was rewritten").await?;
        sqlx::query(mark)
            .bind(&row.id)
            .bind(&repository.0)
            .bind(iterations)
            .execute(&mut *tx)
            .await
            .map_err(failed())?;
        for task in &row.body.reopened {
            let state = TaskHistory::default();
            upsert_state(
                &mut tx,
                repository,
                &task.source,
                task.task_id.as_str(),
                &state,
            )
            .await?;
        }
        sqlx::query("UPDATE rewrite SET ended_at = ?, outcome = 'done' WHERE id = ?")
            .bind(at.to_string())
            .bind(&row.id)
            .execute(&mut *tx)
            .await
            .map_err(failed())?;
        tx.commit().await.map_err(failed())
    }

    async fn give_up_rewrite(&mut self, id: &str, at: Timestamp) -> Result<(), JournalError> {
        sqlx::query("UPDATE rewrite SET ended_at = ?, outcome = 'given_up' WHERE id = ?")
            .bind(at.to_string())
            .bind(id)
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "give up a rewrite"))?;
        Ok(())
    }

    async fn unfinished_rewrite(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<RewriteRow>, JournalError> {
        let sql = format!(
            "{REWRITE} WHERE repository_id = ? AND worktree = ? AND ended_at IS NULL
             ORDER BY started_at DESC LIMIT 1"
        );
        let row: Option<RawRewrite> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(worktree)
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look for an unfinished rewrite"))?;
        row.map(parse).transpose()
    }

    async fn rewrites(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<RewriteRow>, JournalError> {
        let sql = format!(
            "{REWRITE} WHERE repository_id = ? AND outcome = 'done' ORDER BY started_at, id"
        );
        let rows: Vec<RawRewrite> = sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the rewrites"))?;
        rows.into_iter().map(parse).collect()
    }
}

fn parse(raw: RawRewrite) -> Result<RewriteRow, JournalError> {
    let (id, kind, branch, from, to, made, body) = raw;
    Ok(RewriteRow {
        id,
        // The table holds these two alone.
        kind: match kind.as_str() {
            "squash" => RewriteKind::Squash,
            _ => RewriteKind::Revert,
        },
        branch,
        from,
        to,
        made,
        body: serde_json::from_str(&body).map_err(unreadable("a rewrite"))?,
    })
}
