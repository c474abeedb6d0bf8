//! The figures, each worked out by hand.

use super::*;
use crate::verdict::Verdict;
use crate::{
    agent::Usage,
    record::{AgentStatements, GitRecord},
    verdict::Halt,
};

fn at(time: &str) -> Timestamp {
    format!("2026-01-02T{time}Z").parse().unwrap()
}

fn record(task: &str, ended: &str, verdict: Verdict) -> IterationRecord {
    IterationRecord {
        iteration_id: "id".into(),
        iteration: 1,
        loop_id: "loop".into(),
        task_id: task.into(),
        title: task.into(),
        attempt: 1,
        started_at: at("00:00:00"),
        ended_at: at(ended),
        runs: Vec::new(),
        git: GitRecord {
            result_commit: (verdict == Verdict::Verified).then(|| "c0ffee".into()),
            ..GitRecord::default()
        },
        verification: Vec::new(),
        unverified: false,
        suggested: Vec::new(),
        outcome: verdict.outcome(),
        verdict,
        feedback: None,
        guidance: Vec::new(),
        trace: None,
        diagnoses: None,
        diagnosis: None,
        flags: Vec::new(),
        said: AgentStatements::default(),
        health_state: Default::default(),
        events: Vec::new(),
        usage: Usage {
            cost_usd: Some(0.5),
            ..Usage::default()
        },
    }
}

fn failed() -> Verdict {
    Verdict::Failed {
        command: "cargo test".into(),
        signature: "5168".into(),
    }
}

fn figures(records: &[IterationRecord]) -> SuccessFigures {
    let mut metrics = SuccessMetrics::default();
    for record in records {
        metrics.observe(record, Since::Stands);
    }
    metrics.figures()
}

#[test]
fn what_was_taken_back_cost_what_it_cost_and_came_to_nothing() {
    let mut metrics = SuccessMetrics::default();
    metrics.observe(&record("A", "00:01:00", failed()), Since::Stands);
    metrics.observe(
        &record("A", "00:02:00", Verdict::Verified),
        Since::TakenBack,
    );
    metrics.observe(&record("B", "00:03:00", Verdict::Verified), Since::Stands);
    let figures = metrics.figures();
    assert_eq!(figures.verified_commits, 1);
    assert_eq!(figures.verified_share, Some(1.0 / 3.0));
    assert_eq!(figures.completed_tasks, 1);
    assert_eq!(figures.recoveries, 0);
    assert_eq!(figures.not_recovered, 1);
    assert_eq!(figures.cost_per_verified_task_usd, Some(1.5));
}

#[test]
fn nothing_comes_to_nothing_and_no_figure_is_made_up() {
    let expected = SuccessFigures {
        verified_commits: 0,
        verified_share: None,
        completed_tasks: 0,
        verified_tasks: 0,
        iterations_per_task: None,
        recoveries: 0,
        mean_seconds_to_recovery: None,
        not_recovered: 0,
        cost_per_verified_task_usd: None,
    };
    assert_eq!(figures(&[]), expected);
}

#[test]
fn recovery_counts_from_the_first_failure_to_the_verified_attempt() {
    let found = figures(&[
        record("A", "01:00:00", failed()),
        // B fails meanwhile; what A does is nothing to it.
        record("B", "01:10:00", Verdict::NoChange { claimed: true }),
        record("A", "01:20:00", failed()),
        record("A", "01:30:00", Verdict::Verified),
        record("B", "01:20:00", Verdict::Verified),
        record("C", "02:00:00", failed()),
    ]);
    // A: 01:00 to 01:30, 30 minutes. B: 01:10 to 01:20, 10 minutes. C never.
    assert_eq!(found.recoveries, 2);
    assert_eq!(found.mean_seconds_to_recovery, Some(1200.0));
    assert_eq!(found.not_recovered, 1);
    // 2 of 6 iterations landed; 6 iterations for 2 tasks; 6 × 0.50 for 2 tasks.
    assert_eq!(found.verified_share, Some(2.0 / 6.0));
    assert_eq!(found.iterations_per_task, Some(3.0));
    assert_eq!(found.cost_per_verified_task_usd, Some(1.5));
}

#[test]
fn what_no_one_is_charged_for_is_nothing_to_recover_from() {
    let found = figures(&[
        record("A", "01:00:00", Verdict::LimitHit { resets_at: None }),
        record("A", "02:00:00", Verdict::Interrupted),
        record("A", "03:00:00", Verdict::Verified),
    ]);
    assert_eq!((found.recoveries, found.not_recovered), (0, 0));
    assert_eq!(found.mean_seconds_to_recovery, None);
    assert_eq!(found.iterations_per_task, Some(3.0));
}

#[test]
fn an_unverified_task_is_completed_and_never_a_verified_commit() {
    let mut unverified = record("A", "01:00:00", Verdict::Unverified);
    unverified.unverified = true;
    let refused = Verdict::Refused {
        reason: "it edits ralph.yaml".into(),
        halt: Halt::Attempt,
    };
    let found = figures(&[unverified, record("B", "01:30:00", refused)]);
    assert_eq!((found.completed_tasks, found.verified_tasks), (1, 0));
    assert_eq!(
        (found.verified_commits, found.verified_share),
        (0, Some(0.0))
    );
    assert_eq!(found.cost_per_verified_task_usd, None);
}

#[test]
fn a_task_that_was_right_to_change_nothing_is_verified_without_a_commit() {
    let mut quiet = record("A", "01:00:00", Verdict::Verified);
    quiet.git.result_commit = None;
    let found = figures(&[quiet]);
    assert_eq!((found.verified_tasks, found.verified_commits), (1, 0));
}

#[test]
fn money_that_no_agent_told_of_is_not_zero() {
    let mut silent = record("A", "01:00:00", Verdict::Verified);
    silent.usage.cost_usd = None;
    assert_eq!(figures(&[silent]).cost_per_verified_task_usd, None);
}
