//! The journal's side of sync: its state, its changes as batches, and what came from the server.
//!
//! Every function is one transaction that is over when it returns: none lasts while the server is asked something.
//! Never writes a fact of the journal, but for commands that came down.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _, Sqlite, SqliteConnection,
    Transaction, ValueRef as _,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteRow, SqliteSynchronous},
};
use uuid::Uuid;

use super::{
    decide::{Cursor, LocalState},
    outgoing::{Batch, Cell, Outgoing, RowsOf, TableRows},
    pass,
    tables::{ColumnKind, Include, RowChange, SyncedTable, TABLES, table},
};
use crate::{JournalError, Result};

/// The longest wait for others that write.
const PATIENCE: Duration = Duration::from_secs(60);

/// The bounds of a batch. Either ends it.
const MOST_ROWS: usize = 4_000;
const MOST_BYTES: usize = 4 << 20;
/// Changes that are read at once, the fewer the larger their rows are: what goes over the bounds is less than these.
const FIRST_CHUNK: usize = 64;
const SMALLEST_CHUNK: usize = 8;
const LARGEST_CHUNK: usize = 512;

/// Changes that are kept after they were acknowledged, for a server that comes back from an older backup.
const KEPT_CHANGES: i64 = 20_000;

/// The journal, for sync alone.
pub(super) struct Local {
    db: SqliteConnection,
}

/// The journal's own record of its sync.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SyncState {
    pub(super) origin: String,
    pub(super) acked: Option<Cursor>,
    pub(super) pruned_to: i64,
    /// The newest change that there is.
    pub(super) last_change: i64,
}

/// A command as the server has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncomingCommand {
    pub(super) id: String,
    pub(super) repository_id: String,
    pub(super) worktree: String,
    pub(super) who: String,
    pub(super) body: String,
}

/// The fate of a command that came down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kept {
    /// It is in the queue under this number.
    Queued(i64),
    /// It was in the queue before: only the server does not know.
    Before,
    NoRepository,
}

/// The share that a machine may spend of a budget of its team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct IncomingShare {
    pub(super) per: String,
    pub(super) period: String,
    pub(super) granted: i64,
    pub(super) cap: i64,
}

impl Local {
    /// Opens the journal, which is brought forward first.
    pub(super) async fn open(data_dir: &Path) -> Result<Self> {
        crate::open(data_dir).await?.close().await?;
        let path = journal_of(data_dir);
        let db = SqliteConnectOptions::new()
            .filename(&path)
            .journal_mode(SqliteJournalMode::Wal)
            // A batch that the server may have is known here after a power cut too, and so is all that it was made of.
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(PATIENCE)
            .connect()
            .await;
        let db = db.map_err(|source| JournalError::Open {
            path,
            source: Box::new(source),
        })?;
        Ok(Self { db })
    }

