//! Reverts and squashes in the journal: the intent, the end in one transaction, and what became of
//! the commits of iterations.
//!
//! Nothing that happened is taken out: an iteration keeps its record and is marked.

use jiff::Timestamp;
use ralph_core::{id::IterationId, task::TaskId};
use serde::{Deserialize, Serialize};

use super::{
    Journal, JournalError, RepositoryId, TaskState, failed,
    held::{self, unwritten},
    iterations::upsert_state,
    unreadable,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewriteKind {
    Revert,
    Squash,
}

impl RewriteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Revert => "revert",
            Self::Squash => "squash",
        }
    }

    /// The ref that keeps what the branch held before.
    pub fn reference(self, id: &str) -> String {
        match self {
            Self::Revert => format!("refs/ralph/reverted/{id}"),
            Self::Squash => format!("refs/ralph/squashed/{id}"),
        }
    }
}

/// What a rewrite is about; enough to end it after a crash.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RewriteBody {
    /// The ids of the iterations whose commits go.
    pub iterations: Vec<IterationId>,
    /// Their numbers, for people.
    pub numbers: Vec<u64>,
    pub reopened: Vec<ReopenedTask>,
}

/// A task that is open again, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReopenedTask {
    pub source: String,
    pub task_id: TaskId,
    pub title: String,
}

#[derive(Debug, Clone)]
pub struct NewRewrite<'a> {
    pub id: &'a str,
    pub repository: &'a RepositoryId,
    pub worktree: &'a str,
    pub kind: RewriteKind,
    pub branch: &'a str,
    pub from: &'a str,
    pub to: &'a str,
    pub made: Option<&'a str>,
    pub body: &'a RewriteBody,
    pub at: Timestamp,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RewriteRow {
    pub id: String,
    pub kind: RewriteKind,
    pub branch: String,
    pub from: String,
    pub to: String,
    pub made: Option<String>,
    pub body: RewriteBody,
}

impl RewriteRow {
    pub fn reference(&self) -> String {
        self.kind.reference(&self.id)
    }
}

/// An iteration and what became of its commit.
#[derive(Debug, Clone, PartialEq, sqlx::FromRow)]
pub struct LandingRow {
    #[sqlx(try_from = "String")]
    pub id: IterationId,
    pub n: i64,
    pub task_id: String,
    pub title: Option<String>,
    pub verdict: Option<String>,
    pub result_commit: Option<String>,
    pub branch: String,
    pub source: String,
    pub worktree: String,
    pub reverted_by: Option<String>,
    pub squashed_by: Option<String>,
}

const LANDING: &str = "SELECT iteration.id, n, task_id, json_extract(record, '$.title') AS title, \
     verdict, result_commit, branch, source, worktree, reverted_by, squashed_by \
     FROM iteration JOIN loop ON loop.id = iteration.loop_id";

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

impl Journal {
    /// Writes down what is about to be done.
    pub async fn begin_rewrite(&mut self, new: &NewRewrite<'_>) -> Result<(), JournalError> {
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

    /// Ends a rewrite that was done: its iterations are marked, and tasks that are open again start
    /// afresh.
    pub async fn end_rewrite(
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
        let mut tx = held::begin(&mut self.db, &self.path, "record what was rewritten").await?;
        sqlx::query(mark)
            .bind(&row.id)
            .bind(&repository.0)
            .bind(iterations)
            .execute(&mut *tx)
            .await
            .map_err(failed())?;
        for task in &row.body.reopened {
            let state = TaskState::default();
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

    /// Ends a rewrite that changed nothing.
    pub async fn give_up_rewrite(&mut self, id: &str, at: Timestamp) -> Result<(), JournalError> {
        sqlx::query("UPDATE rewrite SET ended_at = ?, outcome = 'given_up' WHERE id = ?")
            .bind(at.to_string())
            .bind(id)
            .execute(&mut self.db)
            .await
            .map_err(unwritten(&self.path, "give up a rewrite"))?;
        Ok(())
    }

    /// The rewrite that a crash left without an end.
    pub async fn unfinished_rewrite(
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

    /// The rewrites of a repository that were done, oldest first.
    pub async fn rewrites(
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

    /// Iteration `n`, landed or not.
    pub async fn landing(
        &mut self,
        repository: &RepositoryId,
        n: u64,
    ) -> Result<Option<LandingRow>, JournalError> {
        let sql = format!("{LANDING} WHERE iteration.repository_id = ? AND n = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .bind(i64::try_from(n).unwrap_or(i64::MAX))
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up an iteration"))
    }

    /// Every iteration that completed its task, oldest first.
    pub async fn landings(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<Vec<LandingRow>, JournalError> {
        let sql = format!(
            "{LANDING} WHERE iteration.repository_id = ? AND (verdict = 'verified' OR result_commit IS NOT NULL)
             ORDER BY n"
        );
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(&repository.0)
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("list what landed"))
    }

    /// Where loops on a branch began, the oldest first.
    pub async fn bases_of(
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

    /// How many commits of iterations were reverted.
    pub async fn count_reverted(
        &mut self,
        repository: &RepositoryId,
    ) -> Result<usize, JournalError> {
        let (count,): (i64,) = sqlx::query_as(
            "SELECT count(*) FROM iteration INDEXED BY iteration_reverted
             WHERE repository_id = ? AND reverted_by IS NOT NULL AND result_commit IS NOT NULL",
        )
        .bind(&repository.0)
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count what was reverted"))?;
        Ok(usize::try_from(count).unwrap_or_default())
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
