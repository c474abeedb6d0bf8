//! Tests of SQLite alone; what it does as a journal is in the contract.

use async_trait::async_trait;

use super::*;
use crate::{
    contract::{TestStore, at, begin_loop, journal_contract, start},
    sql::SqlJournal,
    *,
};

mod checkpoints;
mod costs;
mod lock;
mod schema;

#[async_trait(?Send)]
impl TestStore for tempfile::TempDir {
    async fn open(&self) -> Box<dyn Journal> {
        crate::open(self.path()).await.unwrap()
    }
}

mod contract {
    super::journal_contract!(tempfile::tempdir().unwrap());
}

async fn open(data_dir: &Path) -> Result<SqlJournal> {
    open_within(data_dir, super::lock::PATIENCE).await
}

async fn open_within(data_dir: &Path, patience: Duration) -> Result<SqlJournal> {
    let file = SqliteFile::open_within(data_dir, patience).await?;
    Ok(SqlJournal::in_file(file))
}

async fn journal() -> (tempfile::TempDir, SqlJournal, RepositoryId) {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = open(dir.path()).await.unwrap();
    let (id, moved) = journal.repository(dir.path(), None, at()).await.unwrap();
    assert_eq!(moved, RepositoryMove::Stayed);
    (dir, journal, id)
}

#[tokio::test]
async fn the_bundled_sqlite_has_no_wal_reset_bug() {
    let (_dir, mut journal, _) = journal().await;
    let (version,): (String,) = sqlx::query_as("SELECT sqlite_version()")
        .fetch_one(journal.sqlite())
        .await
        .unwrap();
    let parts: Vec<u32> = version.split('.').map(|p| p.parse().unwrap()).collect();
    assert!(parts >= vec![3, 51, 3], "{version}");
}

#[tokio::test]
async fn writes_are_durable_when_they_return() {
    let (_dir, mut journal, repository) = journal().await;
    assert_eq!(synchronous(&mut journal).await, 2, "FULL");
    begin_loop(&mut journal, &repository, "L").await;
    let begun = start("L", "I");
    journal.begin_iteration(&repository, &begun).await.unwrap();
    let result = Step::Done(ralph_core::iteration::StepDone::Recorded);
    journal
        .append_steps(&repository, &begun.id, &[result], at(), None)
        .await
        .unwrap();
    assert_eq!(synchronous(&mut journal).await, 2, "FULL again");
}

async fn synchronous(journal: &mut SqlJournal) -> i64 {
    let (mode,): (i64,) = sqlx::query_as("PRAGMA synchronous")
        .fetch_one(journal.sqlite())
        .await
        .unwrap();
    mode
}

#[tokio::test]
async fn open_loops_are_found_by_an_index() {
    let (_dir, mut journal, _) = journal().await;
    let plans = [(
        format!("SELECT id {}", crate::sql::NEWEST_OPEN),
        ["loop_open", "SEARCH n USING"],
    )];
    for (sql, words) in plans {
        let plan = format!("EXPLAIN QUERY PLAN {sql}");
        let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(sqlx::AssertSqlSafe(plan))
            .fetch_all(journal.sqlite())
            .await
            .unwrap();
        let plan = format!("{rows:?}");
        assert!(words.iter().all(|word| plan.contains(word)), "{plan}");
    }
}

#[test]
fn many_that_open_a_new_journal_at_once_all_get_it() {
    let dir = tempfile::tempdir().unwrap();
    std::thread::scope(|threads| {
        let opened: Vec<_> = (0..8)
            .map(|_| {
                threads.spawn(|| {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    let journal = runtime.block_on(open(dir.path()));
                    journal.map(drop).map_err(|e| format!("{e:?}"))
                })
            })
            .collect();
        for thread in opened {
            thread.join().unwrap().unwrap();
        }
    });
}
