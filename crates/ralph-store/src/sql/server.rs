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

use sqlx::{AssertSqlSafe, PgConnection, Row as _};
use uuid::Uuid;

use super::{
    SqlJournal,
    statement::{Connection, DatabaseRow, Statement, failed},
};
use crate::{
    Journal, JournalError, Result, failpoint,
    postgres::{Scope, StoreConnection, StoreError, StoreUrl, connect::Peer, schema},
};

/// The longest wait for a server that is gone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(600);

/// Between two attempts: at first, and at most.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// Tells a person that a server is waited for, and that it is there again.
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

/// The server and the tenant of a journal that is not on this machine.
pub struct JournalServer {
    url: StoreUrl,
    tenant: String,
    notice: Notice,
    patience: Duration,
}

impl JournalServer {
    /// `tenant` is a name. Nothing is sent yet.
    pub fn new(url: StoreUrl, tenant: String, notice: Notice) -> Self {
        Self {
            url,
            tenant,
            notice,
            patience: failpoint::limit("server", PATIENCE),
        }
    }

    #[cfg(test)]
    fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Opens the journal. A server that can't be reached now is an error: nothing has begun that could wait.
    pub async fn open(&self) -> Result<Box<dyn Journal>> {
        let what = "be opened";
        let mut connection = StoreConnection::open(&self.url).await?;
        let mut tx = connection.begin(what, &Scope::default()).await?;
        schema::require(&mut tx).await?;
        tx.commit(what).await?;
        let tenant = connection.tenant(&self.tenant).await?;
        let server = ServerDatabase {
            peer: connection.peer().clone(),
            url: self.url.clone(),
            settings: Scope::journal(tenant).begin(),
            patience: self.patience,
            notice: Arc::clone(&self.notice),
            connection: Some(connection),
        };
        Ok(Box::new(SqlJournal::on_server(server)))
    }
}

impl std::fmt::Debug for JournalServer {
    /// Without the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JournalServer")
            .field("server", &self.url.server())
            .field("tenant", &self.tenant)
            .finish_non_exhaustive()
    }
}

/// The server that a journal is on.
pub(crate) struct ServerDatabase {
    url: StoreUrl,
    peer: Peer,
    /// The statements that begin each transaction.
    settings: String,
    patience: Duration,
    notice: Notice,
    connection: Option<StoreConnection>,
}

/// The attempts at one transaction.
#[derive(Default)]
pub(crate) struct Retries {
    since: Option<Instant>,
    wait: Option<Duration>,
    told: bool,
}

