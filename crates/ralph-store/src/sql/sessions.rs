//! Loops inside the sessions of agents, in SQLite.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    id::LoopId,
    session_loop::{SessionEndReason, SessionOutcome},
};

use super::{
    Result, SqliteJournal,
    costs::{Sums, grow},
    statement::{columns, json as stored, sql},
};
use crate::{
    NewSessionLoop, RepositoryId, SessionIteration, SessionLoopRow, SessionStore,
    sessions::SESSION_WORK,
};

columns!(
    SessionLoopRow as COLUMNS: id, repository_id, worktree, agent, session, prompt, max_iterations,
    completion_promise, config, iterations, errors, tokens, spent, started_at, ended_at, reason,
);

#[async_trait]
impl SessionStore for SqliteJournal {
    async fn begin_session_loop(&mut self, new: &NewSessionLoop<'_>) -> Result<()> {
        let what = "record a loop in a session";
        let mut tx = self.begin(what).await?;
        sql!(
            what,
            "INSERT INTO session_loop (id, repository_id, worktree, agent, session, prompt, max_iterations,
                    completion_promise, config, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            new.id,
            new.repository,
            new.worktree,
            new.agent,
            new.session,
            new.prompt,
            new.max_iterations,
            new.completion_promise,
            new.config,
            new.at,
        )
        .run(&mut tx)
        .await?;
        tx.commit().await
    }

    async fn session_loop(&mut self, id: &LoopId) -> Result<Option<SessionLoopRow>> {
        let text = format!("SELECT {COLUMNS} FROM session_loop WHERE id = ?");
        let found = sql!("look up a loop in a session", text, id);
        found.first(&mut self.db).await
    }

    async fn open_session_loop(
        &mut self,
        agent: &str,
        session: &str,
    ) -> Result<Option<SessionLoopRow>> {
        let text = format!(
            "SELECT {COLUMNS} FROM session_loop WHERE session = ? AND agent = ? AND ended_at IS NULL
             ORDER BY id DESC LIMIT 1"
        );
        let found = sql!("look up the loop of a session", text, session, agent);
        found.first(&mut self.db).await
    }

    async fn record_session_iteration(
        &mut self,
        of: &SessionLoopRow,
        iteration: &SessionIteration,
    ) -> Result<bool> {
        let what = "record an iteration in a session";
        let accounts = &iteration.accounts;
        let totals = accounts.totals();
        let mut tx = self.begin(what).await?;
        let added = sql!(
            what,
            "INSERT INTO session_iteration (loop_id, n, started_at, ended_at, outcome, error, tool_calls, calls)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            &of.id,
            iteration.n,
            iteration.started_at,
            iteration.ended_at,
            iteration.outcome.as_str(),
            iteration.error.as_ref(),
            accounts.tool_calls,
            stored(&accounts.records)?,
        )
        .run(&mut tx)
        .await?;
        if added == 0 {
            return Ok(false);
        }
        sql!(
            what,
            "UPDATE session_loop SET iterations = iterations + 1, errors = errors + ?2, tokens = tokens + ?3,
                    spent = spent + ?4 WHERE id = ?1",
            &of.id,
            u32::from(iteration.outcome == SessionOutcome::Error),
            totals.tokens.total(),
            totals.spent.millionths(),
        )
        .run(&mut tx)
        .await?;
        let repository = RepositoryId(of.repository_id.clone());
        let mut sums = Sums::of(&repository, iteration.ended_at, accounts);
        sums.add_loop(&of.id, SESSION_WORK, accounts);
        grow(&mut tx, sums).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn end_session_loop(
        &mut self,
        id: &LoopId,
        reason: SessionEndReason,
        at: Timestamp,
    ) -> Result<bool> {
        let what = "end a loop in a session";
        let mut tx = self.begin(what).await?;
        let text =
            "UPDATE session_loop SET ended_at = ?2, reason = ?3 WHERE id = ?1 AND ended_at IS NULL";
        let ended = sql!(what, text, id, at, reason.as_str());
        let ended = ended.run(&mut tx).await?;
        tx.commit().await?;
        Ok(ended > 0)
    }

    async fn session_loops(
        &mut self,
        repository: &RepositoryId,
        most: u32,
    ) -> Result<Vec<SessionLoopRow>> {
        let text = format!(
            "SELECT {COLUMNS} FROM session_loop WHERE repository_id = ? ORDER BY id DESC LIMIT ?"
        );
        self.all(sql!("list loops in sessions", text, repository, most))
            .await
    }
}
