//! The connection of a journal to its PostgreSQL server: a transaction for everything, and what is done when the
//! server gives one up or is gone.
//!
//! Nothing lasts in the session of the server: tenant and search path are set within each transaction, and no
//! statement has a name, so that a pooler may give every transaction another connection. A connection that was lost
//! is made again for as long as the journal is patient. Where it was lost between a commit and its answer, the server
//! is asked what became of the transaction by its number: nothing is written twice, and nothing is lost.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection, Row as _,
    postgres::PgConnectOptions,
};

use super::statement::{Connection, DatabaseRow, Statement, failed};
use crate::{JournalError, Result};

/// The longest wait for a server that is gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Between two attempts: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Tells a person that a server is waited for, and that it is there again.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// The server and the tenant of a journal that is not on this machine.
pub struct JournalServer {
    options: PgConnectOptions,
    name: String,
    tenant: String,
    notice: Notice,
}

impl std::fmt::Debug for JournalServer {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalServer")
            .field("name", &self.name)
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// The server that a journal is on.
pub(crate) struct Server {
    options: PgConnectOptions,
    /// As it is named in messages.
    name: String,
    /// What is set in each transaction.
    settings: String,
    patience: Duration,
    notice: Notice,
    connection: Option<PgConnection>,
}

/// The attempts at one transaction.
#[derive(Default)]
pub(crate) struct Retries {
    since: Option<Instant>,
    wait: Option<Duration>,
    told: bool,
}

impl Server {
    /// Nothing is sent yet. `tenant` is the id of the tenant whose journal it is.
    pub(crate) fn new(
        options: PgConnectOptions,
        name: String,
        tenant: uuid::Uuid,
        notice: Notice,
    ) -> Self {
        let settings = format!(
            "SELECT set_config('ralph.tenant', '{tenant}', true), \
             set_config('search_path', 'ralph_journal, pg_catalog', true)"
        );
        Self {
            options: options
                .statement_cache_capacity(0)
                .extra_float_digits(None)
                .application_name("ralph"),
            name,
            settings,
            patience: PATIENCE,
            notice,
            connection: None,
        }
    }

    #[cfg(test)]
    pub(crate) fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    async fn connected(&mut self) -> Result<&mut PgConnection, sqlx::Error> {
        if self.connection.is_none() {
            self.connection = Some(self.options.connect().await?);
        }
        self.connection.as_mut().ok_or(sqlx::Error::PoolClosed)
    }

    /// Begins a transaction that writes, and notes its number.
    pub(super) async fn begin(&mut self) -> Result<ServerTransaction<'_>, sqlx::Error> {
        let begin = format!("BEGIN; {}, pg_current_xact_id()::text", self.settings);
        let mut transaction = ServerTransaction {
            server: self,
            number: String::new(),
            ended: false,
        };
        let db = transaction.server.connected().await?;
        let rows = sqlx::raw_sql(AssertSqlSafe(begin)).fetch_all(db).await?;
        if let Some(row) = rows.last() {
            transaction.number = row.try_get(2)?;
        }
        Ok(transaction)
    }

    /// Reads in a transaction of its own, again where the server was lost meanwhile.
    pub(super) async fn rows(&mut self, statement: &Statement) -> Result<Vec<DatabaseRow>> {
        let mut retries = Retries::default();
        loop {
            match self.read(statement).await {
                Ok(rows) => return Ok(rows),
                Err(error) => {
                    let error = failed(statement.what)(error);
                    self.try_again(error, &mut retries).await?;
                }
            }
        }
    }

    async fn read(&mut self, statement: &Statement) -> Result<Vec<DatabaseRow>, sqlx::Error> {
        let begin = format!("BEGIN READ ONLY; {}", self.settings);
        let transaction = ServerTransaction {
            server: self,
            number: String::new(),
            ended: false,
        };
        let db = transaction.server.connected().await?;
        sqlx::raw_sql(AssertSqlSafe(begin))
            .execute(&mut *db)
            .await?;
        let rows = statement.rows(Connection::Postgres(db)).await;
        transaction.roll_back().await;
        rows
    }

