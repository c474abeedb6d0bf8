//! Costs: what is written comes back, and all totals agree with the calls.

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, ModelCall, Prices, TokenRecord, Tokens, Totals, account},
    record::IterationRecord,
};

use super::*;

fn call(model: &str, caller: Caller, input: u64, output: u64) -> ModelCall {
    ModelCall {
        model: Some(model.into()),
        caller,
        tokens: Tokens {
            input,
            output,
            cache_read: 10,
            cache_write: 1,
        },
        told: None,
    }
}

fn accounts(calls: &[ModelCall], told: Option<f64>) -> TokenUsage {
    let prices = Prices::with(&Default::default());
    TokenUsage {
        records: account((1, "script"), calls, told.map(Dollars::told), &prices),
        tool_calls: 2,
    }
}

pub(crate) fn record(id: &str, loop_id: &str, task: &str, ended_at: &str) -> IterationRecord {
    let value = serde_json::json!({
        "iterationId": id, "iteration": 1, "loopId": loop_id, "taskId": task, "title": "t",
        "attempt": 1, "startedAt": "2026-01-02T03:04:05Z", "endedAt": ended_at, "runs": [],
        "branch": "b", "baseCommit": "b", "filesChanged": [], "verification": [],
        "unverified": false, "verdict": "verified", "outcome": "success", "flags": [],
        "said": {"claimed": true, "foreignClaims": [], "block": {"learnings": [], "followUps": []},
                 "finalMessage": ""},
        "usage": {},
    });
    serde_json::from_value(value).unwrap()
}

pub(crate) async fn iteration(
    journal: &mut dyn Journal,
    repository: &RepositoryId,
    record: &IterationRecord,
    accounts: &TokenUsage,
) {
    let begun = start(record.loop_id.as_str(), record.iteration_id.as_str());
    let begun = IterationStart {
        task: ralph_core::task::TaskId::parse(&record.task_id).unwrap(),
        ..begun
    };
    journal.begin_iteration(repository, &begun).await.unwrap();
    let ended = IterationEnd {
        checkpoint: None,
        pending: &[],
        record,
        state: &TaskHistory::default(),
        accounts,
    };
    journal
        .end_iteration(repository, "prd.json", ended)
        .await
        .unwrap();
}

/// Two loops, two tasks, two days, three models (one without a price), a subagent. Returns all calls.
async fn fill_history(journal: &mut dyn Journal, repository: &RepositoryId) -> Vec<TokenRecord> {
    begin_loop(journal, repository, "L1").await;
    begin_loop(journal, repository, "L2").await;
    let opus = |caller| call("claude-opus-4-8", caller, 1_000, 200);
    let odd = call("scripted-1", Caller::Rest, 70, 7);
    let gpt = call("gpt-5", Caller::Agent, 5_000, 100);
    let all = [
        (
            "I1",
            "L1",
            "T1",
            "2026-01-02T10:00:00Z",
            accounts(&[opus(Caller::Agent), opus(Caller::Subagent)], Some(0.5)),
        ),
        (
            "I2",
            "L1",
            "T2",
            "2026-01-03T10:00:00Z",
            accounts(&[odd.clone(), gpt.clone()], None),
        ),
        (
            "I3",
            "L2",
            "T1",
            "2026-01-03T23:59:59Z",
            accounts(&[gpt], Some(0.25)),
        ),
    ];
    let mut records = Vec::new();
    for (id, loop_id, task, at, accounts) in all {
        let record = record(id, loop_id, task, at);
        iteration(journal, repository, &record, &accounts).await;
        records.extend(accounts.records);
    }
    records
}

/// Three tasks over four months: `old` cost most at first, `new` lately, `even` a little in each.
pub(crate) async fn fill_months(journal: &mut dyn Journal, repository: &RepositoryId) {
    begin_loop(journal, repository, "L1").await;
    let spent = [
        ("old", "2025-12-30", 9.0),
        ("even", "2025-12-31", 1.0),
        ("old", "2026-01-01", 1.0),
        ("even", "2026-01-15", 1.0),
        ("even", "2026-01-15", 1.0),
        ("new", "2026-02-27", 2.0),
        ("even", "2026-02-28", 1.0),
        ("new", "2026-03-01", 3.0),
    ];
    for (at, (task, day, usd)) in (1..).zip(spent) {
        let record = record(&format!("I{at}"), "L1", task, &format!("{day}T12:00:00Z"));
        let asked = call("gpt-5", Caller::Agent, 10, 1);
        let accounts = accounts(&[asked], Some(usd));
        iteration(journal, repository, &record, &accounts).await;
    }
}

