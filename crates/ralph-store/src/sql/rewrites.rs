//! Reverts and squashes.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    SqlJournal,
    audit::{self, Actor, Deed},
    statement::{Columns, FromColumns, columns, json, sql, unreadable},
    tasks::upsert_state,
    transaction,
};
use crate::{NewRewrite, RepositoryId, Result, RewriteKind, RewriteRow, RewriteStore, TaskHistory};

columns!(RewriteRow as REWRITE: id, kind, branch, from = "from_commit", to = "to_commit", made = "made_commit", body);

impl FromColumns for RewriteKind {
    fn from_columns(row: &mut Columns<'_>) -> Result<Self> {
        // The table holds these two alone.
        Ok(match row.next::<String>()?.as_str() {
            "squash" => Self::Squash,
            _ => Self::Revert,
        })
    }
}

#[async_trait]
impl RewriteStore for SqlJournal {
    async fn begin_rewrite(&mut self, new: &NewRewrite<'_>) -> Result<()> {
        self.write(sql!(
            "record what is about to be rewritten",
            "INSERT INTO rewrite (id, repository_id, worktree, kind, branch, from_commit, to_commit, made_commit, body, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            new.id,
            new.repository,
            new.worktree,
            new.kind.as_str(),
            new.branch,
            new.from,
            new.to,
            new.made,
            json(new.body)?,
            new.at,
        ))
        .await
    }

    async fn end_rewrite(
        &mut self,
        repository: &RepositoryId,
        row: &RewriteRow,
        at: Timestamp,
    ) -> Result<()> {
        let what = "record what was rewritten";
        let iterations =
            serde_json::to_string(&row.body.iterations).map_err(unreadable("a rewrite"))?;
        let column = match row.kind {
            RewriteKind::Revert => "reverted_by",
            RewriteKind::Squash => "squashed_by",
        };
        let mark = format!(
            "UPDATE iteration SET {column} = ? WHERE repository_id = ? AND id IN json_texts(?)"
        );
        let mut all = sql!(what, mark, &row.id, repository, iterations);
        let state = TaskHistory::default();
        for task in &row.body.reopened {
            let id = task.task_id.as_str();
            all = all.then(upsert_state(repository, &task.source, id, &state)?);
        }
        let end = "UPDATE rewrite SET ended_at = ?, outcome = 'done' WHERE id = ?";
        let body = json(&row.body)?;
        let deed = Deed {
            actor: Actor::Ralph,
            action: row.kind.as_str(),
            at,
            repository: Some(repository),
            loop_id: None,
            task: None,
            subject: Some(&row.branch),
            detail: Some(&body),
        };
        let all = all
            .then(sql!(what, end, at, &row.id))
            .then(audit::entry(deed));
        transaction!(self, what, |tx| {
            all.run(&mut tx).await?;
            Ok(())
        })
    }

    async fn give_up_rewrite(&mut self, id: &str, at: Timestamp) -> Result<()> {
        let end = "UPDATE rewrite SET ended_at = ?, outcome = 'given_up' WHERE id = ?";
        self.write(sql!("give up a rewrite", end, at, id)).await
    }

    async fn unfinished_rewrite(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<RewriteRow>> {
        let text = format!(
            "SELECT {REWRITE} FROM rewrite WHERE repository_id = ? AND worktree = ? AND ended_at IS NULL
             ORDER BY started_at DESC LIMIT 1"
        );
        let what = "look for an unfinished rewrite";
        self.first(sql!(what, text, repository, worktree)).await
    }

    async fn rewrites(&mut self, repository: &RepositoryId) -> Result<Vec<RewriteRow>> {
        let text = format!(
            "SELECT {REWRITE} FROM rewrite WHERE repository_id = ? AND outcome = 'done' ORDER BY started_at, id"
        );
        self.all(sql!("list the rewrites", text, repository)).await
    }
}