impl ServerDatabase {
    async fn connected(&mut self) -> Result<&mut PgConnection, StoreError> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => StoreConnection::open(&self.url).await?,
        };
        Ok(self.connection.insert(connection).db())
    }

    /// Begins a transaction that writes, and notes its number.
    pub(super) async fn begin(&mut self, what: &str) -> Result<ServerTransaction<'_>> {
        let begin = format!("{}, pg_current_xact_id()::text", self.settings);
        self.connected().await?;
        let mut transaction = ServerTransaction {
            server: self,
            number: String::new(),
            ended: false,
        };
        let rows = sqlx::raw_sql(AssertSqlSafe(begin))
            .fetch_all(transaction.connection())
            .await;
        let number = rows.and_then(|rows| {
            let row = rows.last().ok_or(sqlx::Error::RowNotFound)?;
            row.try_get(row.len() - 1)
        });
        match number {
            Ok(number) => {
                transaction.number = number;
                Ok(transaction)
            }
            Err(error) => Err(transaction.server.peer.failed(what, error).into()),
        }
    }

    /// Reads in a transaction of its own, again where the server was lost meanwhile.
    pub(super) async fn rows(&mut self, statement: &Statement) -> Result<Vec<DatabaseRow>> {
        let mut retries = Retries::default();
        loop {
            match self.read(statement).await {
                Ok(rows) => return Ok(rows),
                Err(error) => self.try_again(error, &mut retries).await?,
            }
        }
    }

    async fn read(&mut self, statement: &Statement) -> Result<Vec<DatabaseRow>> {
        let what = statement.what;
        let begin = self.settings.clone();
        self.connected().await?;
        let mut transaction = ServerTransaction {
            server: self,
            number: String::new(),
            ended: false,
        };
        sqlx::raw_sql(AssertSqlSafe(begin))
            .execute(transaction.connection())
            .await
            .map_err(failed(what))?;
        let rows = statement
            .rows(Connection::Postgres(transaction.connection()))
            .await;
        transaction.roll_back().await;
        rows.map_err(failed(what))
    }

    /// Names what a server said.
    fn named(&self, error: JournalError) -> JournalError {
        match error {
            JournalError::Query { what, source } => match source.downcast::<sqlx::Error>() {
                Ok(source) => self.peer.failed(what, *source).into(),
                Err(source) => JournalError::Query { what, source },
            },
            other => other,
        }
    }

    /// Waits until a failed transaction may be tried again; the error, if that is of no use.
    pub(super) async fn try_again(
        &mut self,
        error: JournalError,
        retries: &mut Retries,
    ) -> Result<()> {
        let error = self.named(error);
        let away = match &error {
            JournalError::Store(error) if error.is_conflict() => false,
            JournalError::Store(error) if error.is_away() => true,
            _ => return Err(error),
        };
        if away {
            self.connection = None;
        }
        let since = *retries.since.get_or_insert_with(Instant::now);
        if since.elapsed() >= self.patience {
            return Err(JournalError::Lost {
                server: self.url.server(),
                waited: self.patience,
                source: Box::new(error),
            });
        }
        if away && !retries.told {
            retries.told = true;
            (self.notice)(&format!(
                "the journal at {} can't be reached: waiting for it, {} minutes at most",
                self.url.server(),
                self.patience.as_secs().div_ceil(60)
            ));
        }
        let wait = retries.wait.unwrap_or(FIRST_WAIT);
        retries.wait = Some((wait * 2).min(LONGEST_WAIT));
        // Not all at the same moment: who met in a conflict would meet again.
        let share = u32::from(Uuid::now_v7().as_bytes()[15]);
        tokio::time::sleep(wait / 2 + wait * share / 512).await;
        Ok(())
    }

    /// Finds out what became of a transaction whose commit was not answered. Asks for as long as the journal is
    /// patient.
    async fn was_committed(&mut self, number: &str) -> Result<bool, StoreError> {
        let since = Instant::now();
        let mut wait = FIRST_WAIT;
        loop {
            let status = match self.connected().await {
                Ok(db) => {
                    let status = status_of(db, number).await;
                    status.map_err(|error| self.peer.failed("look a transaction up", error))
                }
                Err(error) => Err(error),
            };
            match status {
                Ok(Status::Committed) => return Ok(true),
                Ok(Status::Absent) => return Ok(false),
                // Its process has not seen yet that we are gone.
                Ok(Status::InProgress) => {}
                Err(error) if error.is_away() => self.connection = None,
                Err(error) => return Err(error),
            }
            if since.elapsed() >= self.patience {
                return Err(StoreError::Silent {
                    server: self.url.server(),
                    within: self.patience,
                });
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    pub(super) async fn close(mut self: Box<Self>) {
        if let Some(connection) = self.connection.take() {
            // What was written is committed.
            let _ = connection.close().await;
        }
    }
}

/// The fate of a transaction.
enum Status {
    Committed,
    InProgress,
    /// It was taken back, or the server came back from a time before it.
    Absent,
}

async fn status_of(db: &mut PgConnection, number: &str) -> Result<Status, sqlx::Error> {
    /// A number that was not given out yet.
    const IN_THE_FUTURE: &str = "22023";
    // In one message: behind a pooler two have two sessions.
    let text = format!("SELECT pg_xact_status('{number}'::xid8)");
    let rows = match sqlx::raw_sql(AssertSqlSafe(text)).fetch_all(db).await {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some(IN_THE_FUTURE) => {
            return Ok(Status::Absent);
        }
        rows => rows?,
    };
    let row = rows.first().ok_or(sqlx::Error::RowNotFound)?;
    let status: Option<String> = row.try_get(0)?;
    Ok(match status.as_deref() {
        Some("committed") => Status::Committed,
        Some("in progress") => Status::InProgress,
        Some(_) | None => Status::Absent,
    })
}

/// A transaction on a server. Its connection is given up where it is dropped without an end, and with it the
/// transaction.
pub(super) struct ServerTransaction<'s> {
    server: &'s mut ServerDatabase,
    number: String,
    ended: bool,
}

impl ServerTransaction<'_> {
    pub(super) fn connection(&mut self) -> &mut PgConnection {
        let connection = self.server.connection.as_mut();
        connection.expect("a transaction has a connection").db()
    }

    pub(super) async fn commit(mut self, what: &str) -> Result<()> {
        let answer = sqlx::raw_sql("COMMIT").execute(self.connection()).await;
        let error = match answer {
            Ok(_) => {
                self.ended = true;
                return Ok(());
            }
            Err(error) => self.server.peer.failed(what, error),
        };
        if error.is_away() {
            self.server.connection = None;
            let committed = self.server.was_committed(&self.number).await?;
            self.ended = true;
            if committed {
                return Ok(());
            }
        }
        Err(error.into())
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

#[cfg(test)]
mod tests;