pub(crate) async fn each_call_comes_back_as_it_was_written(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let records = fill_history(&mut *journal, &repository).await;
    assert_eq!(
        journal.token_records(&"I1".into()).await.unwrap(),
        records[..2]
    );
    assert_eq!(
        journal.token_records(&"I2".into()).await.unwrap(),
        records[2..4]
    );
    assert_eq!(records[1].caller, Caller::Subagent);
    assert_eq!(records[2].cost, None);
}

pub(crate) async fn grouped_by_anything_the_sums_are_those_of_all_calls(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let records = fill_history(&mut *journal, &repository).await;
    let all = Totals::sum(&records);
    // 0.50 and 0.25 as told; 5,000 and 100 tokens of gpt-5, with 10 from and 1 into the cache.
    assert_eq!(
        all.spent.millionths(),
        500_000 + 250_000 + 6_250 + 1_000 + 1 + 1
    );
    for by in [SumBy::Task, SumBy::Model, SumBy::Loop, SumBy::Day] {
        for since in [None, Some("2026-01-01")] {
            let rows = journal.costs(&repository, by, since, 100).await.unwrap();
            let sum = rows
                .iter()
                .fold(Totals::default(), |sum, row| sum.plus(row.totals));
            let tool_calls = if by == SumBy::Model { 0 } else { 6 };
            assert_eq!(sum, Totals { tool_calls, ..all }, "{by:?} {since:?}");
        }
    }
    let parts = journal
        .model_costs(&repository, &"L1".into())
        .await
        .unwrap();
    let sum = parts
        .iter()
        .fold(Totals::default(), |sum, part| sum.plus(part.totals));
    assert_eq!(sum, Totals::sum(&records[..4]));
    let subagents = parts.iter().filter(|p| p.caller == Caller::Subagent);
    assert_eq!(subagents.map(|p| p.totals.calls).sum::<u64>(), 1);
}

pub(crate) async fn rows_have_their_names_and_the_dearest_comes_first(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let _records = fill_history(&mut *journal, &repository).await;
    let mut names = Vec::new();
    for by in [SumBy::Task, SumBy::Model, SumBy::Loop, SumBy::Day] {
        let rows = journal.costs(&repository, by, None, 2).await.unwrap();
        names.push(rows.into_iter().map(|row| row.key).collect::<Vec<_>>());
    }
    assert_eq!(
        names,
        [
            ["T1", "T2"],
            ["claude-opus-4-8", "gpt-5"],
            ["L1", "L2"],
            ["2026-01-03", "2026-01-02"]
        ]
    );
    let since = journal
        .costs(&repository, SumBy::Loop, Some("2026-01-03"), 9)
        .await
        .unwrap();
    assert_eq!((since.len(), since[0].key.as_str()), (2, "L2"));
}

pub(crate) async fn spending_is_known_for_every_scope_and_time(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let _records = fill_history(&mut *journal, &repository).await;
    for (whose, since, millionths) in [
        (SpendingScope::All, None, 757_252),
        (SpendingScope::Repository, None, 757_252),
        (SpendingScope::Repository, Some("2026-01-03"), 257_252),
        (SpendingScope::Task("T1"), None, 750_000),
        (SpendingScope::Task("T1"), Some("2026-01-03"), 250_000),
        (SpendingScope::Task("T9"), None, 0),
        (SpendingScope::Loop(&"L2".into()), None, 250_000),
    ] {
        let spent = journal
            .spending(&repository, whose, since)
            .await
            .unwrap()
            .spent;
        assert_eq!(spent.millionths(), millionths, "{whose:?} {since:?}");
    }
    for (since, millionths) in [(None, 757_252), (Some("2026-01-03"), 257_252)] {
        let rows = journal.costs_by_repository(since).await.unwrap();
        assert_eq!(rows.len(), 1, "{since:?}");
        assert!(rows[0].key.ends_with(".git"), "{rows:?}");
        assert_eq!(rows[0].totals.spent.millionths(), millionths, "{since:?}");
    }
    let now = "2026-03-31T23:59:59Z".parse().unwrap();
    use ralph_core::economics::Per;
    assert_eq!(first_day(Per::Day, now).as_deref(), Some("2026-03-31"));
    assert_eq!(first_day(Per::Month, now).as_deref(), Some("2026-03-01"));
    assert_eq!(first_day(Per::Total, now), None);
}