    /// Waits until a failed transaction may be tried again; the error, if that is of no use.
    pub(super) async fn try_again(
        &mut self,
        error: JournalError,
        retries: &mut Retries,
    ) -> Result<()> {
        let cause = match &error {
            JournalError::Query { source, .. } => source.downcast_ref::<sqlx::Error>(),
            _ => None,
        };
        let Some(cause) = cause.filter(|cause| is_passing(cause)) else {
            return Err(error);
        };
        let lost = !is_conflict(cause);
        if lost {
            self.connection = None;
        }
        let since = *retries.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.patience {
            return Err(JournalError::Lost {
                server: self.name.clone(),
                waited: self.patience,
                source: Box::new(error),
            });
        }
        if lost && !retries.told {
            retries.told = true;
            (self.notice)(&format!(
                "the server of the journal ({}) can't be reached: waiting for it, {} minutes at most",
                self.name,
                self.patience.as_secs().div_ceil(60)
            ));
        }
        let wait = retries.wait.unwrap_or(FIRST_WAIT);
        retries.wait = Some((wait * 2).min(LONGEST_WAIT));
        // Not all at the same moment: who met in a conflict would meet again.
        let share = u32::from(uuid::Uuid::now_v7().as_bytes()[15]);
        tokio::time::sleep(wait / 2 + wait * share / 512).await;
        Ok(())
    }

    /// Finds out what became of a transaction whose commit was not answered. Asks for as long as the journal is patient.
    async fn was_committed(&mut self, number: &str) -> Result<bool, sqlx::Error> {
        let since = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            self.connection = match self.connection.take() {
                Some(connection) => Some(connection),
                None => self.options.connect().await.ok(),
            };
            let asked = match &mut self.connection {
                Some(db) => Some(status_of(db, number).await),
                None => None,
            };
            match asked.transpose() {
                // Its process has not seen yet that we are gone.
                Ok(Some(Some(status))) if status == "in progress" => {}
                Ok(Some(status)) => return Ok(status.as_deref() == Some("committed")),
                Ok(None) => {}
                Err(error) if is_lost(&error) => self.connection = None,
                // A number that the server does not know: it came back from an older backup.
                Err(sqlx::Error::Database(_)) => return Ok(false),
                Err(error) => return Err(error),
            }
            if since.elapsed() >= self.patience {
                return Err(sqlx::Error::PoolTimedOut);
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    pub(super) async fn close(mut self: Box<Self>) {
        if let Some(connection) = self.connection.take() {
            let _ = connection.close().await;
        }
    }
}

async fn status_of(db: &mut PgConnection, number: &str) -> Result<Option<String>, sqlx::Error> {
    // Within a transaction: a pooler gives no two statements the same connection else.
    let text = format!("BEGIN; SELECT pg_xact_status('{number}'::xid8); COMMIT");
    let rows = sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(db).await?;
    rows.first().map_or(Ok(None), |row| row.try_get(0))
}

/// A transaction on a server. Its connection is given up where it is dropped without an end, and with it the
/// transaction.
pub(super) struct ServerTransaction<'s> {
    server: &'s mut Server,
    number: String,
    ended: bool,
}

impl ServerTransaction<'_> {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        self.server
            .connection
            .as_mut()
            .expect("a transaction has a connection")
    }

    pub(super) async fn commit(mut self) -> Result<(), sqlx::Error> {
        let answer = sqlx::raw_sql("COMMIT").execute(self.connection()).await;
        match answer {
            Ok(_) => {
                self.ended = true;
                Ok(())
            }
            Err(error) if is_lost(&error) => {
                self.server.connection = None;
                let number = std::mem::take(&mut self.number);
                let committed = self.server.was_committed(&number).await?;
                self.ended = true;
                if committed { Ok(()) } else { Err(error) }
            }
            Err(error) => Err(error),
        }
    }

    pub(super) async fn roll_back(mut self) {
        let done = sqlx::raw_sql("ROLLBACK").execute(self.connection()).await;
        self.ended = done.is_ok();
    }
}

impl Drop for ServerTransaction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.server.connection = None;
        }
    }
}

/// True if the same may go well later.
fn is_passing(error: &sqlx::Error) -> bool {
    is_conflict(error) || is_lost(error)
}

/// True if the server gave the transaction up for another one.
fn is_conflict(error: &sqlx::Error) -> bool {
    const SERIALIZATION: &str = "40001";
    const DEADLOCK: &str = "40P01";
    code(error).is_some_and(|code| [SERIALIZATION, DEADLOCK].contains(&code.as_ref()))
}

/// True if the server, or the way to it, is gone for now.
fn is_lost(error: &sqlx::Error) -> bool {
    // Shut down, crashed, starting up, too many clients, connection errors.
    const GONE: [&str; 5] = ["57P01", "57P02", "57P03", "57P05", "53300"];
    match error {
        sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed => true,
        // The stream ended within a message.
        sqlx::Error::Protocol(_) => true,
        _ => {
            code(error).is_some_and(|code| GONE.contains(&code.as_ref()) || code.starts_with("08"))
        }
    }
}

fn code(error: &sqlx::Error) -> Option<std::borrow::Cow<'_, str>> {
    error.as_database_error().and_then(|error| error.code())
}

