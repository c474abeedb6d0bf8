//! A journal that is older, and one that is newer.

use sqlx::Connection as _;

use super::*;

/// Makes the journal one of schema 4, with a loop and two iterations of that time in it.
async fn made_old(dir: &std::path::Path) {
    let (mut journal, repository) = {
        let mut journal = Journal::open(dir).await.unwrap();
        let (id, _) = journal.repository(dir, None, at()).await.unwrap();
        (journal, id)
    };
    begin_loop(&mut journal, &repository, "L1").await;
    let undo = [
        "DROP TRIGGER iteration_ends",
        "DROP TRIGGER iteration_is_taken_back",
        "DROP INDEX loop_by_time",
        "ALTER TABLE loop DROP COLUMN goal",
        "ALTER TABLE loop DROP COLUMN iterations",
        "ALTER TABLE loop DROP COLUMN verified",
        "ALTER TABLE loop DROP COLUMN cost_millionths",
        "ALTER TABLE loop DROP COLUMN input_tokens",
        "ALTER TABLE loop DROP COLUMN output_tokens",
        "DELETE FROM _sqlx_migrations WHERE version = 8",
        "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at, ended_at, verdict, record)
         SELECT 'I1', repository_id, id, 1, 'T1', 1, 'b', '{}', 's', 'e', 'verified',
                '{\"usage\":{\"inputTokens\":10,\"outputTokens\":3,\"costUsd\":0.25}}' FROM loop",
        "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start, started_at, ended_at, verdict, record)
         SELECT 'I2', repository_id, id, 2, 'T2', 1, 'b', '{}', 's', 'e', 'failed',
                '{\"usage\":{\"inputTokens\":5,\"outputTokens\":1,\"costUsd\":null}}' FROM loop",
    ];
    for sql in undo {
        sqlx::query(sql).execute(&mut journal.db).await.unwrap();
    }
    journal.close().await.unwrap();
}

fn backups(dir: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("backup") || name.contains("half"))
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_new_journal_needs_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    Journal::open(dir.path()).await.unwrap();
    Journal::open(dir.path()).await.unwrap();
    assert_eq!(backups(dir.path()), [""; 0]);
}

#[tokio::test]
async fn an_older_journal_is_copied_and_then_brought_forward_with_its_past() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    made_old(dir.path()).await;
    let mut journal = Journal::open(dir.path()).await.unwrap();
    let row = journal.listed_loop("L1").await.unwrap().unwrap();
    assert_eq!((row.iterations, row.verified), (2, 1));
    assert_eq!((row.input_tokens, row.output_tokens), (15, 4));
    assert_eq!(row.cost_millionths, Some(250_000));

    let names = backups(dir.path());
    assert_eq!(names.len(), 1, "{names:?}");
    let backup = dir.path().join(&names[0]);
    let mode = backup.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut old = sqlx::SqliteConnection::connect(&format!("sqlite://{}", backup.display()))
        .await
        .unwrap();
    let (loops,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM loop")
        .fetch_one(&mut old)
        .await
        .unwrap();
    assert_eq!(loops, 1);
    let (newest,): (i64,) =
        sqlx::query_as("SELECT COUNT(*) FROM _sqlx_migrations WHERE version = 8")
            .fetch_one(&mut old)
            .await
            .unwrap();
    assert_eq!(newest, 0, "the copy is of before");
}

#[tokio::test]
async fn a_journal_of_a_newer_ralph_is_refused_by_name_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = Journal::open(dir.path()).await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'from the future', 1, x'00', 0)",
    )
    .execute(&mut journal.db)
    .await
    .unwrap();
    journal.close().await.unwrap();
    let Err(error) = Journal::open(dir.path()).await else {
        panic!("it was opened");
    };
    assert!(
        matches!(error, JournalError::Newer { found: 9999, .. }),
        "{error}"
    );
    let text = error.to_string();
    let path = dir.path().join("ralph.db");
    assert!(text.contains(path.to_str().unwrap()), "{text}");
    assert!(text.contains("newer ralph (schema 9999,"), "{text}");
    assert_eq!(backups(dir.path()), [""; 0]);
}