    async fn begin(&mut self, what: &'static str) -> Result<Transaction<'_, Sqlite>> {
        let begun = self.db.begin_with("BEGIN IMMEDIATE").await;
        begun.map_err(failed(what))
    }

    /// Turns sync on. What is there already is written down as changed, and so is what was not chosen before.
    pub(super) async fn enable(
        &mut self,
        include: &BTreeSet<Include>,
        server: &str,
        tenant: &str,
    ) -> Result<()> {
        let what = "turn sync on";
        let words: Vec<&str> = include.iter().map(|one| one.as_str()).collect();
        let words = words.join(" ");
        let logs = include.contains(&Include::Logs) || include.contains(&Include::Prompts);
        let mut tx = self.begin(what).await?;
        let found =
            sqlx::query_as("SELECT enabled, origin, include, server, tenant FROM sync_state");
        type Row = (bool, Option<String>, String, Option<String>, Option<String>);
        let (enabled, origin, before, old_server, old_tenant): Row =
            found.fetch_one(&mut *tx).await.map_err(failed(what))?;
        let is_same = enabled
            && before == words
            && old_server.as_deref() == Some(server)
            && old_tenant.as_deref() == Some(tenant);
        if is_same {
            return Ok(());
        }
        let before: BTreeSet<Include> = before.split(' ').filter_map(Include::from_word).collect();
        let origin = origin.unwrap_or_else(|| Uuid::now_v7().to_string());
        sqlx::query(
            "UPDATE sync_state SET enabled = 1, origin = ?, include = ?, logs = ?, server = ?, tenant = ?",
        )
        .bind(origin)
        .bind(&words)
        .bind(logs)
        .bind(server)
        .bind(tenant)
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        let added: BTreeSet<Include> = include.difference(&before).copied().collect();
        if enabled {
            for table in TABLES.iter().filter(|table| table.is_about(&added)) {
                enqueue(&mut tx, table).await?;
            }
        } else {
            enqueue_all(&mut tx).await?;
        }
        let had_logs = before.contains(&Include::Logs) || before.contains(&Include::Prompts);
        if logs && (!enabled || !had_logs) {
            let all = "INSERT INTO sync_log (iteration_id)
                 SELECT id FROM iteration WHERE ended_at IS NOT NULL ON CONFLICT DO NOTHING";
            run(&mut tx, all, what).await?;
        }
        commit(tx, what).await?;
        pass("sync-enabled").await;
        Ok(())
    }

    /// Gives this journal another name on the server, under which everything is sent.
    pub(super) async fn new_identity(&mut self) -> Result<String> {
        let what = "take a new identity";
        let origin = Uuid::now_v7().to_string();
        let mut tx = self.begin(what).await?;
        sqlx::query(
            "UPDATE sync_state SET enabled = 1, origin = ?, acked_seq = NULL, acked_hash = NULL,
                    last_error = NULL, last_error_at = NULL",
        )
        .bind(&origin)
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        run(&mut tx, "DELETE FROM sync_batch", what).await?;
        enqueue_all(&mut tx).await?;
        commit(tx, what).await?;
        pass("sync-renamed").await;
        Ok(origin)
    }

    /// Turns sync off. Where the server stands stays known.
    pub(super) async fn disable(&mut self) -> Result<()> {
        let what = "turn sync off";
        let mut tx = self.begin(what).await?;
        run(&mut tx, "UPDATE sync_state SET enabled = 0", what).await?;
        run(&mut tx, "DELETE FROM sync_change", what).await?;
        commit(tx, what).await
    }

    pub(super) async fn state(&mut self) -> Result<SyncState> {
        let found = sqlx::query_as(
            "SELECT COALESCE(origin, ''), acked_seq, acked_hash, pruned_to,
                    (SELECT COALESCE(MAX(seq), 0) FROM sync_change)
             FROM sync_state",
        );
        let (origin, seq, hash, pruned_to, last_change): (
            String,
            Option<i64>,
            Option<String>,
            i64,
            i64,
        ) = found
            .fetch_one(&mut self.db)
            .await
            .map_err(failed("read how sync stands"))?;
        Ok(SyncState {
            origin,
            acked: seq.zip(hash).map(|(seq, hash)| Cursor { seq, hash }),
            pruned_to,
            last_change,
        })
    }

    /// Tells what is known here of a cursor of the server's.
    pub(super) async fn known(
        &mut self,
        state: &SyncState,
        server: Option<&Cursor>,
    ) -> Result<LocalState> {
        let mut sent = Vec::new();
        if let Some(server) = server {
            let found = sqlx::query_as("SELECT hash FROM sync_batch WHERE to_seq = ?");
            let hashes: Vec<(String,)> = found
                .bind(server.seq)
                .fetch_all(&mut self.db)
                .await
                .map_err(failed("look up a batch"))?;
            let seq = server.seq;
            sent.extend(hashes.into_iter().map(|(hash,)| Cursor { seq, hash }));
        }
        Ok(LocalState {
            acked: state.acked.clone(),
            sent,
            pruned_to: state.pruned_to,
        })
    }

    /// Reads what comes next as a batch: rows as they are now, of changes up to `last`. `None` where there is nothing.
    pub(super) async fn next_batch(
        &mut self,
        from: Option<Cursor>,
        last: i64,
        out: &Outgoing,
    ) -> Result<Option<Batch>> {
        let mut tx = self.db.begin().await.map_err(failed("read changes"))?;
        let mut reader = BatchReader {
            out,
            seen: HashSet::new(),
            tables: BTreeMap::new(),
        };
        let mut at = from.as_ref().map_or(0, |from| from.seq);
        let start = at;
        loop {
            let changes = changes(&mut tx, at, last, reader.chunk()).await?;
            let Some((newest, _, _)) = changes.last() else {
                break;
            };
            at = *newest;
            reader.read(&mut tx, &changes).await?;
            if reader.is_full() {
                break;
            }
        }
        tx.commit().await.map_err(failed("read changes"))?;
        pass("sync-read").await;
        Ok((at > start).then(|| Batch::seal(from, at, reader.tables)))
    }

    /// Writes a batch down that is about to be sent: it may arrive without an answer.
    pub(super) async fn note_sent(&mut self, to: &Cursor) -> Result<()> {
        let insert = "INSERT INTO sync_batch (to_seq, hash) VALUES (?, ?) ON CONFLICT DO NOTHING";
        sqlx::query(insert)
            .bind(to.seq)
            .bind(&to.hash)
            .execute(&mut self.db)
            .await
            .map_err(failed("write a batch down"))?;
        pass("sync-noted").await;
        Ok(())
    }

    /// Notes that the server has everything up to here.
    pub(super) async fn acknowledge(&mut self, to: &Cursor) -> Result<()> {
        let what = "note what the server has";
        let mut tx = self.begin(what).await?;
        let moved = sqlx::query(
            "UPDATE sync_state SET acked_seq = ?1, acked_hash = ?2 WHERE acked_seq IS NULL OR acked_seq < ?1",
        )
        .bind(to.seq)
        .bind(&to.hash)
        .execute(&mut *tx)
        .await
        .map_err(failed(what))?;
        let acked = "UPDATE sync_batch SET acked = 1 WHERE to_seq = ? AND hash = ?";
        let acked = sqlx::query(acked).bind(to.seq).bind(&to.hash);
        acked.execute(&mut *tx).await.map_err(failed(what))?;
        if moved.rows_affected() > 0 {
            // What else was sent to get here can't arrive any more: the server has moved on.
            let lost = "DELETE FROM sync_batch WHERE acked = 0 AND to_seq <= ?";
            let lost = sqlx::query(lost).bind(to.seq);
            lost.execute(&mut *tx).await.map_err(failed(what))?;
            prune(&mut tx, to.seq - KEPT_CHANGES).await?;
        }
        commit(tx, what).await?;
        pass("sync-acknowledged").await;
        Ok(())
    }

    /// Goes back to where the server stands. With `is_all`, everything is written down as changed.
    pub(super) async fn go_back(&mut self, to: Option<&Cursor>, is_all: bool) -> Result<()> {
        let what = "go back to where the server stands";
        let mut tx = self.begin(what).await?;
        sqlx::query("UPDATE sync_state SET acked_seq = ?, acked_hash = ?")
            .bind(to.map(|to| to.seq))
            .bind(to.map(|to| &to.hash))
            .execute(&mut *tx)
            .await
            .map_err(failed(what))?;
        if is_all {
            enqueue_all(&mut tx).await?;
        }
        commit(tx, what).await?;
        pass("sync-went-back").await;
        Ok(())
    }

    /// Puts a command of the server's into the queue, once.
    pub(super) async fn keep_command(
        &mut self,
        command: &IncomingCommand,
        now: Timestamp,
    ) -> Result<Kept> {
        let what = "queue a command";
        let mut tx = self.begin(what).await?;
        let before: Option<(i64,)> =
            sqlx::query_as("SELECT command_id FROM team_command WHERE id = ?")
                .bind(&command.id)
                .fetch_optional(&mut *tx)
                .await
                .map_err(failed(what))?;
        if before.is_some() {
            return Ok(Kept::Before);
        }
        let repository: Option<(i64,)> = sqlx::query_as("SELECT 1 FROM repository WHERE id = ?")
            .bind(&command.repository_id)
            .fetch_optional(&mut *tx)
            .await
            .map_err(failed(what))?;
        if repository.is_none() {
            return Ok(Kept::NoRepository);
        }
        let (number,): (i64,) = sqlx::query_as(
            "INSERT INTO command (repository_id, worktree, who, at, body) VALUES (?, ?, ?, ?, ?) RETURNING id",
        )
        .bind(&command.repository_id)
        .bind(&command.worktree)
        .bind(&command.who)
        .bind(now.to_string())
        .bind(&command.body)
        .fetch_one(&mut *tx)
        .await
        .map_err(failed(what))?;
        sqlx::query("INSERT INTO team_command (id, command_id) VALUES (?, ?)")
            .bind(&command.id)
            .bind(number)
            .execute(&mut *tx)
            .await
            .map_err(failed(what))?;
        commit(tx, what).await?;
        pass("sync-command-kept").await;
        Ok(Kept::Queued(number))
    }

    /// Results of commands that came from the server, and that it does not have yet.
    pub(super) async fn results(&mut self) -> Result<Vec<(String, String)>> {
        let found = sqlx::query_as(
            "SELECT t.id, c.result FROM team_command t INDEXED BY team_command_open
             JOIN command c ON c.id = t.command_id
             WHERE t.told = 0 AND c.result IS NOT NULL ORDER BY t.command_id LIMIT 500",
        );
        let found = found.fetch_all(&mut self.db).await;
        found.map_err(failed("look for results of commands"))
    }

    /// Notes that the server has these results.
    pub(super) async fn note_told(&mut self, ids: &[&str]) -> Result<()> {
        let what = "note which results were told";
        let ids = serde_json::json!(ids).to_string();
        let told = "UPDATE team_command SET told = 1 WHERE id IN (SELECT value FROM json_each(?))";
        let told = sqlx::query(told).bind(ids);
        told.execute(&mut self.db).await.map_err(failed(what))?;
        pass("sync-result-told").await;
        Ok(())
    }

    /// Keeps what this machine may spend of the budgets of its team.
    pub(super) async fn keep_shares(
        &mut self,
        shares: &[IncomingShare],
        now: Timestamp,
    ) -> Result<()> {
        let what = "keep a share of a budget";
        let kept: Vec<(String, String, i64, i64)> =
            sqlx::query_as("SELECT per, period, granted, cap FROM budget_share")
                .fetch_all(&mut self.db)
                .await
                .map_err(failed(what))?;
        let is_kept = |new: &&IncomingShare| {
            let new = (new.per.clone(), new.period.clone(), new.granted, new.cap);
            kept.contains(&new)
        };
        for new in shares.iter().filter(|share| !is_kept(share)) {
            sqlx::query(
                "INSERT INTO budget_share (per, period, granted, cap, updated_at) VALUES (?, ?, ?, ?, ?)
                 ON CONFLICT (per, period) DO UPDATE SET
                   granted = excluded.granted, cap = excluded.cap, updated_at = excluded.updated_at",
            )
            .bind(&new.per)
            .bind(&new.period)
            .bind(new.granted)
            .bind(new.cap)
            .bind(now.to_string())
            .execute(&mut self.db)
            .await
            .map_err(failed(what))?;
        }
        Ok(())
    }

    /// Iterations that the server knows, and whose logs it does not have.
    pub(super) async fn waiting_logs(&mut self, most: u32) -> Result<Vec<WaitingLog>> {
        let found: Vec<(String, i64, String, String)> = sqlx::query_as(
            "SELECT i.id, i.n, i.loop_id, l.worktree FROM sync_log AS s
             JOIN iteration AS i ON i.id = s.iteration_id JOIN loop AS l ON l.id = i.loop_id
             ORDER BY s.iteration_id LIMIT ?",
        )
        .bind(most)
        .fetch_all(&mut self.db)
        .await
        .map_err(failed("look for logs to send"))?;
        let waiting = found
            .into_iter()
            .map(|(iteration_id, n, loop_id, worktree)| WaitingLog {
                iteration_id,
                n,
                loop_id,
                worktree,
            });
        Ok(waiting.collect())
    }

    pub(super) async fn note_log(&mut self, iteration: &str) -> Result<()> {
        let done = sqlx::query("DELETE FROM sync_log WHERE iteration_id = ?").bind(iteration);
        let done = done.execute(&mut self.db).await;
        done.map_err(failed("note that a log was sent"))?;
        pass("sync-log-noted").await;
        Ok(())
    }

    pub(super) async fn note_ok(&mut self, now: Timestamp, server_ahead_ms: i64) -> Result<()> {
        sqlx::query(
            "UPDATE sync_state SET last_ok_at = ?, server_ahead_ms = ?, last_error = NULL, last_error_at = NULL",
        )
        .bind(now.to_string())
        .bind(server_ahead_ms)
        .execute(&mut self.db)
        .await
        .map_err(failed("note that sync went well"))?;
        Ok(())
    }

    pub(super) async fn note_error(&mut self, said: &str, now: Timestamp) -> Result<()> {
        sqlx::query("UPDATE sync_state SET last_error = ?, last_error_at = ?")
            .bind(said)
            .bind(now.to_string())
            .execute(&mut self.db)
            .await
            .map_err(failed("note that sync failed"))?;
        Ok(())
    }

    pub(super) async fn lag(&mut self, now: Timestamp) -> Result<SyncLag> {
        lag(&mut self.db, now).await
    }

    /// Counts what would be sent, by table, with some of the rows as they would be sent.
    pub(super) async fn preview(&mut self, out: &Outgoing, samples: u32) -> Result<SyncPreview> {
        let what = "look what would be sent";
        let (enabled,): (bool,) = sqlx::query_as("SELECT enabled FROM sync_state")
            .fetch_one(&mut self.db)
            .await
            .map_err(failed(what))?;
        let mut preview = SyncPreview::default();
        for table in TABLES.iter().filter(|table| table.is_in(&out.include)) {
            let key = table.key.join(", ");
            let from = if enabled {
                format!(
                    "(SELECT DISTINCT key FROM sync_change
                      WHERE seq > (SELECT COALESCE(acked_seq, 0) FROM sync_state) AND tab = '{}' AND key <> '[]')",
                    table.name
                )
            } else {
                format!("(SELECT json_array({key}) AS key FROM {})", table.name)
            };
            let count = format!("SELECT COUNT(*) FROM {from}");
            let (count,): (i64,) = sqlx::query_as(AssertSqlSafe(count))
                .fetch_one(&mut self.db)
                .await
                .map_err(failed(what))?;
            if count == 0 {
                continue;
            }
            preview
                .rows
                .insert(table.name, u64::try_from(count).unwrap_or_default());
            let some = format!("SELECT key FROM {from} LIMIT ?");
            let some: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(some))
                .bind(samples)
                .fetch_all(&mut self.db)
                .await
                .map_err(failed(what))?;
            let keys: Vec<&str> = some.iter().map(|(key,)| key.as_str()).collect();
            for cells in rows_of(&mut self.db, table, &keys).await? {
                let mut row = Vec::new();
                out.row(table.columns, &cells, &mut row);
                let row = String::from_utf8_lossy(&row).into_owned();
                preview.samples.push((table.name, row));
            }
        }
        Ok(preview)
    }

    pub(super) async fn close(self) -> Result<()> {
        let closed = self.db.close().await;
        closed.map_err(failed("be closed"))
    }
}

