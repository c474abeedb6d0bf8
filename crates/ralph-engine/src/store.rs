//! The journal: SQLite in the data folder, outside the repository that agents can write.
//!
//! Every write is one transaction and durable when it returns (`synchronous=FULL`). Knows rows,
//! not what they mean: folding them into a state is the driver's.

mod checkpoints;
mod commands;
mod guidance;
mod iterations;
mod loops;
mod notes;
mod query;
mod questions;
mod recent;
mod repository;
mod rewrites;
mod schema;
mod tokens;

pub use checkpoints::Of;
pub use commands::{CommandRow, Effects, Ended};
pub use guidance::NewGuidance;
pub use iterations::{IterationEnd, IterationStart, Step, TaskState, UnfinishedIteration};
pub use loops::{ListedLoop, LoopRow, NewLoop};
pub use notes::{LoopNote, NoteKind, OpenLoop};
pub use query::{IterationRow, Suggestion};
pub use questions::NewQuestion;
pub use repository::{Moved, RepositoryId};
pub use rewrites::{LandingRow, NewRewrite, ReopenedTask, RewriteBody, RewriteKind, RewriteRow};
pub use tokens::{Accounts, Grouped, LoopPart, SumBy, Whose, day_of, first_day};

use std::path::{Path, PathBuf};

use sqlx::{
    ConnectOptions, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

pub struct Journal {
    db: SqliteConnection,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("can't open the journal {path}")]
    Open {
        path: PathBuf,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error(
        "the journal {} was written by a newer ralph (schema {found}, this one knows {known}): \
         use that one, or another data folder by RALPH_DATA_DIR", path.display()
    )]
    Newer {
        path: PathBuf,
        found: i64,
        known: i64,
    },
    #[error("can't back the journal up to {} before it is changed", path.display())]
    Backup {
        path: PathBuf,
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the journal can't {what}")]
    Query {
        what: &'static str,
        source: sqlx::Error,
    },
    #[error("the journal holds a row that can't be read ({what})")]
    Row {
        what: &'static str,
        source: serde_json::Error,
    },
}

impl Journal {
    /// Opens the journal in `data_dir`, making it where there is none.
    pub async fn open(data_dir: &Path) -> Result<Self, JournalError> {
        let path = data_dir.join("ralph.db");
        let fail = |source: Box<dyn std::error::Error + Send + Sync>| JournalError::Open {
            path: path.clone(),
            source,
        };
        // What agents said and how they were configured is the user's own to read.
        make_private(data_dir).map_err(|e| fail(Box::new(e)))?;
        // One at a time: two that find a new journal would both set it up.
        let _opening = opening(data_dir).map_err(|e| fail(Box::new(e)))?;
        let mut db = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(std::time::Duration::from_secs(10))
            .connect()
            .await
            .map_err(|e| fail(Box::new(e)))?;
        schema::bring_forward(&mut db, &path).await?;
        Ok(Self { db, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the connection in order, so that the write-ahead log is folded in.
    pub async fn close(self) -> Result<(), JournalError> {
        use sqlx::Connection as _;
        self.db.close().await.map_err(failed("be closed"))
    }
}

/// Held while the journal is opened; goes away with the process, however it ends.
/// Makes the folder for its user alone, and the journal in it; one that is there keeps its rights.
fn make_private(data_dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)?;
    std::fs::File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(data_dir.join("ralph.db"))
        .map(drop)
}

fn opening(data_dir: &Path) -> std::io::Result<std::fs::File> {
    let file = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(data_dir.join("ralph.db.opening"))?;
    file.lock()?;
    Ok(file)
}

fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> JournalError {
    move |source| JournalError::Query { what, source }
}

fn unreadable(what: &'static str) -> impl FnOnce(serde_json::Error) -> JournalError {
    move |source| JournalError::Row { what, source }
}

#[cfg(test)]
mod tests;
