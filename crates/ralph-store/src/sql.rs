//! The journal in SQL: the same statements for a SQLite file and for a PostgreSQL server.
//!
//! The work of a statement is here, once; where it is sent and what is done about a database that is busy or gone is
//! the business of `sqlite` and `server`. Every write is a transaction, and runs again as a whole where a server gave
//! it up for another one or was lost before it was committed.

mod audit;
mod checkpoints;
mod commands;
mod costs;
mod dialect;
mod iterations;
mod loops;
mod repositories;
mod rewrites;
#[cfg(feature = "postgres")]
pub(crate) mod server;
mod sessions;
pub(crate) mod statement;
mod tasks;

use async_trait::async_trait;
use sqlx::{Connection as _, Sqlite, Transaction};

#[cfg(test)]
pub(crate) use loops::NEWEST_OPEN;

#[cfg(feature = "postgres")]
use server::{Retries, ServerDatabase, ServerTransaction};
use statement::{Connection, FromColumns, Statement, failed, sql};

use crate::{
    Journal, Result,
    failpoint::fault,
    sqlite::{SqliteFile, lock},
};

/// A journal in a database.
pub(crate) struct SqlJournal {
    database: Database,
}

/// The database that a journal is in.
enum Database {
    Sqlite(SqliteFile),
    #[cfg(feature = "postgres")]
    Postgres(Box<ServerDatabase>),
}

/// Runs a block as one transaction that writes, and gives its result once it is committed. The block runs again where
/// the server gave the transaction up, so it changes nothing but the database.
macro_rules! transaction {
    ($journal:expr, $what:expr, |$tx:ident| $body:block) => {{
        let mut retries = $crate::sql::Retrying::default();
        loop {
            let ended = match $journal.begin($what).await {
                Ok(mut $tx) => {
                    let done: $crate::Result<_> = async { $body }.await;
                    $tx.end(done).await
                }
                Err(error) => Err(error),
            };
            match ended {
                Ok(value) => break Ok(value),
                Err(error) => match $journal.try_again(error, &mut retries).await {
                    Ok(()) => {}
                    Err(error) => break Err(error),
                },
            }
        }
    }};
}
pub(crate) use transaction;

/// The attempts at a transaction, as far as they are known.
#[derive(Default)]
pub(crate) struct Retrying {
    #[cfg(feature = "postgres")]
    of_server: Retries,
}

