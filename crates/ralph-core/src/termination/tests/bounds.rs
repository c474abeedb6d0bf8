//! Tests what a run of the command may cost, and tasks that are out of attempts.

use super::*;
use crate::economics::{Budget, BudgetPolicy, Per, Scope};

/// Half a dollar, so much of it spent; what else is true is for `change` to say.
fn at_cost(
    spent: f64,
    verdict: &Verdict,
    span: Span,
    change: fn(&mut LoopSnapshot<'_>),
) -> Option<Stop> {
    let mut snapshot = snapshot(Some(last(verdict)));
    snapshot.spent = Dollars::told(spent);
    change(&mut snapshot);
    let limits = Limits {
        max_cost: Some(Dollars::told(0.5)),
        span,
        ..LIMITS
    };
    decide(&snapshot, &limits).stop
}

fn budget(spent: f64) -> Stop {
    Stop::Budget {
        spent_usd: Dollars::told(spent),
        max_usd: Dollars::told(0.5),
        budget: None,
        reserve_usd: None,
    }
}

#[test]
fn cost_stops_the_loop_once_it_is_reached_and_not_before() {
    let (verified, failed) = (Verdict::Verified, failed());
    let same = |_: &mut LoopSnapshot<'_>| {};
    type Row<'a> = (f64, &'a Verdict, Option<Stop>);
    let table: [Row<'_>; 5] = [
        (0.0, &verified, None),
        (0.49, &verified, None),
        (0.5, &verified, Some(budget(0.5))),
        (0.61, &verified, Some(budget(0.61))),
        (0.61, &failed, Some(budget(0.61))),
    ];
    for (spent, verdict, expected) in table {
        let stop = at_cost(spent, verdict, Span::All, same);
        assert_eq!(stop, expected, "{spent} {verdict:?}");
    }
}

#[test]
fn the_stop_says_the_figures_exits_five_and_tells_the_way_on() {
    let stop = budget(0.61);
    assert_eq!(
        stop.sentence(),
        "the limit of $0.50 is reached: $0.61 are spent"
    );
    assert_eq!(stop.exit_code(), 5);
    assert_eq!(
        stop.hint(),
        Some("`ralph run` goes on with the work that was kept; `--max-cost N` allows more")
    );
    assert_eq!(
        serde_json::to_value(&stop).unwrap(),
        serde_json::json!({"why": "budget", "spentUsd": 0.61, "maxUsd": 0.5})
    );
}

#[test]
fn what_was_asked_for_and_is_done_goes_before_its_cost() {
    let verified = Verdict::Verified;
    let all = |s: &mut LoopSnapshot<'_>| s.work.all_complete = true;
    assert_eq!(
        at_cost(9.0, &verified, Span::All, all),
        Some(Stop::AllComplete)
    );
    let once = at_cost(9.0, &verified, Span::Once, |_| {});
    assert_eq!(once.map(|stop| stop.exit_code()), Some(0));
    let stuck = |s: &mut LoopSnapshot<'_>| (s.work.other_ready, s.work.same_ready) = (false, false);
    assert_eq!(
        at_cost(9.0, &verified, Span::All, stuck),
        Some(Stop::NothingReady)
    );
}

#[test]
fn an_agent_that_was_stopped_by_its_cost_stops_the_loop_also_with_once() {
    let verdict = Verdict::Budget {
        spent_usd: Dollars::told(0.61),
        max_usd: Dollars::told(0.5),
        budget: None,
    };
    for span in [Span::All, Span::Once] {
        assert_eq!(at_cost(0.61, &verdict, span, |_| {}), Some(budget(0.61)));
    }
    assert!(!verdict.is_charged(), "no work failed");
    assert!(verdict.keeps_work());
    assert_eq!(verdict.outcome().as_str(), "budget_exceeded");
}

#[test]
fn a_task_that_used_its_own_budget_up_is_blocked_and_ends_the_loop_only_where_nothing_else_is_ready()
 {
    let verdict = Verdict::Budget {
        spent_usd: Dollars::told(0.61),
        max_usd: Dollars::told(0.5),
        budget: Some(Budget {
            scope: Scope::Task,
            per: Per::Total,
            usd: Dollars::told(0.5),
            action: BudgetPolicy::Deny,
        }),
    };
    let of = |other_ready: bool| {
        let mut snapshot = snapshot(Some(last(&verdict)));
        snapshot.work.other_ready = other_ready;
        // Out of money is not out of attempts, whatever follows from that.
        let limits = Limits {
            on_max_attempts: OnMaxAttempts::Halt,
            ..LIMITS
        };
        decide(&snapshot, &limits)
    };
    let reason =
        "stopped by its cost: the task's budget of $0.50 in total is used up: $0.61 are spent";
    let block = TaskDecision::Block {
        reason: reason.into(),
    };
    assert_eq!(
        (of(true).task_decision, of(true).stop),
        (block.clone(), None)
    );
    let alone = of(false);
    assert_eq!(alone.task_decision, block);
    assert_eq!(alone.stop.unwrap().exit_code(), 5);
}

#[test]
fn a_task_out_of_attempts_halts_the_loop_where_that_is_asked_for() {
    let failed = failed();
    let table = [
        (OnMaxAttempts::Block, 2, None),
        (OnMaxAttempts::Block, 3, None),
        (OnMaxAttempts::Halt, 2, None),
        (
            OnMaxAttempts::Halt,
            3,
            Some((
                4,
                "task US-001 is out of attempts: 3 of 3 failed".to_owned(),
            )),
        ),
    ];
    for (on_max_attempts, attempts, expected) in table {
        let limits = Limits {
            on_max_attempts,
            ..LIMITS
        };
        let mut l = last(&failed);
        l.attempts = attempts;
        let decision = decide(&snapshot(Some(l)), &limits);
        let blocked = matches!(decision.task_decision, TaskDecision::Block { .. });
        assert_eq!(blocked, attempts == 3, "the task is blocked either way");
        let stop = decision.stop.map(|s| (s.exit_code(), s.sentence()));
        assert_eq!(stop, expected, "{on_max_attempts:?} {attempts}");
    }
}

#[test]
fn a_question_goes_before_the_halt_for_attempts() {
    let failed = failed();
    let mut l = last(&failed);
    let gutter_findings = GutterFindings {
        reached: Some(super::gutter::same_failure()),
        ..STRAIGHT
    };
    (l.gutter_findings, l.attempts) = (&gutter_findings, 3);
    let limits = Limits {
        on_max_attempts: OnMaxAttempts::Halt,
        ..LIMITS
    };
    let decision = decide(&snapshot(Some(l)), &limits);
    assert!(matches!(decision.task_decision, TaskDecision::Stuck { .. }));
    assert_eq!(decision.stop, None, "other tasks go on");
}