/// An iteration whose logs or prompts are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLog {
    pub iteration_id: String,
    pub n: i64,
    pub loop_id: String,
    pub worktree: String,
}

/// The rows that would be sent: nothing was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SyncPreview {
    /// The number of rows, by table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Some of them, with their table, as the JSON that would be sent.
    pub samples: Vec<(&'static str, String)>,
}

/// The lag of the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SyncLag {
    /// Changes that the server does not have.
    pub changes: u64,
    /// Seconds that the oldest of them has waited.
    pub seconds: u64,
}

/// The standing of sync, by what is known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyncStatus {
    /// The name of this journal on the server.
    pub origin: String,
    /// Host and database, without a password.
    pub server: String,
    pub tenant: String,
    pub lag: SyncLag,
    pub last_ok_at: Option<Timestamp>,
    pub last_error: Option<String>,
    pub last_error_at: Option<Timestamp>,
    pub server_ahead_ms: i64,
}

/// Reads how sync stands, from the journal alone. `None` where it is not enabled, or there is no journal of this schema.
pub async fn status(data_dir: &Path, now: Timestamp) -> Result<Option<SyncStatus>> {
    let path = journal_of(data_dir);
    if !path.exists() {
        return Ok(None);
    }
    let what = "read how sync stands";
    let options = SqliteConnectOptions::new().filename(&path).read_only(true);
    let mut db = options
        .busy_timeout(PATIENCE)
        .connect()
        .await
        .map_err(failed(what))?;
    let has_sync: Option<(i64,)> =
        sqlx::query_as("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'sync_state'")
            .fetch_optional(&mut db)
            .await
            .map_err(failed(what))?;
    if has_sync.is_none() {
        return Ok(None);
    }
    let found = sqlx::query(
        "SELECT origin, COALESCE(server, ''), COALESCE(tenant, ''), last_ok_at, last_error, last_error_at,
                COALESCE(server_ahead_ms, 0)
         FROM sync_state WHERE enabled AND origin IS NOT NULL",
    );
    let found = found.fetch_optional(&mut db).await.map_err(failed(what))?;
    let Some(row) = found else {
        return Ok(None);
    };
    let lag = lag(&mut db, now).await?;
    let time = |at: Option<String>| at.and_then(|at| at.parse().ok());
    let status = SyncStatus {
        origin: get(&row, 0)?,
        server: get(&row, 1)?,
        tenant: get(&row, 2)?,
        lag,
        last_ok_at: time(get(&row, 3)?),
        last_error: get(&row, 4)?,
        last_error_at: time(get(&row, 5)?),
        server_ahead_ms: get(&row, 6)?,
    };
    Ok(Some(status))
}

