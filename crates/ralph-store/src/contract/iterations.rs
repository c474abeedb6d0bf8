//! Iterations: what a crash leaves, and numbers that are never used again.

use ralph_core::{
    id::LoopId,
    iteration::{ChangedFile, StepDone},
};

use super::{
    costs::{iteration, record},
    *,
};

pub(crate) async fn an_iteration_without_an_end_is_found_again_with_its_steps(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let n = begin_iteration(&mut *journal, &repository, "I1").await;
    assert_eq!(n, 1);
    let bundled = Step::Done(StepDone::Bundled { prompt_bytes: 5 });
    let steps = std::slice::from_ref(&bundled);
    journal
        .append_steps(&repository, &"I1".into(), steps, at(), None)
        .await
        .unwrap();
    drop(journal);
    let mut journal = store.open().await;
    let found = journal
        .unfinished_iteration(&"L1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.n, 1);
    assert_eq!(found.start, start("L1", "I1"));
    assert_eq!(found.steps, [Step::Intent("agent".into()), bundled]);
}

pub(crate) async fn a_file_that_a_landed_iteration_added_is_an_agents_until_a_loop_works_on_it(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    for (id, path, kind, commit) in [
        ("I1", "tasks.json", "added", Some("c1")),
        ("I2", "PRD.json", "modified", Some("c2")),
        ("I3", "plans/prd.json", "added", None),
    ] {
        let mut record = record(id, "L1", "T1", "2026-01-02T04:00:00Z");
        record.git.result_commit = commit.map(str::to_owned);
        record.git.files_changed = vec![ChangedFile {
            path: path.into(),
            kind: kind.into(),
        }];
        iteration(&mut *journal, &repository, &record, &TokenUsage::default()).await;
    }
    let names = ["PRD.json", "tasks.json", "plans/prd.json", "prd.json"].map(str::to_owned);
    let made = journal.made_by_agents(&repository, &names).await.unwrap();
    assert_eq!(made, ["tasks.json"]);
    let id = LoopId::new("L2");
    let new = NewLoop {
        id: &id,
        repository: &repository,
        worktree: "/w",
        source: "tasks.json",
        goal: "X",
        branch: "ralph/x",
        base_commit: "b",
        agent: "x",
        config: "{}",
        at: at(),
    };
    journal.begin_loop(&new).await.unwrap();
    let made = journal.made_by_agents(&repository, &names).await.unwrap();
    assert_eq!(made, [""; 0]);
}

pub(crate) async fn a_number_is_never_used_again(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    for (id, n) in [("I1", 1), ("I2", 2), ("I3", 3)] {
        let given = begin_iteration(&mut *journal, &repository, id).await;
        assert_eq!(given, n);
    }
}

pub(crate) async fn the_range_of_iterations_is_known_and_none_where_there_are_none(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    assert_eq!(journal.iteration_range(&repository).await.unwrap(), None);
    begin_loop(&mut *journal, &repository, "L1").await;
    for id in ["I1", "I2"] {
        begin_iteration(&mut *journal, &repository, id).await;
    }
    assert_eq!(
        journal.iteration_range(&repository).await.unwrap(),
        Some((1, 2))
    );
}

pub(crate) async fn transactions_that_read_first_do_not_lose_what_another_wrote(
    store: &dyn TestStore,
) {
    let (mut one, repository) = fresh(store).await;
    let mut other = store.open().await;
    begin_loop(&mut *one, &repository, "L1").await;
    let mut numbers = Vec::new();
    for round in 0..20 {
        let first = start("L1", &format!("A{round}"));
        let second = start("L1", &format!("B{round}"));
        let (a, b) = tokio::join!(
            one.begin_iteration(&repository, &first),
            other.begin_iteration(&repository, &second)
        );
        numbers.extend([a.unwrap(), b.unwrap()]);
    }
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=40).collect::<Vec<u64>>());
}
