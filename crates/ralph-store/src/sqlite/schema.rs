//! The schema of the journal: brought forward when a newer ralph opens it, behind a backup.
//!
//! Never goes back: a journal that a newer ralph wrote is refused, and stays as it is.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use sqlx::{
    Connection as _, Executor as _, SqlSafeStr as _, SqliteConnection,
    migrate::{Migration, MigrationType, Migrator},
};

use super::{JournalError, Result, cant_open};

/// The files in `migrations/sqlite/` with their texts.
macro_rules! migrations {
    ($($version:literal $description:literal $file:literal,)+) => {
        [$(($version, $description, include_str!(concat!("../../migrations/sqlite/", $file)))),+]
    };
}

/// Version, description and text of each migration. Listed here instead of read by sqlx's `migrate!`:
/// its proc macro brings a second sqlx and a second SQLite into every build, for the machine that compiles.
#[rustfmt::skip]
const LISTED: [(i64, &str, &str); 17] = migrations![
    1 "journal" "0001_journal.sql",
    2 "quick questions" "0002_quick_questions.sql",
    3 "commands" "0003_commands.sql",
    4 "rewrites" "0004_rewrites.sql",
    6 "checkpoints" "0006_checkpoints.sql",
    7 "tokens" "0007_tokens.sql",
    8 "loops" "0008_loops.sql",
    9 "token months" "0009_token_months.sql",
    11 "side runs" "0011_side_runs.sql",
    12 "monitor" "0012_monitor.sql",
    13 "clean check" "0013_clean_check.sql",
    14 "counted checkpoints" "0014_counted_checkpoints.sql",
    15 "costs and events" "0015_costs_and_events.sql",
    16 "task source" "0016_task_source.sql",
    17 "task list" "0017_task_list.sql",
    18 "sessions" "0018_sessions.sql",
    19 "sync" "0019_sync.sql",
];

pub(super) static MIGRATIONS: LazyLock<Migrator> = LazyLock::new(|| {
    let all = LISTED.map(|(version, description, text)| {
        Migration::new(
            version,
            description.into(),
            MigrationType::Simple,
            text.into_sql_str(),
            false,
        )
    });
    Migrator::with_migrations(all.into())
});

/// Returns whether nothing is missing. Only looks, and refuses a journal of a newer ralph.
pub(super) async fn is_up_to_date(db: &mut SqliteConnection, path: &Path) -> Result<bool> {
    let applied = applied(db).await.map_err(|e| cant_open(path, e))?;
    refuse_newer(&applied, path)?;
    Ok(MIGRATIONS.iter().all(|m| applied.contains(&m.version)))
}

/// Applies what is missing. What is there already is copied beside the journal first.
pub(super) async fn bring_forward(db: &mut SqliteConnection, path: &Path) -> Result<()> {
    let applied = applied(db).await.map_err(|e| cant_open(path, e))?;
    refuse_newer(&applied, path)?;
    let pending = MIGRATIONS.iter().any(|m| !applied.contains(&m.version));
    if let (true, Some(from)) = (pending, applied.iter().copied().max()) {
        back_up(db, path, from).await?;
    }
    // All of it or nothing, and one wait for the disk.
    let begun = db.begin_with("BEGIN IMMEDIATE").await;
    let mut tx = begun.map_err(|e| cant_open(path, e))?;
    MIGRATIONS
        .run(&mut *tx)
        .await
        .map_err(|e| cant_open(path, e))?;
    tx.commit().await.map_err(|e| cant_open(path, e))
}

pub(super) fn refuse_newer(applied: &[i64], path: &Path) -> Result<()> {
    let known = MIGRATIONS.iter().map(|m| m.version).max().unwrap_or(0);
    match applied.iter().copied().max() {
        Some(found) if found > known => Err(JournalError::Newer {
            path: path.to_owned(),
            found,
            known,
        }),
        Some(_) | None => Ok(()),
    }
}

/// The versions that the journal has; none if it is new.
pub(super) async fn applied(db: &mut SqliteConnection) -> Result<Vec<i64>, sqlx::Error> {
    let tables: Vec<(String,)> = sqlx::query_as(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name = '_sqlx_migrations'",
    )
    .fetch_all(&mut *db)
    .await?;
    if tables.is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<(i64,)> = sqlx::query_as("SELECT version FROM _sqlx_migrations")
        .fetch_all(db)
        .await?;
    Ok(rows.into_iter().map(|(version,)| version).collect())
}

/// A whole copy, under its own name only once it is whole: a crash leaves no half of one that would
/// be taken for a backup.
async fn back_up(db: &mut SqliteConnection, path: &Path, from: i64) -> Result<()> {
    let backup = backup_path(path, from);
    let fail = |source: crate::BoxedError| JournalError::Backup {
        path: backup.clone(),
        source,
    };
    let half = backup.with_extension("half");
    match std::fs::remove_file(&half) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(fail(Box::new(error)));
        }
        Ok(()) | Err(_) => {}
    }
    make_private(&half).map_err(|e| fail(Box::new(e)))?;
    // Unlike a copy of the file, this has what is still in the write-ahead log.
    let into = sqlx::query("VACUUM INTO ?").bind(half.to_string_lossy().into_owned());
    db.execute(into).await.map_err(|e| fail(Box::new(e)))?;
    std::fs::File::open(&half)
        .and_then(|file| file.sync_all())
        .and_then(|()| std::fs::rename(&half, &backup))
        .map_err(|e| fail(Box::new(e)))
}

/// An empty file is taken for none by `VACUUM INTO`, which keeps its rights.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::OpenOptionsExt as _;
    std::fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .map(drop)
}

/// `ralph.db.schema-4.backup`: the journal as it was before it was brought forward from there.
pub(super) fn backup_path(path: &Path, from: i64) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".schema-{from}.backup"));
    path.with_file_name(name)
}
