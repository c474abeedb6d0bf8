//! Loops, and notes about them.
//!
//! The totals of a loop's iterations are counted by the database itself (migration 8), so that a list of loops never
//! reads iterations.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    checkpoint::Moment, economics::KeptForecast, event::KeptEvent, id::LoopId, termination::Stop,
    verify::CleanResult,
};
use serde_json::Value;

use super::{
    SqlJournal,
    audit::{self, Actor, Deed},
    checkpoints,
    statement::{columns, json, sql, unreadable},
    transaction,
};
use crate::{
    ListedLoop, LoopNote, LoopRow, LoopStore, NewLoop, NoteKind, NoteStore, RepositoryId, Result,
};

columns!(
    LoopRow as ROW: id, repository_id, worktree, source, goal, branch, base_commit, agent, config,
    baseline, started_at, ended_at, stop, paused_at, clean_check
);
columns!(
    ListedLoop as LISTED: id, worktree, source, goal, branch, agent, iterations, verified,
    cost =
        "COALESCE((SELECT t.spent FROM token_total t WHERE t.repository_id = loop.repository_id
                   AND t.dimension = 'loop' AND t.key = loop.id AND t.day = '' AND t.spent > 0),
                  cost_millionths)",
    input_tokens, output_tokens, started_at, ended_at, stop, paused_at,
    project_id = "COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.projectId' END, '')",
    task_id = "COALESCE(CASE WHEN json_valid(config) THEN config ->> '$.named.taskId' END, '')",
    unverified =
        "(SELECT COUNT(*) FROM iteration i WHERE i.loop_id = loop.id AND i.reverted_by IS NULL
          AND i.verdict IN ('unverified', 'unverified_progress'))",
    last_checkpoint_id =
        "(SELECT c.id FROM checkpoint c WHERE c.loop_id = loop.id ORDER BY c.n DESC LIMIT 1)",
);

columns!(LoopNote as NOTE: kind, sentence, at);

/// A newer loop of the same working tree has taken the place of those before it.
pub(crate) const NEWEST_OPEN: &str = "FROM loop AS l INDEXED BY loop_open WHERE ended_at IS NULL
     AND NOT EXISTS (SELECT 1 FROM loop AS n WHERE n.repository_id = l.repository_id
                     AND n.worktree = l.worktree AND (n.started_at, n.id) > (l.started_at, l.id))
     ORDER BY started_at, id";

#[async_trait]
impl LoopStore for SqlJournal {
    async fn begin_loop(&mut self, new: &NewLoop<'_>) -> Result<()> {
        let insert = sql!(
            "begin a loop",
            "INSERT INTO loop (id, repository_id, worktree, source, goal, branch, base_commit, agent, config, started_at)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            new.id,
            new.repository,
            new.worktree,
            new.source,
            new.goal,
            new.branch,
            new.base_commit,
            new.agent,
            new.config,
            new.at,
        );
        let deed = Deed {
            actor: Actor::Ralph,
            action: "loop_started",
            at: new.at,
            repository: Some(new.repository),
            loop_id: Some(new.id),
            task: None,
            subject: Some(new.source),
            detail: None,
        };
        self.write_all(insert.then(audit::entry(deed))).await
    }

    async fn set_baseline(&mut self, loop_id: &LoopId, baseline: &str) -> Result<()> {
        let set = "UPDATE loop SET baseline = ? WHERE id = ?";
        self.write(sql!("record the baseline", set, baseline, loop_id))
            .await
    }

    async fn set_clean_check(&mut self, loop_id: &LoopId, found: &CleanResult) -> Result<()> {
        let set = "UPDATE loop SET clean_check = ? WHERE id = ?";
        self.write(sql!("record a clean check", set, json(found)?, loop_id))
            .await
    }

    async fn set_config(&mut self, loop_id: &LoopId, config: &str) -> Result<()> {
        let set = "UPDATE loop SET config = ? WHERE id = ?";
        self.write(sql!("keep the bounds of a loop", set, config, loop_id))
            .await
    }

    async fn set_paused(&mut self, loop_id: &LoopId, since: Option<Timestamp>) -> Result<()> {
        let set = "UPDATE loop SET paused_at = ? WHERE id = ?";
        self.write(sql!("note a pause", set, since, loop_id)).await
    }

