//! Looks at a journal without opening it for work: makes none, brings none forward, changes nothing.

use std::{path::Path, time::Duration};

use sqlx::{ConnectOptions as _, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use super::schema;
use crate::{JournalError, JournalLook};

/// The time that a writer may keep a look waiting.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) async fn look(data_dir: &Path) -> JournalLook {
    let path = data_dir.join("ralph.db");
    match std::fs::metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return JournalLook::Absent,
        Err(error) => return JournalLook::Damaged(error.to_string()),
        Ok(found) if found.len() == 0 => return JournalLook::Empty,
        Ok(_) => {}
    }
    let options = SqliteConnectOptions::new().filename(&path);
    let options = options.read_only(true).busy_timeout(PATIENCE);
    let mut db = match options.connect().await {
        Ok(db) => db,
        Err(error) => return JournalLook::Damaged(told(error)),
    };
    let found = look_into(&mut db, &path).await;
    let _ = db.close().await;
    found.unwrap_or_else(|error| JournalLook::Damaged(told(error)))
}

async fn look_into(db: &mut SqliteConnection, path: &Path) -> Result<JournalLook, sqlx::Error> {
    // The pages and what is on them, without the indexes: those can be made again.
    let found: Vec<(String,)> = sqlx::query_as("PRAGMA quick_check(3)")
        .fetch_all(&mut *db)
        .await?;
    let wrong: Vec<String> = found.into_iter().map(|(said,)| said).collect();
    if wrong != ["ok"] {
        return Ok(JournalLook::Damaged(wrong.join("; ")));
    }
    let applied = schema::applied(db).await?;
    if let Err(error @ JournalError::Newer { .. }) = schema::refuse_newer(&applied, path) {
        return Ok(JournalLook::Newer(error.to_string()));
    }
    if applied.is_empty() {
        return Ok(JournalLook::Empty);
    }
    let (has_loops,): (bool,) = sqlx::query_as("SELECT EXISTS (SELECT 1 FROM loop)")
        .fetch_one(db)
        .await?;
    Ok(if has_loops {
        JournalLook::Whole
    } else {
        JournalLook::Empty
    })
}

/// The words of SQLite, without those of the library around them.
fn told(error: sqlx::Error) -> String {
    match error {
        sqlx::Error::Database(error) => error.message().to_owned(),
        other => other.to_string(),
    }
}
