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
    Result, SqliteJournal,
    questions::write_answer,
    statement::{columns, json, sql},
    tasks::upsert_state,
};
use crate::store::{
    CommandEffects, CommandEnd, CommandRow, CommandStore, NewGuidance, RepositoryId,
};

/// Of all that was ever said about a task, the newest are told.
const MOST: i64 = 20;

columns!(CommandRow as COMMAND: id, who, at, command = "body");
columns!(Guidance as GUIDANCE: text, by = "who", at);

#[async_trait]
impl CommandStore for SqliteJournal {
    async fn submit_command(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        command: &Command,
        who: &str,
        at: Timestamp,
    ) -> Result<CommandId> {
        let what = "queue a command";
        let insert = "INSERT INTO command (repository_id, worktree, who, at, body) VALUES (?, ?, ?, ?, ?) RETURNING id";
        let insert = sql!(what, insert, repository, worktree, who, at, json(command)?);
        let mut tx = self.begin(what).await?;
        let id = insert.one(&mut tx).await?;
        tx.commit().await?;
        Ok(id)
    }

    async fn waiting_commands(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<CommandRow>> {
        let text = format!(
            "SELECT {COMMAND} FROM command
             WHERE repository_id = ? AND worktree = ? AND done_at IS NULL ORDER BY id"
        );
        let found = sql!("look for commands", text, repository, worktree);
        found.all(&mut self.db).await
    }

    async fn command_result(&mut self, id: CommandId) -> Result<Option<CommandReport>> {
        let text = "SELECT result FROM command WHERE id = ? AND result IS NOT NULL";
        let found = sql!("look up a command", text, id);
        found.first(&mut self.db).await
    }

    async fn finish_command(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ended: CommandEnd<'_>,
        effects: &CommandEffects,
    ) -> Result<()> {
        let what = "end a command";
        let end = "UPDATE command SET done_at = ?, result = ? WHERE id = ? AND done_at IS NULL";
        let end = sql!(what, end, ended.at, json(ended.report)?, ended.id);
        let mut tx = self.begin(what).await?;
        if end.run(&mut tx).await? == 0 {
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
        tx.commit().await
    }

    async fn guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
    ) -> Result<Vec<Guidance>> {
        let text = format!(
            "SELECT {GUIDANCE} FROM
               (SELECT id, text, who, at FROM guidance
                WHERE repository_id = ? AND source = ? AND (task_id = ? OR task_id IS NULL)
                ORDER BY id DESC LIMIT ?)
             ORDER BY id"
        );
        let found = sql!("look for guidance", text, repository, source, task, MOST);
        found.all(&mut self.db).await
    }

    async fn use_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        iteration: u64,
    ) -> Result<Vec<Guidance>> {
        let found = self.guidance(repository, source, task).await?;
        if found.is_empty() {
            return Ok(found);
        }
        self.write(sql!(
            "note that guidance is used",
            "UPDATE guidance SET task_id = ?1, iteration = COALESCE(iteration, ?2)
             WHERE repository_id = ?3 AND source = ?4 AND (task_id = ?1 OR task_id IS NULL)
               AND (iteration IS NULL OR task_id IS NULL)",
            task,
            iteration,
            repository,
            source,
        ))
        .await?;
        Ok(found)
    }
}

async fn insert_guidance(
    db: &mut SqliteConnection,
    repository: &RepositoryId,
    source: &str,
    new: &NewGuidance,
) -> Result<()> {
    sql!(
        "keep guidance",
        "INSERT INTO guidance (repository_id, source, task_id, text, who, at, iteration)
         VALUES (?, ?, ?, ?, ?, ?, ?)",
        repository,
        source,
        new.task.as_ref(),
        &new.text,
        &new.who,
        new.at,
        new.iteration,
    )
    .run(db)
    .await?;
    Ok(())
}
