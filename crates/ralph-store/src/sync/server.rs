//! The server's side of sync: where it stands, batches, commands.
//!
//! Every function is one transaction with the tenant set in it, and ends within a bounded time. Leaves nothing behind in
//! the session, so that it works through a pooler. Decides nothing.

use std::{future::Future, time::Duration};

use jiff::Timestamp;
use serde::Deserialize;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{
    SyncError,
    decide::Cursor,
    local::{IncomingCommand, IncomingShare},
    outgoing::Batch,
    pass,
    tables::TABLES,
};
use crate::postgres::{Scope, StoreConnection, StoreError, StoreTransaction, StoreUrl, schema};

/// The longest wait for an answer.
const ANSWER: Duration = Duration::from_secs(30);
/// The same to a batch of some megabytes, over a slow line.
const BATCH_ANSWER: Duration = Duration::from_secs(300);

/// The most commands that are taken at once.
const MOST_COMMANDS: i64 = 200;

/// A connection to the team's store, as one tenant.
pub(super) struct Server {
    connection: StoreConnection,
    scope: Scope,
    /// The name of the tenant.
    tenant: String,
    origin: String,
}

/// Where the server stands, and what it has for this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) cursor: Option<Cursor>,
    /// Milliseconds that its clock is ahead of ours.
    pub(super) ahead_ms: i64,
    pub(super) commands: Vec<IncomingCommand>,
    pub(super) shares: Vec<IncomingShare>,
}

/// The fate of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Committed,
    /// The server was not where the batch begins; nothing was written.
    CursorMoved,
}

/// One JSON value, so that one question is enough.
#[derive(Deserialize)]
struct Answer {
    has_tenant: bool,
    now_ms: i64,
    cursor: Option<(i64, String)>,
    commands: Vec<(String, String, String, String, String)>,
    shares: Vec<(String, String, i64, i64)>,
}

/// The purpose of a statement, as completes "the store can't …".
const STANDING: &str = "say where sync stands";
const TAKE: &str = "take a batch of changes";
const TAKE_LOGS: &str = "take logs";

const ASK: &str = "SELECT json_build_object(
  'has_tenant', EXISTS (SELECT 1 FROM ralph.tenant WHERE id = ralph.current_tenant()),
  'now_ms', (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  'cursor', (SELECT json_build_array(seq, hash) FROM ralph.machine WHERE origin = $1 AND hash <> ''),
  'commands', COALESCE((SELECT json_agg(json_build_array(id::text, repository_id, worktree, who, body) ORDER BY at, id)
    FROM (SELECT * FROM ralph.team_command WHERE origin = $1 AND taken_at IS NULL ORDER BY at, id LIMIT $2) AS c), '[]'),
  'shares', COALESCE((SELECT json_agg(json_build_array(b.per, b.period, COALESCE(s.granted, 0), b.usd))
    FROM (SELECT per, usd, CASE per
            WHEN 'day' THEN to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD')
            WHEN 'month' THEN to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM')
            ELSE 'total' END AS period
          FROM ralph.budget) AS b
    LEFT JOIN ralph.budget_share AS s ON s.origin = $1 AND s.per = b.per AND s.period = b.period), '[]')
)::text";

impl Server {
    /// Connects as a journal of a tenant, to a store with the schema that this ralph knows.
    pub(super) async fn connect(
        url: &StoreUrl,
        tenant: &str,
        origin: &str,
    ) -> Result<Self, SyncError> {
        let mut connection = StoreConnection::open(url).await?;
        within(ANSWER, async {
            let mut tx = connection.begin(STANDING, &Scope::default()).await?;
            schema::require(&mut tx).await?;
            tx.commit(STANDING).await?;
            let id: Uuid = connection.tenant(tenant).await?;
            Ok(Self {
                connection,
                scope: Scope::of(id),
                tenant: tenant.to_owned(),
                origin: origin.to_owned(),
            })
        })
        .await
    }

    /// Ends the connection in order.
    pub(super) async fn close(self) -> Result<(), SyncError> {
        Ok(self.connection.close().await?)
    }

