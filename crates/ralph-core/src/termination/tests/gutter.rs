//! Work that goes round in circles: what becomes of the task, in which order, and what of the loop.

use super::*;

pub(super) fn same_failure() -> Gutter {
    Gutter::SameFailure {
        command: "make".into(),
        signature: "s".into(),
        count: 3,
    }
}

/// The rules say that a limit is near, or reached.
fn near() -> GutterFindings {
    GutterFindings {
        near: Some(same_failure()),
        ..STRAIGHT
    }
}

fn reached() -> GutterFindings {
    GutterFindings {
        reached: Some(same_failure()),
        ..near()
    }
}

fn fate_of(
    verdict: &Verdict,
    gutter_findings: &GutterFindings,
    attempts: u32,
    policy: GutterPolicy,
) -> TaskDecision {
    let last = Last {
        gutter_findings,
        attempts,
        ..last(verdict)
    };
    let limits = Limits {
        gutter: policy,
        ..LIMITS
    };
    task_decision(&last, &limits)
}

fn stuck(then: OnGutter) -> TaskDecision {
    TaskDecision::Stuck {
        gutter: same_failure(),
        then,
    }
}

#[test]
fn a_question_goes_before_the_attempts_and_these_before_a_diagnosis() {
    let diagnose = TaskDecision::Diagnose {
        gutter: same_failure(),
    };
    let out = TaskDecision::Block {
        reason: "3 of 3 attempts failed, the last one: verification failed: make".into(),
    };
    let made = GutterFindings {
        made: Made::Once,
        ..near()
    };
    let never = GutterPolicy {
        diagnose: Diagnose::No,
        ..GUTTER
    };
    let table = [
        (
            "a limit is reached at the last attempt",
            reached(),
            3,
            GUTTER,
            stuck(OnGutter::Ask),
        ),
        ("it is near at the last attempt", near(), 3, GUTTER, out),
        ("it is near", near(), 2, GUTTER, diagnose),
        ("one was made", made, 2, GUTTER, TaskDecision::Keep),
        ("none is wanted", near(), 2, never, TaskDecision::Keep),
        (
            "a limit is reached, and none is wanted",
            reached(),
            2,
            never,
            stuck(OnGutter::Ask),
        ),
        ("nothing is seen", STRAIGHT, 2, GUTTER, TaskDecision::Keep),
    ];
    for (what, gutter_findings, attempts, policy, expected) in table {
        let found = fate_of(&failed(), &gutter_findings, attempts, policy);
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn only_a_failed_verification_is_a_circle() {
    let table = [
        (Verdict::Verified, TaskDecision::Keep),
        (Verdict::Diagnosed, TaskDecision::Keep),
        (Verdict::Interrupted, TaskDecision::Keep),
        (Verdict::NoChange { claimed: true }, TaskDecision::Keep),
    ];
    for (verdict, expected) in table {
        let found = fate_of(&verdict, &reached(), 2, GUTTER);
        assert_eq!(found, expected, "{verdict:?}");
    }
}

#[test]
fn what_a_limit_does_to_the_loop_is_what_the_configuration_says() {
    let verdict = failed();
    let stop = |then, other_ready| {
        let gutter_findings = reached();
        let mut snapshot = snapshot(Some(Last {
            gutter_findings: &gutter_findings,
            ..last(&verdict)
        }));
        snapshot.work.other_ready = other_ready;
        let limits = Limits {
            gutter: GutterPolicy { then, ..GUTTER },
            on_max_attempts: OnMaxAttempts::Halt,
            ..LIMITS
        };
        decide(&snapshot, &limits).stop
    };
    for then in [OnGutter::Ask, OnGutter::Pause, OnGutter::Block] {
        assert_eq!(stop(then, true), None, "{then:?}: others go on");
    }
    assert_eq!(stop(OnGutter::Ask, false), Some(Stop::Question));
    assert_eq!(stop(OnGutter::Pause, false), Some(Stop::Question));
    assert_eq!(stop(OnGutter::Block, false), Some(Stop::NothingReady));
}

#[test]
fn a_task_that_is_looked_into_is_ready() {
    let (verdict, gutter_findings) = (failed(), near());
    let mut snapshot = snapshot(Some(Last {
        gutter_findings: &gutter_findings,
        attempts: 2,
        ..last(&verdict)
    }));
    snapshot.work.other_ready = false;
    let decision = decide(&snapshot, &LIMITS);
    assert!(matches!(
        decision.task_decision,
        TaskDecision::Diagnose { .. }
    ));
    assert_eq!(decision.stop, None);
}
