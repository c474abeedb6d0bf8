//! Checkpoints: one chain for each loop, whichever process writes.

use ralph_core::{
    checkpoint::{Found, Item, IterationWork, Link, Moment, Spent, Trigger, verify},
    iteration::StepDone,
    signal::ClosingBlock,
    termination::Stop,
};

use super::*;

pub(crate) fn moment(loop_id: &str, id: &str, trigger: Trigger) -> Moment {
    Moment {
        id: id.into(),
        loop_id: loop_id.into(),
        at: at(),
        trigger,
        note: None,
        branch: "ralph/x".into(),
        commit: "c".repeat(40),
        agent: "script".into(),
        work: None,
        pending: None,
        blocked: None,
        stopped: None,
    }
}

pub(crate) fn work(iteration: u64, found: Found) -> Option<Box<IterationWork>> {
    Some(Box::new(IterationWork {
        iteration,
        task: Item {
            task_id: "T1".into(),
            title: "One".into(),
        },
        found,
        sentence: "verified".into(),
        kept: None,
        said: ClosingBlock::default(),
        handed_over: None,
        failed_calls: Vec::new(),
        spent: Some(Spent::default()),
        verification: Vec::new(),
    }))
}

pub(crate) async fn chain(journal: &mut dyn Journal, loop_id: &str) -> Vec<Link> {
    journal
        .checkpoint_chain(&loop_id.into(), None, 100)
        .await
        .unwrap()
}

pub(crate) async fn each_loop_has_a_chain_of_its_own(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    begin_loop(&mut *journal, &repository, "L2").await;
    for (loop_id, id) in [("L1", "a"), ("L2", "b"), ("L1", "c")] {
        let moment = moment(loop_id, id, Trigger::Manual);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
    }
    let (one, two) = (
        chain(&mut *journal, "L1").await,
        chain(&mut *journal, "L2").await,
    );
    let places = |links: &[Link]| -> Vec<(String, u64)> {
        links
            .iter()
            .map(|link| (link.id.to_string(), link.n))
            .collect()
    };
    assert_eq!(places(&one), [("a".into(), 1), ("c".into(), 2)]);
    assert_eq!(places(&two), [("b".into(), 1)]);
    assert_eq!(one[1].prev_hash.as_deref(), Some(one[0].hash.as_str()));
    assert_eq!(two[0].prev_hash, None);
    assert_eq!((verify(&one), verify(&two)), (Ok(()), Ok(())));
    let listed = journal.checkpoints(&repository, CheckpointFilter::Repository, 1);
    let listed = listed.await.unwrap();
    assert_eq!(places(&listed), [("c".into(), 2)]);
    let last = journal.last_checkpoint_id(&"L2".into()).await.unwrap();
    assert_eq!(last, Some("b".into()));
}

pub(crate) async fn those_of_one_iteration_are_found_newest_first(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    begin_loop(&mut *journal, &repository, "L2").await;
    for (loop_id, id, iteration) in [
        ("L1", "a", 1),
        ("L1", "b", 2),
        ("L1", "c", 2),
        ("L2", "d", 2),
    ] {
        let mut moment = moment(loop_id, id, Trigger::Phase);
        moment.work = work(iteration, Found::Checked);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
    }
    // One that a person asks for has the number of the newest iteration.
    let asked = moment("L1", "e", Trigger::Manual);
    journal.add_checkpoint(&repository, &asked).await.unwrap();
    for (iteration, expected) in [(1, &["a"][..]), (2, &["e", "c", "b"]), (3, &[])] {
        let loop_id = "L1".into();
        let of = CheckpointFilter::Iteration(&loop_id, iteration);
        let found = journal.checkpoints(&repository, of, 9).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|link| link.id.as_str()).collect();
        assert_eq!(ids, expected, "{iteration}");
    }
}

pub(crate) async fn one_is_found_by_the_beginning_or_the_end_of_its_id(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    for id in ["0190-aa-1", "0190-ab-2", "0191-bb-2"] {
        let moment = moment("L1", id, Trigger::Manual);
        journal.add_checkpoint(&repository, &moment).await.unwrap();
    }
    for (part, expected) in [
        ("0190-aa", &["0190-aa-1"][..]),
        ("0190-aa-1", &["0190-aa-1"]),
        ("0191", &["0191-bb-2"]),
        ("a-1", &["0190-aa-1"]),
        ("0190", &["0190-aa-1", "0190-ab-2"]),
        ("-2", &["0190-ab-2", "0191-bb-2"]),
        ("9", &[]),
        ("%", &[]),
    ] {
        let found = journal.checkpoints_like(&repository, part).await.unwrap();
        let ids: Vec<&str> = found.iter().map(|link| link.id.as_str()).collect();
        assert_eq!(ids, expected, "{part}");
    }
}

pub(crate) async fn the_end_of_a_loop_and_its_checkpoint_are_one_write(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let stop = Stop::NothingReady;
    let twice = moment("L1", "a", Trigger::Stop);
    journal
        .end_loop(&repository, &"L1".into(), &stop, at(), Some(&twice))
        .await
        .unwrap();
    assert_eq!(chain(&mut *journal, "L1").await.len(), 1);
    begin_loop(&mut *journal, &repository, "L2").await;
    // The same id once more: the checkpoint is refused, and so is the end of the loop.
    let same_id = moment("L2", "a", Trigger::Stop);
    let refused = journal
        .end_loop(&repository, &"L2".into(), &stop, at(), Some(&same_id))
        .await;
    assert!(refused.is_err());
    let row = journal.last_loop(&repository, "/w").await.unwrap().unwrap();
    assert_eq!((row.id.as_str(), row.ended_at), ("L2", None));
}

pub(crate) async fn a_phase_is_kept_where_it_is_another_one_only(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let n = begin_iteration(&mut *journal, &repository, "I1").await;
    let steps = [Step::Done(StepDone::Bundled { prompt_bytes: 5 })];
    for (id, found) in [
        ("a", Found::Checked),
        ("b", Found::Checked),
        ("c", Found::Changed),
    ] {
        let mut moment = moment("L1", id, Trigger::Phase);
        moment.work = work(n, found);
        journal
            .append_steps(&repository, &"I1".into(), &steps, at(), Some(&moment))
            .await
            .unwrap();
    }
    let links = chain(&mut *journal, "L1").await;
    let phases: Vec<_> = links
        .iter()
        .map(|l| (l.id.as_str(), l.phase.as_str()))
        .collect();
    assert_eq!(phases, [("a", "testing"), ("c", "implementing")]);
    let found = journal
        .unfinished_iteration(&"L1".into())
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.steps.len(), 4, "the steps are there all the same");
}

pub(crate) async fn many_who_write_at_once_make_one_chain(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let repository = &repository;
    std::thread::scope(|threads| {
        for who in 0..4 {
            threads.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread();
                let runtime = { runtime }.enable_all().build().unwrap();
                runtime.block_on(async {
                    let mut journal = store.open().await;
                    for k in 0..10 {
                        let moment = moment("L1", &format!("{who}-{k}"), Trigger::Manual);
                        journal.add_checkpoint(repository, &moment).await.unwrap();
                    }
                });
            });
        }
    });
    let links = chain(&mut *journal, "L1").await;
    assert_eq!(links.len(), 40);
    assert_eq!(verify(&links), Ok(()));
}
