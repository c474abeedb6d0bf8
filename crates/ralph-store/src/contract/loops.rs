//! Loops: ended or not, listed, and with the totals of their iterations.

use ralph_core::{
    agent::Usage,
    dollars::Dollars,
    id::LoopId,
    termination::Stop,
    verdict::Verdict,
    verify::{CleanFinding, CleanResult},
};

use super::{costs::record, *};

pub(crate) async fn only_a_loop_without_an_end_is_interrupted(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let found = journal.interrupted_loop(&repository, "/w").await.unwrap();
    assert_eq!(found.map(|l| l.id), Some("L1".into()));
    let stop = Stop::AllComplete;
    journal
        .end_loop(&repository, &"L1".into(), &stop, at(), None)
        .await
        .unwrap();
    assert_eq!(
        journal.interrupted_loop(&repository, "/w").await.unwrap(),
        None
    );
}

pub(crate) async fn the_last_clean_check_of_a_loop_is_kept(store: &dyn TestStore) {
    let (mut journal, repository) = fresh(store).await;
    for id in ["L1", "L2"] {
        begin_loop(&mut *journal, &repository, id).await;
    }
    let finding = CleanFinding::NotChecked {
        reason: "so".into(),
    };
    let (first, last) = (
        finding.result("c1", "c1"),
        CleanFinding::Passed.result("c2", "c2"),
    );
    for found in [&first, &last] {
        let kept = journal.set_clean_check(&"L1".into(), found).await;
        kept.unwrap();
    }
    let kept = async |journal: &mut dyn Journal, id: &str| {
        let row = journal.any_loop(&id.into()).await.unwrap().unwrap();
        row.clean_check
            .map(|text| serde_json::from_str::<CleanResult>(&text).unwrap())
    };
    assert_eq!(kept(&mut *journal, "L1").await, Some(last));
    assert_eq!(kept(&mut *journal, "L2").await, None);
}

pub(crate) async fn loops_are_listed_newest_first_and_no_more_than_asked_for(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    for id in ["L1", "L2", "L3"] {
        begin_loop(&mut *journal, &repository, id).await;
    }
    let listed = journal.loops(&repository, 2).await.unwrap();
    let ids: Vec<&str> = listed.iter().map(|row| row.id.as_str()).collect();
    assert_eq!(ids, ["L3", "L2"]);
    assert_eq!(listed[0].goal, "X");
}

pub(crate) async fn a_loop_counts_its_iterations_as_they_end_and_those_taken_back_no_more(
    store: &dyn TestStore,
) {
    let (mut journal, repository) = fresh(store).await;
    begin_loop(&mut *journal, &repository, "L1").await;
    let ends = [
        ("I1", Verdict::Verified, Some(0.1)),
        ("I2", Verdict::Unclaimed, Some(0.2)),
        ("I3", Verdict::Progress, None),
    ];
    for id in ["I1", "I2", "I3", "I4"] {
        let begun = start("L1", id);
        journal.begin_iteration(&repository, &begun).await.unwrap();
    }
    let id = LoopId::new("L1");
    let row = journal.listed_loop(&id).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.cost), (0, None));

    for (iteration, verdict, cost_usd) in ends {
        let mut record = record(iteration, "L1", "T1", "2026-01-02T04:00:00Z");
        record.verdict = verdict;
        record.usage = Usage {
            input_tokens: 100,
            output_tokens: 7,
            cost_usd,
            ..Usage::default()
        };
        let end = IterationEnd {
            pending: &[],
            record: &record,
            state: &TaskHistory::default(),
            checkpoint: None,
            accounts: &TokenUsage::default(),
        };
        let ended = journal.end_iteration(&repository, "prd.json", end);
        ended.await.unwrap();
    }
    journal.forget_iteration(&"I4".into(), at()).await.unwrap();
    let row = journal.listed_loop(&id).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.verified), (4, 2));
    assert_eq!(row.cost, Some(Dollars::from_millionths(300_000)));
    assert_eq!((row.input_tokens, row.output_tokens), (300, 21));

    let body = RewriteBody {
        iterations: vec!["I1".into(), "I2".into()],
        numbers: vec![1, 2],
        reopened: Vec::new(),
    };
    let new = NewRewrite {
        id: "R1",
        repository: &repository,
        worktree: "/w",
        kind: RewriteKind::Revert,
        branch: "ralph/x",
        from: "f",
        to: "t",
        made: None,
        body: &body,
        at: at(),
    };
    journal.begin_rewrite(&new).await.unwrap();
    let begun = journal.unfinished_rewrite(&repository, "/w").await.unwrap();
    let begun = begun.unwrap();
    assert_eq!((begun.id.as_str(), &begun.body), ("R1", &body));
    journal
        .end_rewrite(&repository, &begun, at())
        .await
        .unwrap();
    let left = journal.unfinished_rewrite(&repository, "/w").await.unwrap();
    assert_eq!(left, None);
    let row = journal.listed_loop(&id).await.unwrap().unwrap();
    assert_eq!((row.iterations, row.verified), (4, 1));
}
