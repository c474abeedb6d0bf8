//! Tests of the one decision after each iteration, and of the order in which its rules speak.

use std::sync::LazyLock;

use super::*;
use crate::{
    config::OnUsageLimit,
    gutter::{Gutter, Made},
};

mod bounds;
mod criteria;
mod gutter;
mod limits;
mod recall;

static TASK: LazyLock<TaskId> = LazyLock::new(|| TaskId::parse("US-001").unwrap());

const LIMITS: Limits = Limits {
    max_iterations: 10,
    max_time: Some(Duration::from_secs(3600)),
    max_cost: None,
    on_max_attempts: OnMaxAttempts::Block,
    gutter: GUTTER,
    max_errors: 3,
    max_recoveries: 1,
    max_no_progress: 3,
    usage: WAIT,
    span: Span::All,
};

const GUTTER: GutterPolicy = GutterPolicy {
    limits: GutterLimits {
        same_failure: Some(3),
        churn: Some(2),
        oscillations: Some(2),
    },
    diagnose: Diagnose::Yes,
    then: OnGutter::Ask,
};

/// Nothing is seen of circles.
const STRAIGHT: GutterFindings = GutterFindings {
    reached: None,
    near: None,
    made: Made::NotYet,
};

const WAIT: LimitPolicy = LimitPolicy {
    on_limit: OnUsageLimit::Wait,
    max_wait: Duration::from_secs(6 * 3600),
    unknown_wait: Duration::from_secs(1800),
};

fn failed() -> Verdict {
    Verdict::Failed {
        command: "make".into(),
        signature: "s".into(),
    }
}

fn last(verdict: &Verdict) -> Last<'_> {
    Last {
        task: &TASK,
        verdict,
        attempts: 1,
        max_attempts: 3,
        idle_in_a_row: 0,
        gutter_findings: &STRAIGHT,
        settled: Settled::NotYet,
    }
}

fn snapshot<'a>(last: Option<Last<'a>>) -> LoopSnapshot<'a> {
    LoopSnapshot {
        last,
        iterations: 1,
        now: time("12:00"),
        elapsed: Duration::from_secs(60),
        spent: Dollars::NOTHING,
        reserve: None,
        errors_in_a_row: 0,
        fruitless: 0,
        fruitless_tasks: 0,
        work: RemainingWork {
            all_complete: false,
            other_ready: true,
            same_ready: true,
            questions: 0,
        },
        limit: None,
        main_back_at: None,
        signal: None,
        agent_trouble: AgentTrouble::default(),
    }
}

/// The given time of one day.
fn time(clock: &str) -> Timestamp {
    format!("2026-11-15T{clock}:00Z").parse().unwrap()
}

fn stop_of(snapshot: &LoopSnapshot<'_>) -> Option<Stop> {
    decide(snapshot, &LIMITS).stop
}

#[test]
fn with_work_ready_and_no_limit_reached_the_loop_goes_on() {
    let verdict = Verdict::Verified;
    let decision = decide(&snapshot(Some(last(&verdict))), &LIMITS);
    assert_eq!(
        decision,
        Decision {
            task_decision: TaskDecision::Keep,
            stop: None,
            limit: None,
        }
    );
    assert_eq!(stop_of(&snapshot(None)), None);
}

