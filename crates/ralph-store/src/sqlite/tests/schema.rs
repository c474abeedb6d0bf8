//! Journals of every schema that there was, and one that is newer.

use ralph_core::{dollars::Dollars, task::TaskId};
use sqlx::{Connection as _, migrate::Migrator};

use super::{super::schema::MIGRATIONS, *};

/// A journal as the ralph of that schema left it, with a past of that time in it: all that it could keep.
pub(super) async fn made_by(dir: &std::path::Path, version: i64) {
    let path = dir.join("ralph.db");
    let mut db = connect(&path, Duration::from_secs(10)).await.unwrap();
    let old = MIGRATIONS.iter().filter(|m| m.version <= version).cloned();
    let old = Migrator::with_migrations(old.collect());
    old.run(&mut db).await.unwrap();
    for (since, sql) in PAST {
        if version >= since {
            let done = sqlx::query(sql).execute(&mut db).await;
            done.unwrap_or_else(|error| panic!("schema {version}: {error}: {sql}"));
        }
    }
    db.close().await.unwrap();
}

/// Rows, and the schema that had a place for them first.
const PAST: [(i64, &str); 15] = [
    (1, "INSERT INTO repository (id, common_dir, created_at, next_iteration) VALUES ('R', '/r/.git', '2026-01-01T00:00:00Z', 3)"),
    (
        1,
        "INSERT INTO loop (id, repository_id, worktree, source, branch, base_commit, agent, config,
                           baseline, started_at, ended_at, stop)
         VALUES ('L1', 'R', '/r', 'prd.json', 'ralph/x', 'b', 'claude', '{}', NULL,
                 '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '{\"why\":\"all_complete\"}')",
    ),
    (
        1,
        "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start,
                                started_at, ended_at, verdict, outcome, result_commit, record)
         VALUES ('I1', 'R', 'L1', 1, 'T1', 1, 'b', '{}', '2026-01-01T00:00:00Z',
                 '2026-01-01T00:10:00Z', 'verified', 'success', 'c1',
                 '{\"title\":\"One\",\"usage\":{\"inputTokens\":10,\"outputTokens\":3,\"costUsd\":0.25}}')",
    ),
    (
        1,
        "INSERT INTO iteration (id, repository_id, loop_id, n, task_id, attempt, base_commit, start,
                                started_at, ended_at, verdict, outcome, record)
         VALUES ('I2', 'R', 'L1', 2, 'T2', 1, 'b', '{}', '2026-01-01T00:20:00Z',
                 '2026-01-01T00:30:00Z', 'failed', 'failed',
                 '{\"title\":\"Two\",\"usage\":{\"inputTokens\":5,\"outputTokens\":1,\"costUsd\":null}}')",
    ),
    (1, "INSERT INTO step VALUES ('I1', 1, '2026-01-01T00:00:00Z', 'intent', 'agent')"),
    (
        1,
        "INSERT INTO task_state VALUES ('R', 'prd.json', 'T2', '{\"attempts\":1,\"blocked\":\"no way\"}')",
    ),
    (
        1,
        "INSERT INTO suggestion (repository_id, iteration, title, description)
         VALUES ('R', 1, 'More', 'of it')",
    ),
    (
        3,
        "INSERT INTO command (repository_id, worktree, who, at, body)
         VALUES ('R', '/r', 'ann', '2026-01-02T00:00:00Z', '{\"command\":\"resume\"}')",
    ),
    (
        3,
        "INSERT INTO guidance (repository_id, source, task_id, text, who, at)
         VALUES ('R', 'prd.json', 'T2', 'mind the gap', 'ann', '2026-01-02T00:00:00Z')",
    ),
    (
        3,
        "INSERT INTO escalation (repository_id, source, task_id, iteration, asked_by, question, asked_at)
         VALUES ('R', 'prd.json', 'T2', 2, 'ralph', 'which way?', '2026-01-01T00:30:00Z')",
    ),
    (
        4,
        "INSERT INTO rewrite VALUES ('W', 'R', '/r', 'revert', 'ralph/x', 'f', 't', NULL, '{}',
                                     '2026-01-01T00:40:00Z', '2026-01-01T00:40:00Z', 'done')",
    ),
    (
        6,
        "INSERT INTO checkpoint VALUES ('C1', 'R', 'L1', 1, 1, 'complete', '2026-01-01T00:10:00Z',
                                        '{}', 'h', NULL, 'c1')",
    ),
    (
        7,
        "INSERT INTO token_record (iteration_id, seq, run, agent, model, caller, input, output,
                                   cache_read, cache_write, cost_input, cost_output,
                                   cost_cache_read, cost_cache_write, told, spent)
         VALUES ('I1', 1, 1, 'claude', 'opus', 'agent', 10, 3, 0, 0,
                                          1, 2, 3, 4, NULL, 250000)",
    ),
    (
        7,
        "INSERT INTO token_total (repository_id, dimension, key, day, calls, tool_calls, input, output,
                                  cache_read, cache_write, cost_input, cost_output, cost_cache_read,
                                  cost_cache_write, unpriced_tokens, told, told_by_table, spent)
         VALUES ('R', 'task', 'T1', '2026-01-01', 1, 0, 10, 3, 0, 0, 1, 2, 3, 4,
                                         0, 0, 0, 250000)",
    ),
    (
        7,
        "INSERT INTO token_total (repository_id, dimension, key, day, calls, tool_calls, input, output,
                                  cache_read, cache_write, cost_input, cost_output, cost_cache_read,
                                  cost_cache_write, unpriced_tokens, told, told_by_table, spent)
         VALUES ('R', 'total', '', '2026-01-01', 1, 0, 10, 3, 0, 0, 1, 2, 3, 4,
                                         0, 0, 0, 250000)",
    ),
];

