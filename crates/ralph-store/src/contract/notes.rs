//! Loops that are not over, and notes about them.

use std::path::Path;

use ralph_core::{
    breaker::BreakerState,
    event::{Event, KeptEvent},
    health::HealthState,
    termination::Stop,
};

use super::*;

pub(crate) async fn only_the_newest_loop_of_a_working_tree_is_open_and_only_without_an_end(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    let other = journal.repository(Path::new("/other/.git"), None, at());
    let (other, _) = other.await.unwrap();
    for (of, id, place, began) in [
        (&repository, "L1", "/w", "2026-01-01T00:00:00Z"),
        (&repository, "L2", "/w", "2026-01-02T00:00:00Z"),
        (&repository, "L3", "/v", "2026-01-03T00:00:00Z"),
        (&other, "L4", "/u", "2026-01-04T00:00:00Z"),
    ] {
        begin_loop_in(&mut *journal, of, id, place, began.parse().unwrap()).await;
    }
    journal
        .end_loop(&repository, &"L3".into(), &Stop::AllComplete, at(), None)
        .await
        .unwrap();
    let open = journal.open_loops().await.unwrap();
    let ids: Vec<&str> = open.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["L2", "L4"]);
    let ended = journal.any_loop(&"L3".into()).await.unwrap().unwrap();
    assert!(ended.ended_at.is_some());
    assert_eq!(ended.config, "{\"a\":1}");
}

pub(crate) async fn notes_are_kept_and_restarts_are_counted_by_working_tree_and_time(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    for (of, id, place, began) in [
        (&repository, "L1", "/w", "2026-01-01T00:00:00Z"),
        (&repository, "L2", "/w", "2026-01-02T00:00:00Z"),
    ] {
        begin_loop_in(&mut *journal, of, id, place, began.parse().unwrap()).await;
    }
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

pub(crate) async fn events_of_a_loop_are_kept_in_their_order_and_known_by_iteration(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    for id in ["L1", "L2"] {
        begin_loop_in(&mut *journal, &repository, id, "/w", at()).await;
    }
    let health = |iteration, sentence: &str| {
        let event = Event::Health {
            iteration,
            task: "A".into(),
            before: HealthState::Healthy,
            state: HealthState::Stuck,
            sentence: sentence.into(),
        };
        KeptEvent::of(&event, at()).unwrap()
    };
    let breaker = Event::Breaker {
        state: BreakerState::Open,
        sentence: "five failed".into(),
    };
    let breaker = KeptEvent::of(&breaker, at()).unwrap();
    let (one, two, three) = (health(1, "a"), health(1, "b"), health(2, "c"));
    let first = [one.clone(), two.clone()];
    journal.keep_events(&"L1".into(), &first).await.unwrap();
    let then = [three.clone(), breaker.clone()];
    journal.keep_events(&"L1".into(), &then).await.unwrap();
    journal
        .keep_events(&"L2".into(), &first[..1])
        .await
        .unwrap();
    journal.keep_events(&"L2".into(), &[]).await.unwrap();

    let mut journal = store.open().await;
    let of_iteration = journal.iteration_events(&"L1".into(), 1).await.unwrap();
    assert_eq!(of_iteration, first);
    let newest = journal.kept_events(&"L1".into(), 3).await.unwrap();
    assert_eq!(newest, [two, three, breaker.clone()]);
    assert_eq!(journal.kept_events(&"L2".into(), 9).await.unwrap(), [one]);
    assert_eq!((breaker.kind(), breaker.iteration()), ("breaker", None));
    assert_eq!(breaker.line(), "breaker open: five failed");
}