#[test]
fn each_criterion_stops_the_loop_with_its_own_reason_and_exit_code() {
    let failed = failed();
    let base = || snapshot(Some(last(&failed)));
    let with = |change: fn(&mut LoopSnapshot<'_>)| {
        let mut s = base();
        change(&mut s);
        let stop = stop_of(&s).expect("a stop");
        (stop.exit_code(), stop.sentence())
    };
    type Row = (fn(&mut LoopSnapshot<'_>), u8, &'static str);
    let table: [Row; 6] = [
        (|s| s.signal = Some(2), 130, "stopped by Ctrl-C (SIGINT)"),
        (|s| s.work.all_complete = true, 0, "all tasks are complete"),
        (
            |s| (s.work.other_ready, s.work.same_ready) = (false, false),
            4,
            "work is left, but no task is ready",
        ),
        (
            |s| s.iterations = 10,
            3,
            "the limit of 10 iterations is reached",
        ),
        (
            |s| s.elapsed = Duration::from_secs(3600),
            3,
            "the limit of 60 minutes is reached",
        ),
        (
            |s| (s.fruitless, s.fruitless_tasks) = (3, 2),
            7,
            "3 iterations in a row without a verified commit",
        ),
    ];
    for (change, code, sentence) in table {
        assert_eq!(with(change), (code, sentence.to_owned()));
    }
}

#[test]
fn no_progress_on_one_task_speaks_only_when_no_other_is_ready() {
    let failed = failed();
    let mut s = snapshot(Some(last(&failed)));
    (s.fruitless, s.fruitless_tasks) = (3, 1);
    assert_eq!(stop_of(&s), None);
    s.work.other_ready = false;
    assert_eq!(stop_of(&s), Some(Stop::NoProgress { iterations: 3 }));
}

#[test]
fn an_agents_question_sets_its_task_aside_and_the_loop_goes_on_with_others() {
    let verdict = Verdict::Escalated;
    let decision = decide(&snapshot(Some(last(&verdict))), &LIMITS);
    assert!(matches!(
        decision.task_decision,
        TaskDecision::SetAside { .. }
    ));
    assert_eq!(decision.stop, None);
}

#[test]
fn when_only_questions_are_left_the_loop_ends_and_needs_a_person() {
    let verdict = Verdict::Escalated;
    let mut s = snapshot(Some(last(&verdict)));
    s.work.other_ready = false;
    let stop = decide(&s, &LIMITS).stop.expect("a stop");
    assert_eq!((stop.exit_code(), stop), (4, Stop::Question));

    let mut s = snapshot(None);
    s.work = RemainingWork {
        all_complete: false,
        other_ready: false,
        same_ready: false,
        questions: 1,
    };
    assert_eq!(stop_of(&s), Some(Stop::Question));
    s.work.questions = 0;
    assert_eq!(stop_of(&s), Some(Stop::NothingReady));
}

#[test]
fn what_becomes_of_a_task_is_decided_once() {
    let (escalated, failed) = (Verdict::Escalated, failed());
    let gutter_findings = GutterFindings {
        reached: Some(gutter::same_failure()),
        ..STRAIGHT
    };
    for verdict in [&escalated, &failed] {
        let mut l = last(verdict);
        (l.gutter_findings, l.attempts) = (&gutter_findings, 3);
        assert_ne!(task_decision(&l, &LIMITS), TaskDecision::Keep);
        l.settled = Settled::Yes;
        assert_eq!(task_decision(&l, &LIMITS), TaskDecision::Keep);
    }
}

#[test]
fn a_loop_that_a_person_aborts_needs_a_person() {
    assert_eq!(Stop::Aborted.exit_code(), 4);
}

#[test]
fn a_task_out_of_attempts_is_blocked_and_the_loop_ends_when_nothing_else_is_ready() {
    let verdict = Verdict::NoChange { claimed: true };
    let mut l = last(&verdict);
    l.attempts = 3;
    let mut s = snapshot(Some(l));
    s.work.other_ready = false;
    (s.fruitless, s.fruitless_tasks) = (3, 1);
    let decision = decide(&s, &LIMITS);
    let reason =
        "3 of 3 attempts failed, the last one: the agent claims to be done, but changed nothing";
    assert_eq!(
        decision.task_decision,
        TaskDecision::Block {
            reason: reason.into()
        }
    );
    assert_eq!(decision.stop, Some(Stop::NothingReady));
}

#[test]
fn attempts_beyond_a_limit_that_was_lowered_are_not_counted_as_part_of_it() {
    let verdict = failed();
    let mut l = last(&verdict);
    (l.attempts, l.max_attempts) = (4, 3);
    let TaskDecision::Block { reason } = task_decision(&l, &LIMITS) else {
        panic!("out of attempts");
    };
    let begins = "4 attempts failed, and 3 are allowed now, the last one: ";
    assert!(reason.starts_with(begins), "{reason}");
}

#[test]
fn three_attempts_that_come_to_nothing_ask_a_person_before_the_task_is_blocked() {
    let table = [
        (Verdict::NoChange { claimed: true }, 3, 3, true),
        (Verdict::Unclaimed, 3, 3, true),
        (Verdict::Unclaimed, 3, 2, false),
        (Verdict::NoChange { claimed: false }, 2, 2, false),
        (failed(), 3, 3, false),
    ];
    for (verdict, attempts, idle_in_a_row, asks) in table {
        let last = Last {
            attempts,
            idle_in_a_row,
            ..last(&verdict)
        };
        let decision = task_decision(&last, &LIMITS);
        let asked = match &decision {
            TaskDecision::SetAside { question } => {
                assert!(
                    question.starts_with("3 attempts in a row came to nothing"),
                    "{question}"
                );
                true
            }
            _ => false,
        };
        assert_eq!(
            asked, asks,
            "{verdict:?} {attempts} {idle_in_a_row}: {decision:?}"
        );
        let halts = Limits {
            on_max_attempts: OnMaxAttempts::Halt,
            ..LIMITS
        };
        let halted = task_decision(&last, &halts);
        assert!(
            !matches!(halted, TaskDecision::SetAside { .. }),
            "{halted:?}"
        );
    }
}

#[test]
fn a_verify_command_that_can_not_be_started_ends_the_loop_and_charges_nothing() {
    let verdict = Verdict::Failed {
        command: "nosuch --all".into(),
        signature: "not started".into(),
    };
    assert!(!verdict.is_charged() && verdict.keeps_work());
    let decision = decide(&snapshot(Some(last(&verdict))), &LIMITS);
    assert_eq!(decision.task_decision, TaskDecision::Keep);
    let stop = decision.stop.unwrap();
    assert_eq!(stop.exit_code(), 4);
    assert_eq!(
        stop.sentence(),
        "halted: the verify command `nosuch --all` can't be started on this machine"
    );
}

#[test]
fn a_sick_agent_stops_the_loop_and_is_not_held_against_the_task() {
    let verdict = Verdict::AgentError {
        message: "x".into(),
    };
    let mut l = last(&verdict);
    l.attempts = 3;
    let mut s = snapshot(Some(l));
    s.errors_in_a_row = 3;
    let decision = decide(&s, &LIMITS);
    assert_eq!(decision.task_decision, TaskDecision::Keep);
    assert_eq!(decision.stop, Some(Stop::Errors { count: 3 }));
}

#[test]
fn a_missing_agent_and_a_moved_history_stop_at_once() {
    let table = [
        (
            Verdict::AgentUnavailable {
                message: "no".into(),
            },
            6,
        ),
        (
            Verdict::Refused {
                reason: "moved".into(),
                halt: Halt::Loop,
            },
            4,
        ),
    ];
    for (verdict, code) in table {
        let stop = stop_of(&snapshot(Some(last(&verdict)))).expect("a stop");
        assert_eq!(stop.exit_code(), code, "{verdict:?}");
    }
    let attempt_only = Verdict::Refused {
        reason: "secret".into(),
        halt: Halt::Attempt,
    };
    assert_eq!(stop_of(&snapshot(Some(last(&attempt_only)))), None);
}

#[test]
fn once_ends_after_its_iteration_and_exits_by_its_verdict() {
    let once = Limits {
        span: Span::Once,
        ..LIMITS
    };
    let verified = Verdict::Verified;
    let stop = decide(&snapshot(Some(last(&verified))), &once)
        .stop
        .expect("a stop");
    assert_eq!(stop.exit_code(), 0);
    let failed = failed();
    let stop = decide(&snapshot(Some(last(&failed))), &once)
        .stop
        .expect("a stop");
    assert_eq!(stop.exit_code(), 3);
    assert_eq!(
        decide(&snapshot(None), &once).stop,
        None,
        "not before it began"
    );
}
