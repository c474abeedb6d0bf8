//! Loops inside the sessions of agents.

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, PriceBasis, TokenRecord, Tokens},
    id::LoopId,
    session_loop::{SessionEndReason, SessionOutcome},
};

use super::*;

fn new_loop<'a>(id: &'a LoopId, repository: &'a RepositoryId) -> NewSessionLoop<'a> {
    NewSessionLoop {
        id,
        repository,
        worktree: "/repository",
        agent: "some-agent",
        session: "s-1",
        prompt: "Build it",
        max_iterations: 3,
        completion_promise: Some("DONE"),
        config: None,
        at: at(),
    }
}

fn iteration(n: u64, outcome: SessionOutcome) -> SessionIteration {
    let call = TokenRecord {
        run: 1,
        agent: "some-agent".into(),
        model: Some("m".into()),
        caller: Caller::Agent,
        tokens: Tokens {
            input: 100,
            output: 20,
            cache_read: 3,
            cache_write: 0,
        },
        cost: None,
        told: Some(Dollars::from_millionths(5_000)),
        basis: PriceBasis::Listed,
    };
    SessionIteration {
        n,
        started_at: at(),
        ended_at: at(),
        outcome,
        error: (outcome == SessionOutcome::Error).then(|| "429".to_owned()),
        accounts: TokenUsage {
            records: vec![call],
            tool_calls: 2,
        },
    }
}

pub(crate) async fn a_loop_in_a_session_counts_each_iteration_once_and_adds_to_what_was_spent(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    let id = LoopId::new("019a-1");
    let new = new_loop(&id, &repository);
    journal.begin_session_loop(&new).await.unwrap();
    let row = journal.session_loop(&id).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.prompt.as_str()), (0, "Build it"));
    let told = [
        (1, SessionOutcome::Ok, true),
        (2, SessionOutcome::Error, true),
        (2, SessionOutcome::Ok, false),
    ];
    for (n, outcome, is_new) in told {
        let one = iteration(n, outcome);
        let recorded = journal.record_session_iteration(&row, &one);
        assert_eq!(recorded.await.unwrap(), is_new, "{n} {outcome}");
    }
    let mut again = store.open().await;
    let row = again.session_loop(&id).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.errors, row.tokens), (2, 1, 246));
    assert_eq!(row.spent, Dollars::from_millionths(10_000));
    let all = again.spending(&repository, SpendingScope::Repository, None);
    assert_eq!(all.await.unwrap().spent, Dollars::from_millionths(10_000));
    let mut of_loop = again
        .costs(&repository, SumBy::Loop, None, 10)
        .await
        .unwrap();
    assert_eq!(of_loop.pop().unwrap().key, "019a-1");
    let of_task = again.costs(&repository, SumBy::Task, None, 10).await;
    assert_eq!(of_task.unwrap()[0].key, "session loop");
    // It is no loop that a run would go on with.
    let found = again.interrupted_loop(&repository, "/repository").await;
    assert_eq!(found.unwrap(), None);
}

pub(crate) async fn a_loop_in_a_session_ends_once_and_sessions_are_listed_newest_first(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    let ids = ["019a-1", "019b-2", "019c-3"].map(LoopId::new);
    for id in &ids {
        let new = new_loop(id, &repository);
        journal.begin_session_loop(&new).await.unwrap();
    }
    let open = journal.open_session_loop("some-agent", "s-1").await;
    assert_eq!(open.unwrap().unwrap().id, ids[2]);
    for (agent, session) in [("other", "s-1"), ("some-agent", "s-2"), ("some-agent", "")] {
        let open = journal.open_session_loop(agent, session).await;
        assert_eq!(open.unwrap(), None, "{agent} {session}");
    }
    let reasons = [
        (SessionEndReason::Promise, true),
        (SessionEndReason::Cancelled, false),
    ];
    for (reason, is_first) in reasons {
        let ended = journal.end_session_loop(&ids[0], reason, at()).await;
        assert_eq!(ended.unwrap(), is_first);
    }
    let listed = journal.session_loops(&repository, 2).await.unwrap();
    let listed: Vec<&str> = listed.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(listed, ["019c-3", "019b-2"]);
    for id in &ids[1..] {
        let ended = journal.end_session_loop(id, SessionEndReason::Cancelled, at());
        assert!(ended.await.unwrap());
    }
    let open = journal.open_session_loop("some-agent", "s-1").await;
    assert_eq!(open.unwrap(), None);
    let first = journal.session_loop(&ids[0]).await.unwrap().unwrap();
    assert_eq!(first.reason.as_deref(), Some("promise"));
    assert!(first.ended_at.is_some());
    let unknown = LoopId::new("019d");
    assert_eq!(journal.session_loop(&unknown).await.unwrap(), None);
}
