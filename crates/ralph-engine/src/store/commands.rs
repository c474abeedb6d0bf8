//! The queue of a person's commands: added by any terminal, filled in by whoever obeys.
//!
//! A command is done in the transaction that writes what it did, so that it is done exactly once.

use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport},
    escalation::Answered,
    id::{CommandId, LoopId, QuestionId},
    task::TaskId,
};

use super::{
    Journal, JournalError, RepositoryId, TaskState, failed,
    guidance::{NewGuidance, insert_guidance},
    held::{self, unwritten},
    iterations::upsert_state,
    questions::write_answer,
    unreadable,
};

/// A command that nobody has obeyed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    pub id: CommandId,
    pub who: String,
    pub at: Timestamp,
    pub command: Command,
}

/// How a command ends.
#[derive(Debug, Clone, Copy)]
pub struct Ended<'a> {
    pub id: CommandId,
    pub report: &'a CommandReport,
    pub at: Timestamp,
}

/// What a command does to the journal, written together with its end.
#[derive(Debug, Default)]
pub struct Effects {
    pub states: Vec<(TaskId, TaskState)>,
    pub guidance: Vec<NewGuidance>,
    pub answered: Option<(QuestionId, Answered)>,
}

impl Journal {
    /// Puts a command into the queue; gives its number.
    pub async fn submit_command(
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
        Ok(CommandId::new(number(id)))
    }

    /// The commands that nobody has obeyed yet, oldest first.
    pub async fn waiting_commands(
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
                    id: CommandId::new(number(id)),
                    who,
                    at: at.parse().unwrap_or_default(),
                    command: serde_json::from_str(&body).map_err(unreadable("a command"))?,
                })
            })
            .collect()
    }

    /// What became of a command; `None` while it waits.
    pub async fn command_result(
        &mut self,
        id: CommandId,
    ) -> Result<Option<CommandReport>, JournalError> {
        let row: Option<(Option<String>,)> =
            sqlx::query_as("SELECT result FROM command WHERE id = ?")
                .bind(column(id.get()))
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up a command"))?;
        row.and_then(|(result,)| result)
            .map(|text| serde_json::from_str(&text).map_err(unreadable("a command's result")))
            .transpose()
    }

    /// Ends a command together with what it did. One that has ended before is left as it is.
    pub async fn finish_command(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ended: Ended<'_>,
        effects: &Effects,
    ) -> Result<(), JournalError> {
        let failed = || failed("end a command");
        let Ended { id, report, at } = ended;
        let result = serde_json::to_string(report).map_err(unreadable("a command's result"))?;
        let mut tx = held::begin(&mut self.db, &self.path, "end a command").await?;
        let changed = sqlx::query(
            "UPDATE command SET done_at = ?, result = ? WHERE id = ? AND done_at IS NULL",
        )
        .bind(at.to_string())
        .bind(result)
        .bind(column(id.get()))
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

    /// Notes that a loop pauses, or goes on.
    pub async fn set_paused(
        &mut self,
        loop_id: &LoopId,
        since: Option<Timestamp>,
    ) -> Result<(), JournalError> {
        sqlx::query("UPDATE loop SET paused_at = ? WHERE id = ?")
            .bind(since.map(|at| at.to_string()))
            .bind(loop_id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "note a pause"))?;
        Ok(())
    }
}

pub(super) fn number(id: i64) -> u64 {
    u64::try_from(id).unwrap_or_default()
}

pub(super) fn column(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}