pub(crate) async fn the_past_is_known_for_reserves_and_forecasts(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    let _records = fill_history(&mut *journal, &repository).await;
    let costs = journal.last_costs(&repository, 50).await.unwrap();
    let costs: Vec<u64> = costs.iter().map(|c| c.millionths()).collect();
    assert_eq!(costs, [250_000, 7_252, 500_000]);
    let mut finished = journal
        .finished_costs(&repository, &"L1".into())
        .await
        .unwrap();
    finished.sort();
    let names: Vec<&str> = finished.iter().map(|(task, _)| task.as_str()).collect();
    assert_eq!(names, ["T1", "T2"]);
    assert_eq!(
        finished[0].1.millionths(),
        500_000,
        "what it cost in this loop"
    );
}

pub(crate) async fn since_any_day_the_dearest_come_first_with_what_they_cost_from_then_on(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    fill_months(&mut *journal, &repository).await;
    let cases: [(&str, &[(&str, u64)]); 7] = [
        ("2020-01-01", &[("old", 10), ("new", 5), ("even", 4)]),
        ("2025-12-31", &[("new", 5), ("even", 4), ("old", 1)]),
        ("2026-01-01", &[("new", 5), ("even", 3), ("old", 1)]),
        ("2026-01-02", &[("new", 5), ("even", 3)]),
        ("2026-02-28", &[("new", 3), ("even", 1)]),
        ("2026-03-01", &[("new", 3)]),
        ("2026-03-02", &[]),
    ];
    for (since, expected) in cases {
        let rows = journal
            .costs(&repository, SumBy::Task, Some(since), 20)
            .await
            .unwrap();
        let rows: Vec<(&str, u64)> = rows
            .iter()
            .map(|row| (row.key.as_str(), row.totals.spent.millionths() / 1_000_000))
            .collect();
        assert_eq!(rows, expected, "since {since}");
        let top = journal.costs(&repository, SumBy::Task, Some(since), 1);
        let top = top.await.unwrap();
        let top: Vec<&str> = top.iter().map(|row| row.key.as_str()).collect();
        let first: Vec<&str> = expected.iter().take(1).map(|(key, _)| *key).collect();
        assert_eq!(top, first, "the dearest since {since}");
    }
}

pub(crate) async fn work_outside_of_loops_counts_for_the_repository_and_for_all_and_keeps_its_calls(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    let calls = [call("claude-opus-4-8", Caller::Agent, 1_000, 200)];
    let run = SideRun {
        work: SideWork::Plan,
        at: "2026-01-02T03:04:05Z".parse().unwrap(),
        accounts: accounts(&calls, Some(0.5)),
    };
    journal.record_side_run(&repository, &run).await.unwrap();
    for whose in [
        SpendingScope::All,
        SpendingScope::Repository,
        SpendingScope::Task("ralph plan"),
    ] {
        let spent = journal.spending(&repository, whose, None).await.unwrap();
        assert_eq!(spent.spent, Dollars::told(0.5), "{whose:?}");
        assert_eq!(spent.tool_calls, 2, "{whose:?}");
        let later = journal.spending(&repository, whose, Some("2026-01-03"));
        assert_eq!(later.await.unwrap().calls, 0, "{whose:?}");
    }
    let kept = journal.side_records(&repository).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!(
        (kept[0].0.as_str(), kept[0].1.tokens.input),
        ("plan", 1_000)
    );
    assert_eq!(kept[0].1.told, Some(Dollars::told(0.5)));
}