    async fn begin(&mut self, what: &str) -> Result<StoreTransaction<'_>, SyncError> {
        Ok(self.connection.begin(what, &self.scope).await?)
    }

    fn no_tenant(&self) -> StoreError {
        let peer = self.connection.peer().clone();
        StoreError::NoTenant {
            database: peer.database,
            tenant: self.tenant.clone(),
            role: peer.role,
        }
    }

    /// Asks for all that a round needs to know.
    pub(super) async fn standing(
        &mut self,
        clock: &(dyn Fn() -> Timestamp + Send + Sync),
    ) -> Result<Standing, SyncError> {
        let origin = self.origin.clone();
        let answer = within(ANSWER, async {
            let mut tx = self.begin(STANDING).await?;
            let before = clock();
            let asked = sqlx::query_as(ASK)
                .persistent(false)
                .bind(origin)
                .bind(MOST_COMMANDS)
                .fetch_one(tx.db())
                .await;
            let after = clock();
            let (answer,): (String,) = tx.fail(STANDING, asked)?;
            tx.commit(STANDING).await?;
            Ok((before, answer, after))
        });
        let (before, answer, after) = answer.await?;
        let answer: Answer =
            serde_json::from_str(&answer).map_err(|source| SyncError::Answer { source })?;
        if !answer.has_tenant {
            return Err(self.no_tenant().into());
        }
        // It looked at its clock between the two.
        let here_ms = i64::midpoint(before.as_millisecond(), after.as_millisecond());
        Ok(Standing {
            cursor: answer.cursor.map(|(seq, hash)| Cursor { seq, hash }),
            ahead_ms: answer.now_ms - here_ms,
            commands: answer.commands.into_iter().map(incoming).collect(),
            shares: answer.shares.into_iter().map(share).collect(),
        })
    }

    /// Writes a batch, if the server stands where it begins.
    pub(super) async fn send(
        &mut self,
        batch: &Batch,
        machine: &str,
        ahead_ms: i64,
    ) -> Result<Sent, SyncError> {
        within(BATCH_ANSWER, async {
            let origin = self.origin.clone();
            let mut tx = self.begin(TAKE).await?;
            pass("sync-begun").await;
            // First: another one that writes for this journal is waited for here, and then seen.
            if !move_cursor(&mut tx, &origin, batch, machine, ahead_ms).await? {
                tx.rollback().await?;
                return Ok(Sent::CursorMoved);
            }
            pass("sync-moved").await;
            write_rows(&mut tx, &origin, batch).await?;
            let from = batch.from.as_ref();
            let noted = sqlx::query(
                "INSERT INTO ralph.sync_batch (origin, from_seq, to_seq, prev_hash, hash, rows)
                 VALUES ($1, $2, $3, $4, $5, $6)",
            )
            .persistent(false)
            .bind(&origin)
            .bind(from.map_or(0, |from| from.seq))
            .bind(batch.to.seq)
            .bind(from.map_or("", |from| &from.hash))
            .bind(&batch.to.hash)
            .bind(i64::try_from(batch.rows()).unwrap_or(i64::MAX))
            .execute(tx.db())
            .await;
            tx.fail(TAKE, noted)?;
            pass("sync-sealed").await;
            tx.commit(TAKE).await?;
            pass("sync-committed").await;
            Ok(Sent::Committed)
        })
        .await
    }

    /// Notes that commands are in the queue here.
    pub(super) async fn note_taken(&mut self, ids: &[String]) -> Result<(), SyncError> {
        self.change(
            "note that commands were taken",
            "UPDATE ralph.team_command SET taken_at = clock_timestamp()
             WHERE taken_at IS NULL AND id IN (SELECT value::uuid FROM json_array_elements_text($1::json))",
            &serde_json::json!(ids).to_string(),
        )
        .await?;
        pass("sync-command-told").await;
        Ok(())
    }

    /// Tells results of commands: pairs of an id and a result as JSON.
    pub(super) async fn tell_results(
        &mut self,
        results: &[(String, String)],
    ) -> Result<(), SyncError> {
        self.change(
            "keep results of commands",
            "UPDATE ralph.team_command AS c
             SET result = new.value ->> 1, done_at = clock_timestamp(), taken_at = COALESCE(c.taken_at, clock_timestamp())
             FROM json_array_elements($1::json) AS new
             WHERE c.id = (new.value ->> 0)::uuid AND c.done_at IS NULL",
            &serde_json::json!(results).to_string(),
        )
        .await?;
        pass("sync-result-sent").await;
        Ok(())
    }

    /// Writes logs and prompts of one iteration: pairs of a kind and a text.
    pub(super) async fn send_logs(
        &mut self,
        iteration: &str,
        logs: &[(&str, String)],
    ) -> Result<(), SyncError> {
        within(BATCH_ANSWER, async {
            let origin = self.origin.clone();
            let mut tx = self.begin(TAKE_LOGS).await?;
            for (kind, body) in logs {
                let written = sqlx::query(
                    "INSERT INTO ralph.iteration_log (origin, iteration_id, kind, body) VALUES ($1, $2, $3, $4)
                     ON CONFLICT (tenant, origin, iteration_id, kind) DO UPDATE SET body = excluded.body",
                )
                .persistent(false)
                .bind(&origin)
                .bind(iteration)
                .bind(*kind)
                .bind(body)
                .execute(tx.db())
                .await;
                tx.fail(TAKE_LOGS, written)?;
                pass("sync-log-written").await;
            }
            Ok(tx.commit(TAKE_LOGS).await?)
        })
        .await?;
        pass("sync-log-sent").await;
        Ok(())
    }

    async fn change(
        &mut self,
        what: &str,
        sql: &'static str,
        value: &str,
    ) -> Result<(), SyncError> {
        within(ANSWER, async {
            let mut tx = self.begin(what).await?;
            let changed = sqlx::query(sql).persistent(false).bind(value);
            let changed = changed.execute(tx.db()).await;
            tx.fail(what, changed)?;
            pass("sync-taking").await;
            Ok(tx.commit(what).await?)
        })
        .await
    }
}