    async fn end_loop(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
        stop: &Stop,
        at: Timestamp,
        checkpoint: Option<&Moment>,
    ) -> Result<()> {
        let what = "end the loop";
        let end = "UPDATE loop SET ended_at = ?, stop = ? WHERE id = ?";
        let stop = json(stop)?;
        let deed = Deed {
            actor: Actor::Ralph,
            action: "loop_ended",
            at,
            repository: Some(repository),
            loop_id: Some(loop_id),
            task: None,
            subject: None,
            detail: Some(&stop),
        };
        let end = sql!(what, end, at, &stop, loop_id).then(audit::entry(deed));
        transaction!(self, what, |tx| {
            end.run(&mut tx).await?;
            if let Some(moment) = checkpoint {
                checkpoints::add_to(&mut tx, repository, moment).await?;
            }
            Ok(())
        })
    }

    async fn last_loop(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Option<LoopRow>> {
        let text = format!(
            "SELECT {ROW} FROM loop WHERE repository_id = ? AND worktree = ? ORDER BY started_at DESC, id DESC LIMIT 1"
        );
        self.first(sql!("look up the last loop", text, repository, worktree))
            .await
    }

    async fn has_loops(&mut self) -> Result<bool> {
        let text = "SELECT EXISTS (SELECT 1 FROM loop)";
        self.one(sql!("look for loops", text)).await
    }

    async fn loops(&mut self, repository: &RepositoryId, most: u32) -> Result<Vec<ListedLoop>> {
        let text = format!(
            "SELECT {LISTED} FROM loop INDEXED BY loop_by_time WHERE repository_id = ?
             ORDER BY loop.started_at DESC, loop.id DESC LIMIT ?"
        );
        self.all(sql!("list the loops", text, repository, most))
            .await
    }

    async fn listed_loop(&mut self, id: &LoopId) -> Result<Option<ListedLoop>> {
        let text = format!("SELECT {LISTED} FROM loop WHERE id = ?");
        self.first(sql!("look up a loop", text, id)).await
    }

    async fn loops_of(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        source: &str,
    ) -> Result<Vec<LoopRow>> {
        let text = format!(
            "SELECT {ROW} FROM loop WHERE repository_id = ? AND worktree = ? AND source = ?
             ORDER BY started_at, id"
        );
        self.all(sql!("list the loops", text, repository, worktree, source))
            .await
    }

    async fn loops_like(
        &mut self,
        repository: &RepositoryId,
        prefix: &str,
    ) -> Result<Vec<LoopRow>> {
        let text = format!(
            "SELECT {ROW} FROM loop WHERE repository_id = ?1 AND substr(id, 1, length(?2)) = ?2 LIMIT 2"
        );
        self.all(sql!("look up a loop", text, repository, prefix))
            .await
    }

    async fn open_loops(&mut self) -> Result<Vec<LoopRow>> {
        let text = format!("SELECT {ROW} {NEWEST_OPEN}");
        self.all(sql!("look for loops that are not over", text))
            .await
    }

    async fn any_loop(&mut self, id: &LoopId) -> Result<Option<LoopRow>> {
        let text = format!("SELECT {ROW} FROM loop WHERE id = ?");
        self.first(sql!("look up a loop", text, id)).await
    }

    async fn loops_on(&mut self, repository: &RepositoryId, branch: &str) -> Result<Vec<LoopRow>> {
        let text = format!(
            "SELECT {ROW} FROM loop WHERE repository_id = ? AND branch = ? ORDER BY started_at, id"
        );
        self.all(sql!(
            "look up the loops on a branch",
            text,
            repository,
            branch
        ))
        .await
    }

    async fn loop_before(
        &mut self,
        repository: &RepositoryId,
        loop_id: &LoopId,
    ) -> Result<Option<LoopId>> {
        self.first(sql!(
            "look up the loop before",
            "SELECT before.id FROM loop AS this
             JOIN loop AS before INDEXED BY loop_by_time
               ON before.repository_id = this.repository_id AND before.worktree = this.worktree
              AND before.source = this.source AND before.id <> this.id
              AND before.started_at <= this.started_at
             WHERE this.id = ?1 AND this.repository_id = ?2
             ORDER BY before.started_at DESC, before.id DESC LIMIT 1",
            loop_id,
            repository,
        ))
        .await
    }

    async fn keep_forecast(&mut self, loop_id: &LoopId, kept: &KeptForecast) -> Result<()> {
        let set = "UPDATE loop SET forecast = ? WHERE id = ?";
        self.write(sql!("keep a forecast", set, json(kept)?, loop_id))
            .await
    }

    async fn forecast_of(&mut self, loop_id: &LoopId) -> Result<Option<KeptForecast>> {
        let text = "SELECT forecast FROM loop WHERE id = ? AND forecast IS NOT NULL";
        self.first(sql!("look up a forecast", text, loop_id)).await
    }
}

#[async_trait]
impl NoteStore for SqlJournal {
    async fn add_note(
        &mut self,
        of: &LoopRow,
        kind: NoteKind,
        sentence: &str,
        at: Timestamp,
    ) -> Result<()> {
        let insert =
            "INSERT INTO loop_note (loop_id, worktree, kind, sentence, at) VALUES (?, ?, ?, ?, ?)";
        let what = "note what was done about a loop";
        let (id, place) = (&of.id, &of.worktree);
        let insert = sql!(what, insert, id, place, kind.as_str(), sentence, at);
        let repository = RepositoryId(of.repository_id.clone());
        let deed = Deed {
            actor: Actor::Ralph,
            action: kind.as_str(),
            at,
            repository: Some(&repository),
            loop_id: Some(id),
            task: None,
            subject: Some("ralph monitor"),
            detail: Some(sentence),
        };
        self.write_all(insert.then(audit::entry(deed))).await
    }

