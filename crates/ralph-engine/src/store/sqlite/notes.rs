//! Notes about loops in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::id::LoopId;

use super::{
    Result, SqliteJournal,
    statement::{columns, sql},
};
use crate::store::{LoopNote, NoteKind, NoteStore, OpenLoop};

columns!(LoopNote as NOTE: kind, sentence, at);

#[async_trait]
impl NoteStore for SqliteJournal {
    async fn add_note(
        &mut self,
        of: &OpenLoop,
        kind: NoteKind,
        sentence: &str,
        at: Timestamp,
    ) -> Result<()> {
        let insert =
            "INSERT INTO loop_note (loop_id, worktree, kind, sentence, at) VALUES (?, ?, ?, ?, ?)";
        let what = "note what was done about a loop";
        let (id, place) = (&of.id, &of.worktree);
        self.write(sql!(what, insert, id, place, kind.as_str(), sentence, at))
            .await
    }

    async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>> {
        sql!(
            "read what was noted about a loop",
            format!("SELECT {NOTE} FROM loop_note WHERE loop_id = ? ORDER BY id DESC LIMIT 1"),
            loop_id,
        )
        .first(&mut self.db)
        .await
    }

    async fn restarts(&mut self, worktree: &str, since: Timestamp) -> Result<u32> {
        sql!(
            "count restarts",
            "SELECT COUNT(*) FROM loop_note WHERE worktree = ? AND kind = ? AND at > ?",
            worktree,
            NoteKind::Restarted.as_str(),
            since,
        )
        .one(&mut self.db)
        .await
    }
}