/// Everything that the older ralph wrote is read by this one.
async fn assert_past(journal: &mut SqlJournal, version: i64) {
    let repository = RepositoryId("R".into());
    assert_eq!(journal.next_iteration(&repository).await.unwrap(), 3);
    let last = journal.last_loop(&repository, "/r").await.unwrap().unwrap();
    assert_eq!((last.id.as_str(), last.branch.as_str()), ("L1", "ralph/x"));
    let listed = journal.listed_loop(&"L1".into()).await.unwrap().unwrap();
    // From schema 8 on the database counts when an iteration ends; before, once when it is brought
    // forward.
    if version < 8 {
        assert_eq!((listed.iterations, listed.verified), (2, 1));
        assert_eq!((listed.input_tokens, listed.output_tokens), (15, 4));
        assert_eq!(listed.cost, Some(Dollars::from_millionths(250_000)));
    }
    let rows = journal.last_iterations(&repository, 9).await.unwrap();
    let rows: Vec<(u64, &str, &str, bool)> = rows
        .iter()
        .map(|row| {
            let (title, verdict) = (row.title.as_deref(), row.verdict.as_deref());
            (row.n, title.unwrap(), verdict.unwrap(), row.reverted)
        })
        .collect();
    let expected = [(2, "Two", "failed", false), (1, "One", "verified", false)];
    assert_eq!(rows, expected);
    let states = journal.task_states(&repository, "prd.json").await.unwrap();
    let blocked: Vec<&str> = states
        .iter()
        .filter_map(|(_, s)| s.blocked.as_deref())
        .collect();
    assert_eq!(blocked, ["no way"]);
    let suggested = journal.suggestions(&repository).await.unwrap();
    assert_eq!(suggested[0].title, "More");
    if version >= 3 {
        let waiting = journal.waiting_commands(&repository, "/r").await.unwrap();
        assert_eq!(waiting[0].who, "ann");
        let questions = journal.questions(&repository, "prd.json").await.unwrap();
        assert_eq!(questions[0].question, "which way?");
        let task = TaskId::parse("T2").unwrap();
        let told = journal.guidance(&repository, "prd.json", &task);
        assert_eq!(told.await.unwrap()[0].text, "mind the gap");
    }
    if version >= 4 {
        assert_eq!(journal.rewrites(&repository).await.unwrap()[0].id, "W");
    }
    if version >= 6 {
        let last = journal.last_checkpoint_id(&"L1".into()).await.unwrap();
        assert_eq!(last, Some("C1".into()));
    }
    if version >= 7 {
        let records = journal.token_records(&"I1".into()).await.unwrap();
        assert_eq!(records[0].tokens.input, 10);
        for since in ["2025-12-31", "2026-01-01"] {
            let sums = journal.spending(&repository, SpendingScope::Task("T1"), Some(since));
            assert_eq!(sums.await.unwrap().spent.millionths(), 250_000);
        }
        let months: Vec<(String, i64)> = sqlx::query_as("SELECT month, spent FROM token_month")
            .fetch_all(journal.sqlite())
            .await
            .unwrap();
        assert_eq!(months, [("2026-01".to_owned(), 250_000)]);
    }
}