    async fn last_note(&mut self, loop_id: &LoopId) -> Result<Option<LoopNote>> {
        self.first(sql!(
            "read what was noted about a loop",
            format!("SELECT {NOTE} FROM loop_note WHERE loop_id = ? ORDER BY id DESC LIMIT 1"),
            loop_id,
        ))
        .await
    }

    async fn restarts(&mut self, worktree: &str, since: Timestamp) -> Result<u32> {
        self.one(sql!(
            "count restarts",
            "SELECT COUNT(*) FROM loop_note WHERE worktree = ? AND kind = ? AND at > ?",
            worktree,
            NoteKind::Restarted.as_str(),
            since,
        ))
        .await
    }

    async fn keep_events(&mut self, loop_id: &LoopId, events: &[KeptEvent]) -> Result<()> {
        let rows: Vec<Value> = events
            .iter()
            .map(|event| {
                serde_json::json!([
                    event.iteration(),
                    event.at,
                    event.kind(),
                    event,
                    event.task()
                ])
            })
            .collect();
        let rows = serde_json::to_string(&rows).map_err(unreadable("an event of a loop"))?;
        let insert = sql!(
            "keep events of a loop",
            "INSERT INTO loop_event (loop_id, iteration, at, kind, body)
             SELECT ?1, CAST(value ->> 0 AS BIGINT), value ->> 1, value ->> 2, value ->> 3 FROM json_each(?2)
             ORDER BY key",
            loop_id,
            &rows,
        );
        let audited = audit::entries_of_events(loop_id, rows);
        self.write_all(insert.then(audited)).await
    }

    async fn kept_events(&mut self, loop_id: &LoopId, most: u32) -> Result<Vec<KeptEvent>> {
        let mut events: Vec<KeptEvent> = self
            .all(sql!(
                "read the events of a loop",
                "SELECT body FROM loop_event WHERE loop_id = ? ORDER BY id DESC LIMIT ?",
                loop_id,
                most,
            ))
            .await?;
        events.reverse();
        Ok(events)
    }

    async fn iteration_events(&mut self, loop_id: &LoopId, n: u64) -> Result<Vec<KeptEvent>> {
        self.all(sql!(
            "read the events of an iteration",
            "SELECT body FROM loop_event WHERE loop_id = ? AND iteration = ? ORDER BY id",
            loop_id,
            n,
        ))
        .await
    }
}
