//! Loops in the journal: begun, given a baseline, ended, listed.
//!
//! What their iterations come to is counted by the database itself (migration 8), so that a list of
//! loops never reads iterations.

use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    id::{CheckpointId, LoopId},
    record::IterationRecord,
    termination::Stop,
};

use sqlx::Row as _;

use super::{
    Journal, JournalError, RepositoryId, checkpoints, failed,
    held::{self, unwritten},
    unreadable,
};

/// A loop that is about to begin.
#[derive(Debug, Clone)]
pub struct NewLoop<'a> {
    pub id: &'a LoopId,
    pub repository: &'a RepositoryId,
    pub worktree: &'a str,
    pub source: &'a str,
    /// What it is about.
    pub goal: &'a str,
    pub branch: &'a str,
    pub base_commit: &'a str,
    pub agent: &'a str,
    pub config: &'a str,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct LoopRow {
    #[sqlx(try_from = "String")]
    pub id: LoopId,
    pub source: String,
    pub branch: String,
    pub base_commit: String,
    pub agent: String,
    pub config: String,
    pub baseline: Option<String>,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub stop: Option<String>,
    /// Since when it pauses.
    pub paused_at: Option<String>,
}

/// A loop as a list shows it, with what its iterations come to.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedLoop {
    pub id: LoopId,
    pub worktree: String,
    pub source: String,
    pub goal: String,
    pub branch: String,
    pub agent: String,
    pub iterations: i64,
    /// Those that landed and were not taken back since.
    pub verified: i64,
    /// None as long as no agent told any.
    pub cost_millionths: Option<i64>,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub stop: Option<String>,
    pub paused_at: Option<String>,
    /// The project's name and the parent or the one task, as `status.json` has them; empty for a loop of
    /// an older ralph, which did not keep them.
    pub project_id: String,
    pub task_id: String,
    pub last_checkpoint_id: Option<CheckpointId>,
}

impl sqlx::FromRow<'_, sqlx::sqlite::SqliteRow> for ListedLoop {
    fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: row.try_get::<String, _>("id")?.into(),
            worktree: row.try_get("worktree")?,
            source: row.try_get("source")?,
            goal: row.try_get("goal")?,
            branch: row.try_get("branch")?,
            agent: row.try_get("agent")?,
            iterations: row.try_get("iterations")?,
            verified: row.try_get("verified")?,
            cost_millionths: row.try_get("cost_millionths")?,
            input_tokens: row.try_get("input_tokens")?,
            output_tokens: row.try_get("output_tokens")?,
            started_at: row.try_get("started_at")?,
            ended_at: row.try_get("ended_at")?,
            stop: row.try_get("stop")?,
            paused_at: row.try_get("paused_at")?,
            project_id: row.try_get("project_id")?,
            task_id: row.try_get("task_id")?,
            last_checkpoint_id: row
                .try_get::<Option<String>, _>("last_checkpoint_id")?
                .map(CheckpointId::from),
        })
    }
}

const LISTED: &str = "id, worktree, source, goal, branch, agent, iterations, verified, cost_millionths, input_tokens, output_tokens, started_at, ended_at, stop, paused_at, \
     COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.projectId' END, '') AS project_id, \
     COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.taskId' END, '') AS task_id, \
     (SELECT c.id FROM checkpoint c WHERE c.loop_id = loop.id ORDER BY c.n DESC LIMIT 1) AS last_checkpoint_id";

pub(super) const COLUMNS: &str = "id, source, branch, base_commit, agent, config, baseline, started_at, ended_at, stop, paused_at";

impl Journal {
    pub async fn begin_loop(&mut self, new: &NewLoop<'_>) -> Result<(), JournalError> {
        sqlx::query(
            "INSERT INTO loop (id, repository_id, worktree, source, goal, branch, base_commit, agent, config, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(new.id.as_str())
        .bind(&new.repository.0)
        .bind(new.worktree)
        .bind(new.source)
        .bind(new.goal)
        .bind(new.branch)
        .bind(new.base_commit)
        .bind(new.agent)
        .bind(new.config)
        .bind(new.at.to_string())
        .execute(&mut self.db)
        .await
        .map_err(unwritten(&self.path, "begin a loop"))?;
        Ok(())
    }

    pub async fn set_baseline(
        &mut self,
        loop_id: &LoopId,
        baseline: &str,
    ) -> Result<(), JournalError> {
        sqlx::query("UPDATE loop SET baseline = ? WHERE id = ?")
            .bind(baseline)
            .bind(loop_id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "record the baseline"))?;
        Ok(())
    }

    pub async fn end_loop(
        &mut self,
        loop_id: &LoopId,
        stop: &Stop,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let mut tx = held::begin(&mut self.db, &self.path, "end the loop").await?;
        end(&mut tx, loop_id, stop, at).await?;
        tx.commit().await.map_err(failed("end the loop"))
    }

    /// Ends a loop together with the checkpoint of its stop.
    pub async fn end_loop_at(
        &mut self,
        repository: &RepositoryId,
        stop: &Stop,
        moment: &Moment,
    ) -> Result<(), JournalError> {
        let failed = || failed("end the loop");
        let mut tx = held::begin(&mut self.db, &self.path, "end the loop").await?;
        end(&mut tx, &moment.loop_id, stop, moment.at).await?;
        checkpoints::add_to(&mut tx, repository, moment).await?;
        tx.commit().await.map_err(failed())
    }

    /// The newest loop of this worktree, ended or not.
    pub async fn last_loop(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<LoopRow>, JournalError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM loop WHERE repository_id = ? AND worktree = ? ORDER BY started_at DESC, id DESC LIMIT 1"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(worktree)
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up the last loop"))
    }

    /// A loop that never said why it ended: its process is gone.
    pub async fn interrupted_loop(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<LoopRow>, JournalError> {
        Ok(self
            .last_loop(repository, worktree)
            .await?
            .filter(|l| l.ended_at.is_none()))
    }

    /// The newest loops of a repository, newest first.
    pub async fn loops(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<ListedLoop>, JournalError> {
        let sql = format!(
            "SELECT {LISTED} FROM loop INDEXED BY loop_by_time WHERE repository_id = ?
             ORDER BY started_at DESC, id DESC LIMIT ?"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(most)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the loops"))
    }

    /// One loop, with what its iterations come to.
    pub async fn listed_loop(&mut self, id: &LoopId) -> Result<Option<ListedLoop>, JournalError> {
        let sql = format!("SELECT {LISTED} FROM loop WHERE id = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    /// The newest records of a loop, oldest of them first.
    pub async fn last_records_of(
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
}

async fn end(
    db: &mut sqlx::SqliteConnection,
    loop_id: &LoopId,
    stop: &Stop,
    at: Timestamp,
) -> Result<(), JournalError> {
    let stop = serde_json::to_string(stop).map_err(unreadable("why a loop stopped"))?;
    sqlx::query("UPDATE loop SET ended_at = ?, stop = ? WHERE id = ?")
        .bind(at.to_string())
        .bind(stop)
        .bind(loop_id.as_str())
        .execute(db)
        .await
        .map_err(failed("end the loop"))?;
    Ok(())
}
