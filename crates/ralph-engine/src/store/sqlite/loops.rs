//! Loops in SQLite.
//!
//! The totals of a loop's iterations are counted by the database itself (migration 8), so that a list of loops never
//! reads iterations.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment,
    economics::KeptForecast,
    id::{CheckpointId, LoopId},
    termination::Stop,
};
use sqlx::{FromRow, Row as _, SqliteConnection, sqlite::SqliteRow};

use super::{
    JournalError, SqliteJournal, checkpoints, failed, from_row,
    lock::{self, unwritten},
    unreadable,
};
use crate::store::{ListedLoop, LoopRow, LoopStore, NewLoop, OpenLoop, RepositoryId};

from_row!(LoopRow { id } [source, branch, base_commit, agent, config, baseline, started_at, ended_at, stop, paused_at]);
from_row!(OpenLoop { id } [repository_id, worktree, source, goal, branch, agent, started_at, ended_at, paused_at]);

const COLUMNS: &str = "id, source, branch, base_commit, agent, config, baseline, started_at, ended_at, stop, paused_at";

const LISTED: &str = "id, worktree, source, goal, branch, agent, iterations, verified, cost_millionths, input_tokens, output_tokens, started_at, ended_at, stop, paused_at, \
     COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.projectId' END, '') AS project_id, \
     COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.taskId' END, '') AS task_id, \
     (SELECT c.id FROM checkpoint c WHERE c.loop_id = loop.id ORDER BY c.n DESC LIMIT 1) AS last_checkpoint_id";

const OPEN: &str =
    "id, repository_id, worktree, source, goal, branch, agent, started_at, ended_at, paused_at";

/// A newer loop of the same working tree has taken the place of those before it.
pub(super) const NEWEST_OPEN: &str = "FROM loop AS l INDEXED BY loop_open WHERE ended_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM loop AS n WHERE n.repository_id = l.repository_id
                     AND n.worktree = l.worktree AND (n.started_at, n.id) > (l.started_at, l.id))
     ORDER BY started_at, id";

impl FromRow<'_, SqliteRow> for ListedLoop {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
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

#[async_trait]
impl LoopStore for SqliteJournal {
    async fn begin_loop(&mut self, new: &NewLoop<'_>) -> Result<(), JournalError> {
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

    async fn set_baseline(&mut self, loop_id: &LoopId, baseline: &str) -> Result<(), JournalError> {
        sqlx::query("UPDATE loop SET baseline = ? WHERE id = ?")
            .bind(baseline)
            .bind(loop_id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "record the baseline"))?;
        Ok(())
    }

    async fn set_paused(
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

    async fn end_loop(
        &mut self,
        loop_id: &LoopId,
        stop: &Stop,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        let mut tx = lock::begin(&mut self.db, &self.path, "end the loop").await?;
        end(&mut tx, loop_id, stop, at).await?;
        tx.commit().await.map_err(failed("end the loop"))
    }

    async fn end_loop_with_checkpoint(
        &mut self,
        repository: &RepositoryId,
        stop: &Stop,
        moment: &Moment,
    ) -> Result<(), JournalError> {
        let failed = || failed("end the loop");
        let mut tx = lock::begin(&mut self.db, &self.path, "end the loop").await?;
        end(&mut tx, &moment.loop_id, stop, moment.at).await?;
        checkpoints::add_to(&mut tx, repository, moment).await?;
        tx.commit().await.map_err(failed())
    }

    async fn last_loop(
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

    async fn loops(
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

    async fn listed_loop(&mut self, id: &LoopId) -> Result<Option<ListedLoop>, JournalError> {
        let sql = format!("SELECT {LISTED} FROM loop WHERE id = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    async fn loops_of(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        source: &str,
    ) -> Result<Vec<LoopRow>, JournalError> {
        let sql = format!(
            "SELECT {} FROM loop WHERE repository_id = ? AND worktree = ? AND source = ?
             ORDER BY started_at, id",
            COLUMNS
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(worktree)
            .bind(source)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list the loops"))
    }

    async fn loops_like(
        &mut self,
        repository: &RepositoryId,
        prefix: &str,
    ) -> Result<Vec<LoopRow>, JournalError> {
        let sql = format!(
            "SELECT {} FROM loop WHERE repository_id = ?1 AND substr(id, 1, length(?2)) = ?2 LIMIT 2",
            COLUMNS
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(prefix)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    async fn open_loops(&mut self) -> Result<Vec<OpenLoop>, JournalError> {
        let sql = format!("SELECT {OPEN} {NEWEST_OPEN}");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look for loops that are not over"))
    }

    async fn any_loop(&mut self, id: &LoopId) -> Result<Option<OpenLoop>, JournalError> {
        let sql = format!("SELECT {OPEN} FROM loop WHERE id = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    async fn loop_config(&mut self, id: &LoopId) -> Result<Option<String>, JournalError> {
        let row: Option<(String,)> = sqlx::query_as("SELECT config FROM loop WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("read a loop's configuration"))?;
        Ok(row.map(|(config,)| config))
    }

    async fn bases_of(
        &mut self,
        repository: &RepositoryId,
        branch: &str,
    ) -> Result<Vec<String>, JournalError> {
        let rows: Vec<(String,)> = sqlx::query_as(
            "SELECT base_commit FROM loop WHERE repository_id = ? AND branch = ? ORDER BY started_at, id",
        )
        .bind(&repository.0)
        .bind(branch)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look up where a branch began"))?;
        Ok(rows.into_iter().map(|(base,)| base).collect())
    }

    async fn loop_before(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Option<LoopId>, JournalError> {
        let row: Option<(String,)> = sqlx::query_as(
            "SELECT before.id FROM loop AS this
             JOIN loop AS before INDEXED BY loop_by_time
               ON before.repository_id = this.repository_id AND before.worktree = this.worktree
              AND before.source = this.source AND before.id <> this.id
              AND before.started_at <= this.started_at
             WHERE this.id = ?1 AND this.repository_id = ?2
             ORDER BY before.started_at DESC, before.id DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .bind(&repository.0)
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("look up the loop before"))?;
        Ok(row.map(|(id,)| id.into()))
    }

    async fn keep_forecast(
        &mut self,
        loop_id: &LoopId,
        kept: &KeptForecast,
    ) -> Result<(), JournalError> {
        let text = serde_json::to_string(kept).map_err(unreadable("a forecast"))?;
        sqlx::query("UPDATE loop SET forecast = ? WHERE id = ?")
            .bind(text)
            .bind(loop_id.as_str())
            .execute(&mut self.db)
            .await
            .map_err(failed("keep a forecast"))?;
        Ok(())
    }

    async fn forecast_of(
        &mut self,
        loop_id: &LoopId,
    ) -> Result<Option<KeptForecast>, JournalError> {
        let row: Option<(Option<String>,)> =
            sqlx::query_as("SELECT forecast FROM loop WHERE id = ?")
                .bind(loop_id.as_str())
                .fetch_optional(&mut self.db)
                .await
                .map_err(failed("look up a forecast"))?;
        let text = row.and_then(|(text,)| text);
        text.map(|text| serde_json::from_str(&text).map_err(unreadable("a forecast")))
            .transpose()
    }
}

async fn end(
    db: &mut SqliteConnection,
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