fn get<'r, T>(row: &'r SqliteRow, at: usize) -> Result<T>
where
    T: sqlx::Decode<'r, Sqlite> + sqlx::Type<Sqlite>,
{
    row.try_get(at).map_err(failed("read how sync stands"))
}

async fn lag(db: &mut SqliteConnection, now: Timestamp) -> Result<SyncLag> {
    let found = sqlx::query_as(
        "SELECT (SELECT MAX(seq) FROM sync_change), MIN(seq), at FROM
           (SELECT seq, at FROM sync_change
            WHERE seq > (SELECT COALESCE(acked_seq, 0) FROM sync_state) ORDER BY seq LIMIT 1)",
    );
    let (last, first, at): (Option<i64>, Option<i64>, Option<i64>) = found
        .fetch_one(db)
        .await
        .map_err(failed("look how far the server is behind"))?;
    let (Some(last), Some(first), Some(at)) = (last, first, at) else {
        return Ok(SyncLag::default());
    };
    Ok(SyncLag {
        changes: u64::try_from(last - first + 1).unwrap_or_default(),
        seconds: u64::try_from(now.as_second() - at).unwrap_or_default(),
    })
}

fn journal_of(data_dir: &Path) -> PathBuf {
    data_dir.join("ralph.db")
}

async fn commit(tx: Transaction<'_, Sqlite>, what: &'static str) -> Result<()> {
    pass("sync-committing-here").await;
    tx.commit().await.map_err(failed(what))
}

