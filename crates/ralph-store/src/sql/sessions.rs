//! Loops inside the sessions of agents.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    id::LoopId,
    session_loop::{SessionEndReason, SessionOutcome},
};

use super::{
    SqlJournal,
    costs::{Sums, growth},
    statement::{columns, json as stored, sql},
    transaction,
};
use crate::{
    NewSessionLoop, RepositoryId, Result, SessionIteration, SessionLoopRow, SessionStore,
    sessions::SESSION_WORK,
};

columns!(
    SessionLoopRow as COLUMNS: id, repository_id, worktree, agent, session, prompt, max_iterations,
    completion_promise, config, iterations, errors, tokens, spent, started_at, ended_at, reason,
);

#[async_trait]
impl SessionStore for SqlJournal {
    async fn begin_session_loop(&mut self, new: &NewSessionLoop<'_>) -> Result<()> {
        let what = "record a loop in a session";
        self.write(sql!(
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
        ))
        .await
    }

    async fn session_loop(&mut self, id: &LoopId) -> Result<Option<SessionLoopRow>> {
        let text = format!("SELECT {COLUMNS} FROM session_loop WHERE id = ?");
        self.first(sql!("look up a loop in a session", text, id))
            .await
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
        self.first(found).await
    }

    async fn record_session_iteration(
        &mut self,
        of: &SessionLoopRow,
        iteration: &SessionIteration,
    ) -> Result<bool> {
        let what = "record an iteration in a session";
        let accounts = &iteration.accounts;
        let totals = accounts.totals();
        let add = sql!(
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
        );
        let count = sql!(
            what,
            "UPDATE session_loop SET iterations = iterations + 1, errors = errors + ?2, tokens = tokens + ?3,
                    spent = spent + ?4 WHERE id = ?1",
            &of.id,
            u32::from(iteration.outcome == SessionOutcome::Error),
            totals.tokens.total(),
            totals.spent.millionths(),
        );
        let repository = RepositoryId(of.repository_id.clone());
        let mut sums = Sums::of(&repository, iteration.ended_at, accounts);
        sums.add_loop(&of.id, SESSION_WORK, accounts);
        let count = count.then(growth(sums)?);
        transaction!(self, what, |tx| {
            if add.run(&mut tx).await? == 0 {
                return Ok(false);
            }
            count.run(&mut tx).await?;
            Ok(true)
        })
    }

    async fn end_session_loop(
        &mut self,
        id: &LoopId,
        reason: SessionEndReason,
        at: Timestamp,
    ) -> Result<bool> {
        let what = "end a loop in a session";
        let text =
            "UPDATE session_loop SET ended_at = ?2, reason = ?3 WHERE id = ?1 AND ended_at IS NULL";
        let ended = sql!(what, text, id, at, reason.as_str());
        transaction!(self, what, |tx| { Ok(ended.run(&mut tx).await? > 0) })
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
