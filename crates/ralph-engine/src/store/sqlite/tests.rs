//! Tests of the journal: durable rows, numbers that are never used again, repositories that move.

use ralph_core::{iteration::StepDone, task::TaskId};

use super::*;
use crate::store::*;

mod checkpoints;
mod commands;
mod costs;
mod lock;
mod loops;
mod notes;
mod schema;

fn at() -> jiff::Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

async fn journal() -> (tempfile::TempDir, SqliteJournal, RepositoryId) {
    let dir = tempfile::tempdir().unwrap();
    let mut journal = SqliteJournal::open(dir.path()).await.unwrap();
    let (id, moved) = journal.repository(dir.path(), None, at()).await.unwrap();
    assert_eq!(moved, RepositoryMove::Stayed);
    (dir, journal, id)
}

fn start(loop_id: &str, id: &str) -> IterationStart {
    IterationStart {
        id: id.into(),
        loop_id: loop_id.into(),
        task: TaskId::parse("T1").unwrap(),
        attempt: 1,
        base_commit: "b".into(),
        untracked: vec!["notes.txt".into()],
        diagnose: None,
        lands: ralph_core::iteration::Lands::Claimed,
        at: at(),
    }
}

async fn begin_loop(journal: &mut SqliteJournal, repository: &RepositoryId, id: &str) {
    let new = NewLoop {
        id: &id.into(),
        repository,
        worktree: "/w",
        source: "prd.json",
        goal: "X",
        branch: "ralph/x",
        base_commit: "b",
        agent: "script",
        config: "{}",
        at: at(),
    };
    journal.begin_loop(&new).await.unwrap();
}

#[tokio::test]
async fn the_bundled_sqlite_has_no_wal_reset_bug() {
    let (_dir, mut journal, _) = journal().await;
    let (version,): (String,) = sqlx::query_as("SELECT sqlite_version()")
        .fetch_one(&mut journal.db)
        .await
        .unwrap();
    let parts: Vec<u32> = version.split('.').map(|p| p.parse().unwrap()).collect();
    assert!(parts >= vec![3, 51, 3], "{version}");
}

#[tokio::test]
async fn writes_are_durable_when_they_return() {
    let (_dir, mut journal, _) = journal().await;
    let (synchronous,): (i64,) = sqlx::query_as("PRAGMA synchronous")
        .fetch_one(&mut journal.db)
        .await
        .unwrap();
    assert_eq!(synchronous, 2, "FULL");
}

#[tokio::test]
async fn an_iteration_without_an_end_is_found_again_with_its_steps() {
    let (dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    let n = journal
        .begin_iteration(&repository, &start("L1", "I1"))
        .await
        .unwrap();
    assert_eq!(n, 1);
    let bundled = Step::Done(StepDone::Bundled { prompt_bytes: 5 });
    journal
        .append_steps(&"I1".into(), std::slice::from_ref(&bundled), at())
        .await
        .unwrap();
    drop(journal);
    let mut journal = SqliteJournal::open(dir.path()).await.unwrap();
    let found = journal
        .unfinished_iteration(&"L1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.n, 1);
    assert_eq!(found.start, start("L1", "I1"));
    assert_eq!(found.steps, [Step::Intent("agent".into()), bundled]);
}

#[tokio::test]
async fn a_number_is_never_used_again() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    for (id, n) in [("I1", 1), ("I2", 2), ("I3", 3)] {
        let given = journal
            .begin_iteration(&repository, &start("L1", id))
            .await
            .unwrap();
        assert_eq!(given, n);
    }
}

#[tokio::test]
async fn only_a_loop_without_an_end_is_interrupted() {
    let (_dir, mut journal, repository) = journal().await;
    begin_loop(&mut journal, &repository, "L1").await;
    let found = journal.interrupted_loop(&repository, "/w").await.unwrap();
    assert_eq!(found.map(|l| l.id), Some("L1".into()));
    let stop = ralph_core::termination::Stop::AllComplete;
    journal.end_loop(&"L1".into(), &stop, at()).await.unwrap();
    assert_eq!(
        journal.interrupted_loop(&repository, "/w").await.unwrap(),
        None
    );
}

#[tokio::test]
async fn a_moved_repository_keeps_its_id_and_a_copy_gets_its_own() {
    let (dir, mut journal, id) = journal().await;
    let other = dir.path().join("other");
    let (copy, moved) = journal.repository(&other, Some(&id.0), at()).await.unwrap();
    assert_ne!(copy, id);
    assert!(matches!(moved, RepositoryMove::CopyOf(_)));

    let gone = dir.path().join("gone");
    let (third, _) = journal.repository(&gone, None, at()).await.unwrap();
    let (same, moved) = journal
        .repository(&dir.path().join("new"), Some(&third.0), at())
        .await
        .unwrap();
    assert_eq!(same, third);
    assert_eq!(
        moved,
        RepositoryMove::From(gone.to_string_lossy().into_owned())
    );
}

#[tokio::test]
async fn tasks_that_wait_for_a_person_are_found_without_reading_all() {
    let (_dir, mut journal, repository) = journal().await;
    let task = |id: &str| TaskId::parse(id).unwrap();
    let asked = TaskHistory {
        question: Some("which?".into()),
        ..TaskHistory::default()
    };
    let blocked = TaskHistory {
        blocked: Some("out of attempts".into()),
        ..TaskHistory::default()
    };
    for (id, state) in [
        ("A", &TaskHistory::default()),
        ("B", &asked),
        ("C", &blocked),
    ] {
        journal
            .set_task_state(&repository, "prd.json", &task(id), state)
            .await
            .unwrap();
    }
    journal
        .set_task_state(&repository, "other.json", &task("D"), &asked)
        .await
        .unwrap();
    let held = journal.held_tasks(&repository, "prd.json").await.unwrap();
    assert_eq!(held, [("B".to_owned(), asked), ("C".to_owned(), blocked)]);

    let plan = format!("EXPLAIN QUERY PLAN {}", super::tasks::HELD);
    let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(sqlx::AssertSqlSafe(plan))
        .bind("r")
        .bind("s")
        .fetch_all(&mut journal.db)
        .await
        .unwrap();
    assert!(rows[0].3.contains("task_state_held"), "{rows:?}");
}

#[tokio::test]
async fn the_range_of_iterations_is_known_and_none_where_there_are_none() {
    let (_dir, mut journal, repository) = journal().await;
    assert_eq!(journal.iteration_range(&repository).await.unwrap(), None);
    begin_loop(&mut journal, &repository, "L1").await;
    for id in ["I1", "I2"] {
        journal
            .begin_iteration(&repository, &start("L1", id))
            .await
            .unwrap();
    }
    assert_eq!(
        journal.iteration_range(&repository).await.unwrap(),
        Some((1, 2))
    );
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
                    let journal = runtime.block_on(SqliteJournal::open(dir.path()));
                    journal.map(drop).map_err(|e| format!("{e:?}"))
                })
            })
            .collect();
        for thread in opened {
            thread.join().unwrap().unwrap();
        }
    });
}
