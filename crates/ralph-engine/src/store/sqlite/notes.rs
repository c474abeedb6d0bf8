//! Notes about loops in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::id::LoopId;

use super::{JournalError, SqliteJournal, failed, from_row};
use crate::store::{LoopNote, NoteKind, NoteStore, OpenLoop};

from_row!(LoopNote {} [kind, sentence, at]);

#[async_trait]
impl NoteStore for SqliteJournal {
    async fn add_note(
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

    async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>, JournalError> {
        sqlx::query_as(
            "SELECT kind, sentence, at FROM loop_note WHERE loop_id = ? ORDER BY id DESC LIMIT 1",
        )
        .bind(loop_id.as_str())
        .fetch_optional(&mut self.db)
        .await
        .map_err(failed("read what was noted about a loop"))
    }

    async fn restarts(&mut self, worktree: &str, since: Timestamp) -> Result<u32, JournalError> {
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
