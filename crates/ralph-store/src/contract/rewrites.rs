//! Reverts and squashes: what has no end is found again, and the end marks iterations and opens tasks.

use ralph_core::task::TaskId;

use super::*;

pub(crate) async fn a_rewrite_without_an_end_is_found_and_its_end_opens_its_tasks_again(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    begin_iteration(&mut *journal, &repository, "I1").await;
    begin_iteration(&mut *journal, &repository, "I2").await;
    let ids = ["T1", "T2", "T3"].map(|id| TaskId::parse(id).unwrap());
    let blocked = TaskHistory {
        attempts: 2,
        ..TaskHistory::default()
    };
    for id in &ids {
        let set = journal.set_task_state(&repository, "prd.json", id, &blocked);
        set.await.unwrap();
    }
    // More tasks than iterations: each is a statement of its own, with values of its own.
    let reopened = ids.iter().map(|id| ReopenedTask {
        source: "prd.json".into(),
        task_id: id.clone(),
        title: format!("Title of {id}"),
    });
    let body = RewriteBody {
        iterations: vec!["I1".into()],
        numbers: vec![1],
        reopened: reopened.collect(),
    };
    let new = NewRewrite {
        id: "R1",
        repository: &repository,
        worktree: "/w",
        kind: RewriteKind::Revert,
        branch: "ralph/x",
        from: "c2",
        to: "c1",
        made: None,
        body: &body,
        at: at(),
    };
    journal.begin_rewrite(&new).await.unwrap();
    journal.close().await.unwrap();
    let mut journal = store.open().await;
    let found = journal.unfinished_rewrite(&repository, "/w").await.unwrap();
    let row = found.unwrap();
    assert_eq!(
        (row.id.as_str(), row.to.as_str(), &row.body),
        ("R1", "c1", &body)
    );
    journal.end_rewrite(&repository, &row, at()).await.unwrap();
    assert_eq!(
        journal.unfinished_rewrite(&repository, "/w").await.unwrap(),
        None
    );
    assert_eq!(journal.rewrites(&repository).await.unwrap(), [row]);
    let states = journal.task_states(&repository, "prd.json").await.unwrap();
    assert!(states.is_empty(), "their histories begin again: {states:?}");
    let rows = journal.last_iterations(&repository, 9).await.unwrap();
    let reverted: Vec<(u64, bool)> = rows.iter().map(|row| (row.n, row.reverted)).collect();
    assert_eq!(reverted, [(2, false), (1, true)]);
}