impl SqlJournal {
    pub(crate) fn in_file(file: SqliteFile) -> Self {
        Self {
            database: Database::Sqlite(file),
        }
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn on_server(server: ServerDatabase) -> Self {
        Self {
            database: Database::Postgres(Box::new(server)),
        }
    }

    fn is_on_server(&self) -> bool {
        match &self.database {
            Database::Sqlite(_) => false,
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => true,
        }
    }

    /// The connection to the file, for what is about SQLite alone.
    #[cfg(test)]
    pub(crate) fn sqlite(&mut self) -> &mut sqlx::SqliteConnection {
        match &mut self.database {
            Database::Sqlite(file) => &mut file.db,
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => panic!("this journal is on a server"),
        }
    }

    /// Begins a transaction that writes; `what` completes "the journal can't …". In SQLite it has the journal for
    /// itself from the start: one that reads first and finds that another process wrote meanwhile could only fail.
    async fn begin(&mut self, what: &'static str) -> Result<WriteTransaction<'_>> {
        fault("journal").map_err(|error| failed(what)(error.into()))?;
        let open = match &mut self.database {
            Database::Sqlite(file) => {
                let begun = file.db.begin_with("BEGIN IMMEDIATE").await;
                Open::Sqlite(begun.map_err(lock::unwritten(&file.path, what))?)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => Open::Postgres(server.begin(what).await?),
        };
        Ok(WriteTransaction { open, what })
    }

    /// Returns once a transaction that failed can be tried again, or the error if it can't.
    #[cfg_attr(not(feature = "postgres"), allow(clippy::unused_async))]
    async fn try_again(
        &mut self,
        error: crate::JournalError,
        retries: &mut Retrying,
    ) -> Result<()> {
        match &mut self.database {
            Database::Sqlite(_) => {
                let Retrying { .. } = retries;
                Err(error)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => server.try_again(error, &mut retries.of_server).await,
        }
    }

    async fn all<T: FromColumns>(&mut self, statement: Statement) -> Result<Vec<T>> {
        match &mut self.database {
            Database::Sqlite(file) => statement.all(Connection::Sqlite(&mut file.db)).await,
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => statement::read_all(&server.rows(&statement).await?),
        }
    }

    async fn first<T: FromColumns>(&mut self, statement: Statement) -> Result<Option<T>> {
        Ok(self.all(statement).await?.into_iter().next())
    }

    /// The one row that there always is.
    async fn one<T: FromColumns>(&mut self, statement: Statement) -> Result<T> {
        let what = statement.what;
        let found = self.first(statement).await?;
        found.ok_or_else(|| failed(what)(sqlx::Error::RowNotFound))
    }

    /// Writes by one statement alone.
    async fn write(&mut self, statement: Statement) -> Result<()> {
        let what = statement.what;
        match &mut self.database {
            Database::Sqlite(file) => {
                fault("journal").map_err(|error| failed(what)(error.into()))?;
                let written = statement.execute(Connection::Sqlite(&mut file.db)).await;
                written.map_err(lock::unwritten(&file.path, what))?;
                Ok(())
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => self.write_all(statement).await,
        }
    }

    /// Writes by several statements, all or none.
    async fn write_all(&mut self, statements: Statement) -> Result<()> {
        transaction!(self, statements.what, |tx| {
            statements.run(&mut tx).await?;
            Ok(())
        })
    }

    /// Writes by one statement that is on the disk with the next write at the latest: safe from the end of this process
    /// at once, and from a power cut then.
    async fn write_unflushed(&mut self, statement: Statement) -> Result<()> {
        let what = statement.what;
        match &self.database {
            Database::Sqlite(_) => {
                let flush = sql!(what, "PRAGMA synchronous = FULL");
                let all = sql!(what, "PRAGMA synchronous = NORMAL")
                    .then(statement)
                    .then(flush.clone());
                let written = self.write(all).await;
                if written.is_err() {
                    self.write(flush).await?;
                }
                written
            }
            #[cfg(feature = "postgres")]
            Database::Postgres(_) => {
                let all = sql!(what, "SET LOCAL synchronous_commit = off").then(statement);
                self.write(all).await
            }
        }
    }
}

/// A transaction that writes; taken back unless it ends well.
pub(crate) struct WriteTransaction<'j> {
    open: Open<'j>,
    what: &'static str,
}

enum Open<'j> {
    Sqlite(Transaction<'j, Sqlite>),
    #[cfg(feature = "postgres")]
    Postgres(ServerTransaction<'j>),
}

impl WriteTransaction<'_> {
    pub(crate) fn connection(&mut self) -> Connection<'_> {
        match &mut self.open {
            Open::Sqlite(tx) => Connection::Sqlite(&mut *tx),
            #[cfg(feature = "postgres")]
            Open::Postgres(tx) => Connection::Postgres(tx.connection()),
        }
    }

    /// True on a server, where others write at the same time: a row that is read to be continued is locked first.
    pub(crate) fn is_shared(&self) -> bool {
        match &self.open {
            Open::Sqlite(_) => false,
            #[cfg(feature = "postgres")]
            Open::Postgres(_) => true,
        }
    }

    /// Commits what was done, or takes it back.
    pub(crate) async fn end<T>(self, done: Result<T>) -> Result<T> {
        let what = self.what;
        match self.open {
            Open::Sqlite(tx) => {
                let value = done?;
                tx.commit().await.map_err(failed(what))?;
                Ok(value)
            }
            #[cfg(feature = "postgres")]
            Open::Postgres(tx) => match done {
                Ok(value) => {
                    tx.commit(what).await?;
                    Ok(value)
                }
                Err(error) => {
                    tx.roll_back().await;
                    Err(error)
                }
            },
        }
    }
}

#[async_trait]
impl Journal for SqlJournal {
    /// Folds SQLite's write-ahead log in.
    async fn close(self: Box<Self>) -> Result<()> {
        match self.database {
            Database::Sqlite(file) => file.db.close().await.map_err(failed("be closed")),
            #[cfg(feature = "postgres")]
            Database::Postgres(server) => {
                server.close().await;
                Ok(())
            }
        }
    }
}
