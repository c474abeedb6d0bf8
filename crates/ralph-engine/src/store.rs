//! The journal: SQLite in the data folder, outside the repository that agents can write.
//!
//! Every write is one transaction and durable when it returns (`synchronous=FULL`). Knows rows,
//! not what they mean: folding them into a state is the driver's.

mod checkpoints;
mod commands;
mod guidance;
mod held;
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
pub use tokens::{Accounts, Grouped, LoopPart, SideRun, SideWork, SumBy, Whose, day_of, first_day};

use std::{
    fs::TryLockError,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection,
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
    #[error("the journal {} can't {what}: {by}", path.display())]
    Held {
        path: PathBuf,
        what: &'static str,
        /// Who holds it, and the way out.
        by: String,
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
        Self::open_within(data_dir, held::PATIENCE).await
    }

    /// The same for whoever waits that long for others, and no longer.
    async fn open_within(data_dir: &Path, patience: Duration) -> Result<Self, JournalError> {
        let path = data_dir.join("ralph.db");
        // What agents said and how they were configured is the user's own to read.
        make_private(data_dir).map_err(|e| cant_open(&path, e))?;
        // Nearly always: nothing is to be set up, and nobody waits for anybody.
        let is_new = std::fs::metadata(&path).is_ok_and(|file| file.len() == 0);
        if !is_new {
            let mut db = connect(&path, patience).await?;
            if schema::is_up_to_date(&mut db, &path).await? {
                return Ok(Self { db, path });
            }
            db.close().await.map_err(failed("be closed"))?;
        }
        // One at a time: two that find a new journal, or an old one, would both set it up.
        let _opening = opening(data_dir, &path).await?;
        let mut db = connect(&path, patience).await?;
        schema::bring_forward(&mut db, &path).await?;
        Ok(Self { db, path })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ends the connection in order, so that the write-ahead log is folded in.
    pub async fn close(self) -> Result<(), JournalError> {
        self.db.close().await.map_err(failed("be closed"))
    }
}

async fn connect(path: &Path, patience: Duration) -> Result<SqliteConnection, JournalError> {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(patience)
        .connect()
        .await
        .map_err(|e| cant_open(path, e))
}

/// Makes the folder for its user alone, and the journal in it; one that is there keeps its rights, and
/// is not even opened: closing a file gives up all locks that this process has on it.
fn make_private(data_dir: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(data_dir)?;
    let made = std::fs::File::options()
        .create_new(true)
        .append(true)
        .mode(0o600)
        .open(data_dir.join("ralph.db"));
    match made {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// How long somebody else may take to set the journal up: a large one is copied first.
const SETTING_UP: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Held while the journal is set up; goes away with the process, however it ends.
async fn opening(data_dir: &Path, journal: &Path) -> Result<std::fs::File, JournalError> {
    let path = data_dir.join("ralph.db.opening");
    let file = std::fs::File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|e| cant_open(journal, e))?;
    let until = Instant::now() + SETTING_UP;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(cant_open(journal, error)),
            Err(TryLockError::WouldBlock) if Instant::now() < until => {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(JournalError::Held {
                    path: journal.to_owned(),
                    what: "be set up",
                    by: held::by(held::holder_of(&path, None).as_ref()),
                });
            }
        }
    }
}

/// Why it can't be opened; somebody who holds it is named, however deep that is in the error.
fn cant_open(
    path: &Path,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> JournalError {
    let source = source.into();
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*source);
    while let Some(error) = cause {
        if error.downcast_ref().is_some_and(held::is_busy) {
            return held::held(path, "be opened");
        }
        cause = error.source();
    }
    JournalError::Open {
        path: path.to_owned(),
        source,
    }
}

fn failed(what: &'static str) -> impl FnOnce(sqlx::Error) -> JournalError {
    move |source| JournalError::Query { what, source }
}

fn unreadable(what: &'static str) -> impl FnOnce(serde_json::Error) -> JournalError {
    move |source| JournalError::Row { what, source }
}

#[cfg(test)]
mod tests;