/// Writes all rows down as changed. Whatever else was to be sent is among them.
async fn enqueue_all(tx: &mut Transaction<'_, Sqlite>) -> Result<()> {
    let what = "write down what is there";
    run(tx, "DELETE FROM sync_change", what).await?;
    let last = "UPDATE sync_state SET pruned_to = COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'sync_change'), 0)";
    run(tx, last, what).await?;
    for table in &TABLES {
        enqueue(tx, table).await?;
    }
    Ok(())
}

async fn enqueue(tx: &mut Transaction<'_, Sqlite>, table: &SyncedTable) -> Result<()> {
    let what = "write down what is there";
    match table.change {
        RowChange::Deleted => {
            // What was deleted meanwhile is not known any more.
            let clear = format!(
                "INSERT INTO sync_change (tab, key) VALUES ('{}', '[]')",
                table.name
            );
            run(tx, &clear, what).await?;
        }
        RowChange::Appended | RowChange::Updated => {}
    }
    run(tx, &table.enqueue(), what).await
}

async fn prune(tx: &mut Transaction<'_, Sqlite>, to: i64) -> Result<()> {
    if to <= 0 {
        return Ok(());
    }
    let what = "forget what the server has";
    let changes = sqlx::query("DELETE FROM sync_change WHERE seq <= ?").bind(to);
    changes.execute(&mut **tx).await.map_err(failed(what))?;
    let noted = sqlx::query("UPDATE sync_state SET pruned_to = MAX(pruned_to, ?)").bind(to);
    noted.execute(&mut **tx).await.map_err(failed(what))?;
    Ok(())
}