fn incoming(row: (String, String, String, String, String)) -> IncomingCommand {
    let (id, repository_id, worktree, who, body) = row;
    IncomingCommand {
        id,
        repository_id,
        worktree,
        who,
        body,
    }
}

fn share((per, period, granted, cap): (String, String, i64, i64)) -> IncomingShare {
    IncomingShare {
        per,
        period,
        granted,
        cap,
    }
}

/// Moves the cursor, if it is where the batch begins.
async fn move_cursor(
    tx: &mut StoreTransaction<'_>,
    origin: &str,
    batch: &Batch,
    machine: &str,
    ahead_ms: i64,
) -> Result<bool, SyncError> {
    let moved = match &batch.from {
        Some(from) => {
            sqlx::query(
                "UPDATE ralph.machine SET seq = $2, hash = $3, name = $4, clock_skew_ms = $5, last_seen = clock_timestamp()
                 WHERE origin = $1 AND seq = $6 AND hash = $7",
            )
            .persistent(false)
            .bind(origin)
            .bind(batch.to.seq)
            .bind(&batch.to.hash)
            .bind(machine)
            // Seen from the server.
            .bind(-ahead_ms)
            .bind(from.seq)
            .bind(&from.hash)
            .execute(tx.db())
            .await
        }
        None => {
            sqlx::query(
                "INSERT INTO ralph.machine AS old (origin, seq, hash, name, clock_skew_ms, first_seen, last_seen)
                 VALUES ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp())
                 ON CONFLICT (tenant, origin) DO UPDATE SET seq = excluded.seq, hash = excluded.hash,
                   name = excluded.name, clock_skew_ms = excluded.clock_skew_ms, last_seen = excluded.last_seen
                 WHERE old.hash = ''",
            )
            .persistent(false)
            .bind(origin)
            .bind(batch.to.seq)
            .bind(&batch.to.hash)
            .bind(machine)
            // Seen from the server.
            .bind(-ahead_ms)
            .execute(tx.db())
            .await
        }
    };
    let moved = tx.fail(TAKE, moved)?;
    Ok(moved.rows_affected() == 1)
}

async fn write_rows(
    tx: &mut StoreTransaction<'_>,
    origin: &str,
    batch: &Batch,
) -> Result<(), SyncError> {
    for (place, rows) in &batch.tables {
        let table = &TABLES[*place];
        if rows.is_cleared {
            let clear = sqlx::query(AssertSqlSafe(table.clear())).persistent(false);
            let cleared = clear.bind(origin).execute(tx.db()).await;
            tx.fail(TAKE, cleared)?;
        }
        for (sql, rows) in [(table.delete(), &rows.gone), (table.upsert(), &rows.rows)] {
            if rows.is_empty() {
                continue;
            }
            let list = ["[".as_bytes(), rows, b"]"].concat();
            let list = String::from_utf8_lossy(&list).into_owned();
            let write = sqlx::query(AssertSqlSafe(sql)).persistent(false);
            let written = write.bind(origin).bind(list).execute(tx.db()).await;
            tx.fail(TAKE, written)?;
            pass("sync-rows-written").await;
        }
    }
    Ok(())
}

/// A server that does not answer is as good as gone.
async fn within<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, SyncError>>,
) -> Result<T, SyncError> {
    match tokio::time::timeout(limit, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(SyncError::NoAnswer {
            seconds: limit.as_secs(),
        }),
    }
}
