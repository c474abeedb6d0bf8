//! The journal in SQLite: one file in the data folder (`synchronous=FULL`, write-ahead log).

pub(crate) mod lock;
mod look;
mod schema;

use std::{
    fs::TryLockError,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection as _, SqliteConnection,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous},
};

pub(super) use look::look;

use super::{JournalError, Result};
use crate::sql::statement::failed;

/// The file that a journal is in.
pub(crate) struct SqliteFile {
    pub(crate) db: SqliteConnection,
    pub(crate) path: PathBuf,
}

impl SqliteFile {
    pub(crate) async fn open(data_dir: &Path) -> Result<Self> {
        Self::open_within(data_dir, lock::PATIENCE).await
    }

    /// Opens the journal, and waits that long for others at each write, then and later.
    async fn open_within(data_dir: &Path, patience: Duration) -> Result<Self> {
        let path = data_dir.join("ralph.db");
        if is_read_only(&path) {
            return Self::open_read_only(path, patience).await;
        }
        // What agents said and how they were configured is the user's own to read.
        make_private(data_dir).map_err(|e| cant_open(&path, e))?;
        // Nearly always there is nothing to set up, and no wait for other processes.
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
        keep_lost_log(&path).map_err(|e| cant_open(&path, e))?;
        let mut db = connect(&path, patience).await?;
        schema::bring_forward(&mut db, &path).await?;
        Ok(Self { db, path })
    }

    /// Opens a journal that can't be written here, as inside a run: as it is, or not at all.
    async fn open_read_only(path: PathBuf, patience: Duration) -> Result<Self> {
        let mut log = path.clone().into_os_string();
        log.push("-wal");
        // Without a log there is no writer, and what a reader would share with one can't be made.
        let has_writer = Path::new(&log).exists();
        let mut db = SqliteConnectOptions::new()
            .filename(&path)
            .read_only(true)
            .immutable(!has_writer)
            .busy_timeout(patience)
            .connect()
            .await
            .map_err(|e| cant_open(&path, e))?;
        if schema::is_up_to_date(&mut db, &path).await? {
            Ok(Self { db, path })
        } else {
            Err(JournalError::Older { path })
        }
    }
}

/// Tells if the file is on a mount that can't be written.
fn is_read_only(path: &Path) -> bool {
    use rustix::fs::{StatVfsMountFlags, statvfs};
    statvfs(path).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::RDONLY))
}

async fn connect(path: &Path, patience: Duration) -> Result<SqliteConnection> {
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

/// Sets the write-ahead log of a journal aside that was deleted or emptied: SQLite would delete it, and it may hold
/// what was written last.
fn keep_lost_log(path: &Path) -> std::io::Result<()> {
    let is_empty = std::fs::metadata(path).is_ok_and(|file| file.len() == 0);
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let log = Path::new(&log);
    if !is_empty || std::fs::metadata(log).map_or(true, |file| file.len() == 0) {
        return Ok(());
    }
    let mut aside = log.file_name().unwrap_or_default().to_owned();
    aside.push(".lost");
    let folder = path.parent().unwrap_or(path);
    std::fs::rename(log, crate::free_name(folder, &aside))
}

/// The longest that another process may take to set the journal up: a large one is copied first.
const SETTING_UP: Duration = Duration::from_secs(600);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Held while the journal is set up; goes away with the process, however it ends.
async fn opening(data_dir: &Path, journal: &Path) -> Result<std::fs::File> {
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
                return Err(JournalError::Busy {
                    path: journal.to_owned(),
                    what: "be set up",
                    holder: lock::describe(lock::holder_of(&path, None).as_ref()),
                });
            }
        }
    }
}

/// The error of a journal that can't be opened; a process that holds it is named, however deep that is in the error.
fn cant_open(
    path: &Path,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> JournalError {
    let source = source.into();
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&*source);
    while let Some(error) = cause {
        if error.downcast_ref().is_some_and(lock::is_busy) {
            return lock::busy(path, "be opened");
        }
        cause = error.source();
    }
    JournalError::Open {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests;
