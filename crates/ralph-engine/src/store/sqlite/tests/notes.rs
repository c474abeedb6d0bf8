//! Loops that are not over, and what was noted about them.

use ralph_core::termination::Stop;

use super::*;

async fn begin(
    journal: &mut SqliteJournal,
    repository: &RepositoryId,
    id: &str,
    place: (&str, &str),
) {
    let (worktree, at) = place;
    let new = NewLoop {
        id: &id.into(),
        repository,
        worktree,
        source: "prd.json",
        goal: "X",
        branch: "ralph/x",
        base_commit: "b",
        agent: "script",
        config: "{\"a\":1}",
        at: at.parse().unwrap(),
    };
    journal.begin_loop(&new).await.unwrap();
}

#[tokio::test]
async fn only_the_newest_loop_of_a_working_tree_is_open_and_only_without_an_end() {
    let (dir, mut journal, repository) = journal().await;
    let other = dir.path().join("other");
    let (other, _) = journal.repository(&other, None, at()).await.unwrap();
    begin(
        &mut journal,
        &repository,
        "L1",
        ("/w", "2026-01-01T00:00:00Z"),
    )
    .await;
    begin(
        &mut journal,
        &repository,
        "L2",
        ("/w", "2026-01-02T00:00:00Z"),
    )
    .await;
    begin(
        &mut journal,
        &repository,
        "L3",
        ("/v", "2026-01-03T00:00:00Z"),
    )
    .await;
    begin(&mut journal, &other, "L4", ("/u", "2026-01-04T00:00:00Z")).await;
    journal
        .end_loop(&"L3".into(), &Stop::AllComplete, at())
        .await
        .unwrap();
    let open = journal.open_loops().await.unwrap();
    let ids: Vec<&str> = open.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["L2", "L4"]);
    let ended = journal.any_loop(&"L3".into()).await.unwrap().unwrap();
    assert!(ended.ended_at.is_some());
    let config = journal.loop_config(&"L3".into()).await.unwrap();
    assert_eq!(config.as_deref(), Some("{\"a\":1}"));

    let plan = format!(
        "EXPLAIN QUERY PLAN SELECT id {}",
        crate::store::sqlite::loops::NEWEST_OPEN
    );
    let rows: Vec<(i64, i64, i64, String)> = sqlx::query_as(sqlx::AssertSqlSafe(plan))
        .fetch_all(&mut journal.db)
        .await
        .unwrap();
    let plan = format!("{rows:?}");
    assert!(plan.contains("loop_open"), "{plan}");
    assert!(plan.contains("SEARCH n USING"), "{plan}");
}

#[tokio::test]
async fn notes_are_kept_and_restarts_are_counted_by_working_tree_and_time() {
    let (_dir, mut journal, repository) = journal().await;
    begin(
        &mut journal,
        &repository,
        "L1",
        ("/w", "2026-01-01T00:00:00Z"),
    )
    .await;
    begin(
        &mut journal,
        &repository,
        "L2",
        ("/w", "2026-01-02T00:00:00Z"),
    )
    .await;
    assert_eq!(journal.last_note(&"L1".into()).await.unwrap(), None);
    let table = [
        ("L1", NoteKind::Restarted, "2026-01-02T10:00:00Z"),
        ("L2", NoteKind::Restarted, "2026-01-02T11:00:00Z"),
        ("L2", NoteKind::Gone, "2026-01-02T11:30:00Z"),
    ];
    for (id, kind, at) in table {
        let row = journal.any_loop(&id.into()).await.unwrap().unwrap();
        journal
            .add_note(&row, kind, "a sentence", at.parse().unwrap())
            .await
            .unwrap();
    }
    let note = journal.last_note(&"L2".into()).await.unwrap().unwrap();
    assert_eq!(
        (note.kind.as_str(), note.at.as_str()),
        ("gone", "2026-01-02T11:30:00Z")
    );
    let since = |text: &str| text.parse().unwrap();
    let count = journal.restarts("/w", since("2026-01-02T10:30:00Z")).await;
    assert_eq!(count.unwrap(), 1);
    let count = journal.restarts("/w", since("2026-01-02T09:00:00Z")).await;
    assert_eq!(count.unwrap(), 2);
    let count = journal.restarts("/v", since("2026-01-02T09:00:00Z")).await;
    assert_eq!(count.unwrap(), 0);
}
