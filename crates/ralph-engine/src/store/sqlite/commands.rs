//! The queue of commands, and guidance, in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport},
    id::CommandId,
    record::Guidance,
    task::TaskId,
};
use sqlx::SqliteConnection;

use super::{
    JournalError, SqliteJournal, failed,
    lock::{self, unwritten},
    questions::write_answer,
    signed,
    tasks::upsert_state,
    unreadable, unsigned,
};
use crate::store::{
    CommandEffects, CommandEnd, CommandRow, CommandStore, NewGuidance, RepositoryId,
};

/// CheckpointFilter all that was ever said about a task, the newest are told.
const MOST: i64 = 20;

#[async_trait]
impl CommandStore for SqliteJournal {
    async fn submit_command(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        command: &Command,
        who: &str,
        at: Timestamp,
    ) -> Result<CommandId, JournalError> {
        let body = serde_json::to_string(command).map_err(unreadable("a command"))?;
        let (id,): (i64,) = sqlx::query_as(
            "INSERT INTO command (repository_id, worktree, who, at, body) VALUES (?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(&repository.0)
        .bind(worktree)
        .bind(who)
        .bind(at.to_string())
        .bind(body)
        .fetch_one(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "queue a command"))?;
        Ok(CommandId::new(unsigned(id)))
    }

    async fn waiting_commands(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<CommandRow>, JournalError> {
        let rows: Vec<(i64, String, String, String)> = sqlx::query_as(
            "SELECT id, who, at, body FROM command
             WHERE repository_id = ? AND worktree = ? AND done_at IS NULL ORDER BY id",
        )
        .bind(&repository.0)
        .bind(worktree)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look for commands"))?;
        rows.into_iter()
            .map(|(id, who, at, body)| {
                Ok(CommandRow {
                    id: CommandId::new(unsigned(id)),
                    who,
                    at: at.parse().unwrap_or_default(),
                    command: serde_json::from_str(&body).map_err(unreadable("a command"))?,
                })
            })
            .collect()
    }

    async fn command_result(
        &mut self,
        id: CommandId,
    ) -> Result<Option<CommandReport>, JournalError> {
        let row: Option<(Option<String>,)> =
            sqlx::query_as("SELECT result FROM command WHERE id = ?")
                .bind(signed(id.get()))
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up a command"))?;
        row.and_then(|(result,)| result)
            .map(|text| serde_json::from_str(&text).map_err(unreadable("a command's result")))
            .transpose()
    }

    async fn finish_command(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ended: CommandEnd<'_>,
        effects: &CommandEffects,
    ) -> Result<(), JournalError> {
        let failed = || failed("end a command");
        let CommandEnd { id, report, at } = ended;
        let result = serde_json::to_string(report).map_err(unreadable("a command's result"))?;
        let mut tx = lock::begin(&mut self.db, &self.path, "end a command").await?;
        let changed = sqlx::query(
            "UPDATE command SET done_at = ?, result = ? WHERE id = ? AND done_at IS NULL",
        )
        .bind(at.to_string())
        .bind(result)
        .bind(signed(id.get()))
        .execute(&mut *tx)
        .await
        .map_err(failed())?;
        if changed.rows_affected() == 0 {
            return Ok(());
        }
        for (task, state) in &effects.states {
            upsert_state(&mut tx, repository, source, task.as_str(), state).await?;
        }
        for guidance in &effects.guidance {
            insert_guidance(&mut tx, repository, source, guidance).await?;
        }
        if let Some((question, answered)) = &effects.answered {
            write_answer(&mut tx, *question, answered).await?;
        }
        tx.commit().await.map_err(failed())
    }

    async fn guidance(
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

    async fn use_guidance(
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
        .bind(signed(iteration))
        .bind(&repository.0)
        .bind(source)
        .execute(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "note that guidance is used"))?;
        Ok(found)
    }
}

pub(super) async fn insert_guidance(
    db: &mut SqliteConnection,
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
    .bind(new.iteration.map(signed))
    .execute(db)
    .await
    .map_err(failed("keep guidance"))?;
    Ok(())
}