/// This ralph works with it as with its own: it goes on from where the older one was.
async fn assert_goes_on(journal: &mut SqlJournal) {
    let repository = RepositoryId("R".into());
    begin_loop(journal, &repository, "L2").await;
    let n = journal
        .begin_iteration(&repository, &start("L2", "I3"))
        .await
        .unwrap();
    assert_eq!(n, 3);
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

/// The newest schema of a file, and how many iterations are in it.
async fn looked_into(path: &std::path::Path) -> (i64, i64) {
    let mut db = sqlx::SqliteConnection::connect(&format!("sqlite://{}", path.display()))
        .await
        .unwrap();
    let sql =
        "SELECT (SELECT MAX(version) FROM _sqlx_migrations), (SELECT COUNT(*) FROM iteration)";
    sqlx::query_as(sql).fetch_one(&mut db).await.unwrap()
}

#[tokio::test]
async fn a_journal_of_every_older_schema_is_copied_and_brought_forward_with_all_that_it_holds() {
    use std::os::unix::fs::PermissionsExt as _;
    let newest = MIGRATIONS.iter().map(|m| m.version).max().unwrap();
    let older = MIGRATIONS.iter().map(|m| m.version).filter(|v| *v < newest);
    let older: Vec<i64> = older.collect();
    assert!(older.starts_with(&[1, 2, 3, 4, 6, 7, 8]), "{older:?}");
    for version in older {
        let dir = tempfile::tempdir().unwrap();
        made_by(dir.path(), version).await;
        let mut journal = open(dir.path()).await.unwrap();
        assert_past(&mut journal, version).await;
        assert_goes_on(&mut journal).await;
        Box::new(journal).close().await.unwrap();
        let name = format!("ralph.db.schema-{version}.backup");
        assert_eq!(backups(dir.path()), [name.as_str()]);
        let backup = dir.path().join(name);
        let mode = backup.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            looked_into(&backup).await,
            (version, 2),
            "the copy is of before"
        );
        // It is current now: nothing is copied again.
        std::fs::remove_file(&backup).unwrap();
        open(dir.path()).await.unwrap();
        assert_eq!(backups(dir.path()), [""; 0]);
    }
}

#[test]
fn every_migration_is_listed_under_the_name_of_its_file() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/migrations/sqlite");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let listed: Vec<String> = MIGRATIONS
        .iter()
        .map(|m| format!("{:04}_{}.sql", m.version, m.description.replace(' ', "_")))
        .collect();
    assert_eq!(listed, files);
    for (migration, file) in MIGRATIONS.iter().zip(&files) {
        let text = std::fs::read_to_string(format!("{folder}/{file}")).unwrap();
        assert_eq!(migration.sql.as_str(), text, "{file}");
    }
}

#[test]
fn a_schema_that_was_shipped_is_never_changed() {
    let shipped = [
        (1, "745df7ec"),
        (2, "67c2f5e6"),
        (3, "176d4e36"),
        (4, "772c16a9"),
        (6, "6e174baa"),
        (7, "879ebea7"),
        (8, "e10ee382"),
        (9, "c0fba45f"),
        (11, "8b1f372c"),
        (12, "dcd1e737"),
        (13, "d5e6e93e"),
        (14, "8be934f8"),
    ];
    for (version, expected) in shipped {
        let migration = MIGRATIONS.iter().find(|m| m.version == version).unwrap();
        let sum: String = migration.checksum[..4]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(sum, expected, "migration {version}");
    }
}

#[tokio::test]
async fn many_that_open_an_older_journal_at_once_bring_it_forward_once() {
    let dir = tempfile::tempdir().unwrap();
    made_by(dir.path(), 7).await;
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = { runtime }.enable_all().build().unwrap();
                runtime.block_on(open(dir.path())).unwrap();
            });
        }
    });
    assert_eq!(backups(dir.path()), ["ralph.db.schema-7.backup"]);
    let mut journal = open(dir.path()).await.unwrap();
    assert_past(&mut journal, 7).await;
}

#[tokio::test]
async fn a_new_journal_needs_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    open(dir.path()).await.unwrap();
    open(dir.path()).await.unwrap();
    assert_eq!(backups(dir.path()), [""; 0]);
}

#[tokio::test]
async fn a_journal_of_a_newer_ralph_is_refused_by_name_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path()).await.unwrap();
    sqlx::query(
        "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
         VALUES (9999, 'from the future', 1, x'00', 0)",
    )
    .execute(journal.sqlite())
    .await
    .unwrap();
    Box::new(journal).close().await.unwrap();
    let before = std::fs::read(dir.path().join("ralph.db")).unwrap();
    let Err(error) = open(dir.path()).await else {
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
    assert_eq!(std::fs::read(&path).unwrap(), before);
}