async fn run(tx: &mut Transaction<'_, Sqlite>, sql: &str, what: &'static str) -> Result<()> {
    let run = sqlx::query(AssertSqlSafe(sql.to_owned())).execute(&mut **tx);
    run.await.map_err(failed(what))?;
    Ok(())
}

type Change = (i64, String, String);

async fn changes(
    tx: &mut Transaction<'_, Sqlite>,
    after: i64,
    last: i64,
    most: usize,
) -> Result<Vec<Change>> {
    sqlx::query_as(
        "SELECT seq, tab, key FROM sync_change WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?",
    )
    .bind(after)
    .bind(last)
    .bind(i64::try_from(most).unwrap_or(i64::MAX))
    .fetch_all(&mut **tx)
    .await
    .map_err(failed("read changes"))
}

/// Collects the rows of a batch, each once.
struct BatchReader<'a> {
    out: &'a Outgoing,
    seen: HashSet<(usize, String)>,
    tables: BTreeMap<usize, TableRows>,
}

impl BatchReader<'_> {
    fn rows(&self) -> usize {
        self.tables.values().map(|table| table.count).sum()
    }

    fn bytes(&self) -> usize {
        let tables = self.tables.values();
        tables
            .map(|table| table.rows.len() + table.gone.len())
            .sum()
    }

    fn is_full(&self) -> bool {
        self.rows() >= MOST_ROWS || self.bytes() >= MOST_BYTES
    }

    /// The changes to read next: an eighth of a batch, by what rows were like so far.
    fn chunk(&self) -> usize {
        if self.rows() == 0 {
            return FIRST_CHUNK;
        }
        let of_a_row = (self.bytes() / self.rows()).max(1);
        (MOST_BYTES / 8 / of_a_row).clamp(SMALLEST_CHUNK, LARGEST_CHUNK)
    }

    async fn read(&mut self, db: &mut SqliteConnection, changes: &[Change]) -> Result<()> {
        let mut wanted: BTreeMap<usize, Vec<&str>> = BTreeMap::new();
        for (_, tab, key) in changes {
            let Some(place) = TABLES.iter().position(|table| table.name == tab) else {
                continue;
            };
            if !TABLES[place].is_in(&self.out.include) {
                continue;
            }
            if key == "[]" {
                self.tables.entry(place).or_default().is_cleared = true;
            } else if self.seen.insert((place, key.clone())) {
                wanted.entry(place).or_default().push(key);
            }
        }
        for (place, keys) in wanted {
            self.read_table(db, place, &keys).await?;
        }
        Ok(())
    }

    async fn read_table(
        &mut self,
        db: &mut SqliteConnection,
        place: usize,
        keys: &[&str],
    ) -> Result<()> {
        let table = &TABLES[place];
        let found = rows_of(db, table, keys).await?;
        let of = RowsOf {
            table,
            out: self.out,
        };
        let into = self.tables.entry(place).or_default();
        for cells in &found {
            of.add(cells, into);
        }
        match table.change {
            RowChange::Deleted if found.len() < keys.len() => {
                let places = table.key_places();
                let there: BTreeSet<Vec<Cell>> = found
                    .iter()
                    .map(|cells| places.iter().map(|at| cells[*at].clone()).collect())
                    .collect();
                for key in keys.iter().filter_map(|key| parse_key(key)) {
                    if !there.contains(&key) {
                        of.add_gone(&key, into);
                    }
                }
            }
            RowChange::Deleted | RowChange::Updated | RowChange::Appended => {}
        }
        self.take_along(db, table, &found).await
    }

    /// Adds rows that these name, and that may have come later than the change that these are read for.
    async fn take_along(
        &mut self,
        db: &mut SqliteConnection,
        from: &SyncedTable,
        rows: &[Vec<Cell>],
    ) -> Result<()> {
        for (at, column) in from.columns.iter().enumerate() {
            let Some(name) = column.takes_along else {
                continue;
            };
            let (Some(place), Some(table)) = (
                TABLES.iter().position(|table| table.name == name),
                table(name),
            ) else {
                continue;
            };
            let mut keys = Vec::new();
            for cells in rows {
                if let Cell::Text(id) = &cells[at] {
                    let key = serde_json::json!([id]).to_string();
                    if self.seen.insert((place, key.clone())) {
                        keys.push(key);
                    }
                }
            }
            if keys.is_empty() {
                continue;
            }
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            let of = RowsOf {
                table,
                out: self.out,
            };
            for cells in rows_of(db, table, &keys).await? {
                of.add(&cells, self.tables.entry(place).or_default());
            }
        }
        Ok(())
    }
}

