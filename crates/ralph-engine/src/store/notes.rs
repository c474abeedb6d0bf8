//! Loops that are not over, and what `ralph monitor` noted about them.
//!
//! Notes are only added: they say what was done to a process from outside, and nothing follows from
//! them but what people are told twice, and how often a loop is started again.

use jiff::Timestamp;
use serde::Serialize;

use ralph_core::id::LoopId;

use super::{Journal, JournalError, failed};

/// A loop without an end, as whoever looks on needs it.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct OpenLoop {
    #[sqlx(try_from = "String")]
    pub id: LoopId,
    pub repository_id: String,
    pub worktree: String,
    pub source: String,
    pub goal: String,
    pub branch: String,
    pub agent: String,
    pub started_at: String,
    pub ended_at: Option<String>,
    pub paused_at: Option<String>,
}

/// What a note is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    Asked,
    Escalated,
    Terminating,
    Killed,
    Terminated,
    Gone,
    Restarted,
    GivenUp,
    Recovered,
}

impl NoteKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Escalated => "escalated",
            Self::Terminating => "terminating",
            Self::Killed => "killed",
            Self::Terminated => "terminated",
            Self::Gone => "gone",
            Self::Restarted => "restarted",
            Self::GivenUp => "given_up",
            Self::Recovered => "recovered",
        }
    }
}

/// A note as it was written; the JSON form is a contract (docs/json.md).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, sqlx::FromRow)]
pub struct LoopNote {
    pub kind: String,
    pub sentence: String,
    pub at: String,
}

const OPEN: &str =
    "id, repository_id, worktree, source, goal, branch, agent, started_at, ended_at, paused_at";

/// A newer loop of the same working tree has taken the place of those before it.
pub(super) const NEWEST_OPEN: &str = "FROM loop AS l INDEXED BY loop_open WHERE ended_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM loop AS n WHERE n.repository_id = l.repository_id
                     AND n.worktree = l.worktree AND (n.started_at, n.id) > (l.started_at, l.id))
     ORDER BY started_at, id";

impl Journal {
    /// The newest loop of each working tree where that has no end, of all repositories, oldest first.
    pub async fn open_loops(&mut self) -> Result<Vec<OpenLoop>, JournalError> {
        let sql = format!("SELECT {OPEN} {NEWEST_OPEN}");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .fetch_all(&mut self.db)
            .await
            .map_err(failed("look for loops that are not over"))
    }

    /// One loop, over or not.
    pub async fn any_loop(&mut self, id: &LoopId) -> Result<Option<OpenLoop>, JournalError> {
        let sql = format!("SELECT {OPEN} FROM loop WHERE id = ?");
        sqlx::query_as(sqlx::AssertSqlSafe(sql))
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("look up a loop"))
    }

    /// The configuration that a loop began with.
    pub async fn config_of(&mut self, id: &LoopId) -> Result<Option<String>, JournalError> {
        let row: Option<(String,)> = sqlx::query_as("SELECT config FROM loop WHERE id = ?")
            .bind(id.as_str())
            .fetch_optional(&mut self.db)
            .await
            .map_err(failed("read a loop's configuration"))?;
        Ok(row.map(|(config,)| config))
    }

    pub async fn add_note(
        &mut self,
        of: &OpenLoop,
        kind: NoteKind,
        sentence: &str,
        at: Timestamp,
    ) -> Result<(), JournalError> {
        sqlx::query(
            "INSERT INTO loop_note (loop_id, worktree, kind, sentence, at) VALUES (?, ?, ?, ?, ?)",
        )
        .bind(of.id.as_str())
        .bind(&of.worktree)
        .bind(kind.as_str())
        .bind(sentence)
        .bind(at.to_string())
        .execute(&mut self.db)
        .await
        .map_err(failed("note what was done about a loop"))?;
        Ok(())
    }

    /// The newest note about a loop.
    pub async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>, JournalError> {
        sqlx::query_as(
            "SELECT kind, sentence, at FROM loop_note WHERE loop_id = ? ORDER BY id DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("read what was noted about a loop"))
    }

    /// How often loops of a working tree were started again since a moment.
    pub async fn restarts(
        &mut self,
        worktree: &str,
        since: Timestamp,
    ) -> Result<u32, JournalError> {
        let (count,): (i64,) = sqlx::query_as(
            "SELECT COUNT(*) FROM loop_note WHERE worktree = ? AND kind = ? AND at > ?",
        )
        .bind(worktree)
        .bind(NoteKind::Restarted.as_str())
        .bind(since.to_string())
        .fetch_one(&mut self.db)
        .await
        .map_err(failed("count restarts"))?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}