async fn rows_of(
    db: &mut SqliteConnection,
    table: &SyncedTable,
    keys: &[&str],
) -> Result<Vec<Vec<Cell>>> {
    let what = "read what is to be sent";
    let keys = format!("[{}]", keys.join(","));
    let rows = sqlx::query(AssertSqlSafe(table.select())).bind(keys);
    let rows = rows.fetch_all(db).await.map_err(failed(what))?;
    let read = |row: &SqliteRow| -> Result<Vec<Cell>, sqlx::Error> {
        let columns = table.columns.iter().enumerate();
        columns
            .map(|(at, column)| {
                if row.try_get_raw(at)?.is_null() {
                    return Ok(Cell::Null);
                }
                if column.kind == ColumnKind::Integer {
                    return Ok(Cell::Integer(row.try_get(at)?));
                }
                // A text that is damaged is sent as far as it can be read.
                let bytes: Vec<u8> = row.try_get_unchecked(at)?;
                Ok(Cell::Text(String::from_utf8_lossy(&bytes).into_owned()))
            })
            .collect()
    };
    rows.iter()
        .map(|row| read(row).map_err(failed(what)))
        .collect()
}

fn parse_key(key: &str) -> Option<Vec<Cell>> {
    let values: Vec<serde_json::Value> = serde_json::from_str(key).ok()?;
    let cells = values.into_iter().map(|value| match value {
        serde_json::Value::String(text) => Some(Cell::Text(text)),
        other => other.as_i64().map(Cell::Integer),
    });
    cells.collect()
}

pub(super) fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> JournalError {
    move |source| JournalError::Query {
        what,
        source: Box::new(source),
    }
}
