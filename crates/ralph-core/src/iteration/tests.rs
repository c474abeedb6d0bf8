//! Tests of the state machine: every way through an iteration, and the ways that do not fit.

mod handoff;

use super::*;
use crate::dollars::Dollars;
use crate::{
    agent::Usage,
    signal::{Claim, Signals},
};

fn machine() -> Iteration {
    Iteration::new(IterationPolicy {
        max_verify_retries: 1,
        max_overload_retries: 2,
        expects_change: true,
        purpose: Purpose::Attempt,
        lands: Lands::Claimed,
        handoffs: Handoffs::Allowed,
    })
}

fn ended(ending: Ending, claim: Option<Claim>) -> StepDone {
    StepDone::AgentEnded(Box::new(AgentEnded {
        by: RanBy::default(),
        report: AgentReport {
            connections: Vec::new(),
            health: Default::default(),
            ending,
            final_message: String::new(),
            model: None,
            version: None,
            usage: Usage::default(),
            context: crate::agent::ContextUse::default(),
            turns: None,
            denied: Vec::new(),
            seconds: 0.0,
            calls: Vec::new(),
            tool_calls: 0,
        },
        signals: Signals {
            claim,
            ..Signals::default()
        },
        handoff: None,
    }))
}

fn changed(paths: &[&str]) -> StepDone {
    StepDone::Inspected {
        change: AgentChange {
            tree: "t".into(),
            files: paths
                .iter()
                .map(|p| ChangedFile {
                    path: (*p).into(),
                    kind: "added".into(),
                })
                .collect(),
            ..AgentChange::default()
        },
    }
}

fn failing() -> Failure {
    Failure {
        command: "make test".into(),
        signature: "s1".into(),
        ..Failure::default()
    }
}

fn checked(failure: Option<Failure>) -> StepDone {
    StepDone::Verified {
        check: Check {
            failure,
            ..Check::default()
        },
    }
}

fn run(machine: &mut Iteration, steps: &[StepDone]) -> Action {
    for step in steps {
        machine.apply(step).unwrap();
    }
    machine.next()
}

const BUNDLED: StepDone = StepDone::Bundled { prompt_bytes: 1 };

#[test]
fn a_claimed_change_that_passes_lands_and_is_recorded() {
    let mut it = machine();
    assert_eq!(it.next(), Action::Bundle { run: 1, fix: None });
    assert_eq!(run(&mut it, &[BUNDLED]), Action::StartAgent { run: 1 });
    let agent = ended(Ending::Finished, Some(Claim::ById));
    assert_eq!(run(&mut it, &[agent]), Action::Inspect);
    assert_eq!(run(&mut it, &[changed(&["a"])]), Action::Verify);
    assert_eq!(run(&mut it, &[checked(None)]), Action::Land);
    let landed = StepDone::Landed {
        commit: Some("c".into()),
    };
    assert_eq!(
        run(&mut it, &[landed]),
        Action::Record {
            verdict: Verdict::Verified
        }
    );
    assert_eq!(run(&mut it, &[StepDone::Recorded]), Action::Done);
}

#[test]
fn a_failed_verification_runs_a_fresh_agent_and_then_fails_the_iteration() {
    let mut it = machine();
    let agent = || ended(Ending::Finished, Some(Claim::Plain));
    let steps = [BUNDLED, agent(), changed(&["a"]), checked(Some(failing()))];
    assert_eq!(
        run(&mut it, &steps),
        Action::Bundle {
            run: 2,
            fix: Some(failing())
        }
    );
    let verdict = Verdict::Failed {
        command: "make test".into(),
        signature: "s1".into(),
    };
    assert_eq!(run(&mut it, &steps), Action::Keep { verdict });
}

#[test]
fn an_empty_diff_is_never_done() {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&[]),
    ];
    assert_eq!(
        run(&mut it, &steps),
        Action::Keep {
            verdict: Verdict::NoChange { claimed: true }
        }
    );
}

#[test]
fn a_task_that_expects_no_change_may_end_without_one() {
    let mut it = Iteration::new(IterationPolicy {
        max_verify_retries: 0,
        max_overload_retries: 0,
        expects_change: false,
        purpose: Purpose::Attempt,
        lands: Lands::Claimed,
        handoffs: Handoffs::Allowed,
    });
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&[]),
    ];
    assert_eq!(run(&mut it, &steps), Action::Verify);
}

#[test]
fn a_passing_change_without_a_claim_is_kept_and_not_landed() {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, None),
        changed(&["a"]),
        checked(None),
    ];
    assert_eq!(
        run(&mut it, &steps),
        Action::Keep {
            verdict: Verdict::Unclaimed
        }
    );
}

#[test]
fn a_refused_change_is_never_verified() {
    let mut it = machine();
    let refused = StepDone::Inspected {
        change: AgentChange {
            refusal: Some(RefusedChange {
                reason: "secret in .env".into(),
                halt: Halt::Attempt,
            }),
            ..AgentChange::default()
        },
    };
    let steps = [BUNDLED, ended(Ending::Finished, Some(Claim::ById)), refused];
    let verdict = Verdict::Refused {
        reason: "secret in .env".into(),
        halt: Halt::Attempt,
    };
    assert_eq!(run(&mut it, &steps), Action::Keep { verdict });
}

#[test]
fn how_an_agent_ended_decides_the_verdict() {
    let table = [
        (
            Ending::Error {
                message: "x".into(),
            },
            Verdict::AgentError {
                message: "x".into(),
            },
        ),
        (
            Ending::Unavailable {
                message: "x".into(),
            },
            Verdict::AgentUnavailable {
                message: "x".into(),
            },
        ),
        (
            Ending::Limit { resets_at: None },
            Verdict::LimitHit { resets_at: None },
        ),
        (
            Ending::TimedOut { minutes: 9 },
            Verdict::TimedOut {
                reason: "the iteration took more than 9 min".into(),
            },
        ),
        (
            Ending::Silent { minutes: 15 },
            Verdict::TimedOut {
                reason: "the agent said nothing for 15 min".into(),
            },
        ),
        (
            Ending::OverBudget {
                spent_usd: SPENT,
                max_usd: SPENT,
                budget: None,
            },
            OVER,
        ),
        (Ending::Stopped, Verdict::Interrupted),
    ];
    for (ending, verdict) in table {
        // A claim beside a bad end is worth nothing.
        let mut it = machine();
        let next = run(&mut it, &[BUNDLED, ended(ending, Some(Claim::ById))]);
        assert_eq!(next, Action::Keep { verdict });
    }
}

#[test]
fn an_interruption_fits_every_step_before_the_landing_is_done() {
    let path = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&["a"]),
        checked(None),
    ];
    for cut in 0..=path.len() {
        let mut it = machine();
        run(&mut it, &path[..cut]);
        let next = run(&mut it, &[StepDone::Interrupted]);
        assert_eq!(
            next,
            Action::Keep {
                verdict: Verdict::Interrupted
            },
            "after {cut} steps"
        );
    }
}

#[test]
fn a_moved_branch_refuses_the_landing_and_halts_the_loop() {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&["a"]),
        checked(None),
        StepDone::LandRefused {
            reason: "moved".into(),
        },
    ];
    let verdict = Verdict::Refused {
        reason: "moved".into(),
        halt: Halt::Loop,
    };
    assert_eq!(run(&mut it, &steps), Action::Keep { verdict });
}

/// Up to the point where the change is about to land.
fn about_to_land() -> Iteration {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&["a"]),
        checked(None),
    ];
    assert_eq!(run(&mut it, &steps), Action::Land);
    it
}

#[test]
fn a_branch_that_a_person_moved_on_is_verified_on_and_at_last_left_to_the_next_attempt() {
    let replayed = || StepDone::Replayed {
        change: AgentChange::default(),
    };
    let mut it = about_to_land();
    for _ in 0..5 {
        assert_eq!(run(&mut it, &[StepDone::LandMoved]), Action::Verify);
        assert_eq!(run(&mut it, &[replayed()]), Action::Verify);
        assert_eq!(run(&mut it, &[checked(None)]), Action::Land);
    }
    let Action::Keep { verdict } = run(&mut it, &[StepDone::LandMoved, replayed()]) else {
        panic!("{it:?}");
    };
    assert!(matches!(verdict, Verdict::Overtaken { .. }), "{verdict:?}");
    assert!(!verdict.is_charged() && verdict.keeps_work());
}

#[test]
fn a_conflict_with_a_moved_branch_is_kept_and_not_charged() {
    let mut it = about_to_land();
    let reason = String::from("it conflicts in a");
    let steps = [
        StepDone::LandMoved,
        StepDone::Overtaken {
            reason: reason.clone(),
        },
    ];
    let verdict = Verdict::Overtaken { reason };
    assert!(!verdict.is_charged());
    assert_eq!(run(&mut it, &steps), Action::Keep { verdict });
}

#[test]
fn a_step_that_does_not_fit_is_an_error_and_changes_nothing() {
    let mut it = machine();
    let before = it.clone();
    let error = it.apply(&StepDone::Landed { commit: None }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "step Landed does not fit the state Bundling of the iteration"
    );
    assert_eq!(it, before);
}

#[test]
fn steps_survive_the_journal() {
    let steps = [
        BUNDLED,
        ended(Ending::Stopped, Some(Claim::ById)),
        changed(&["a"]),
        checked(Some(failing())),
        OUT_OF_BUDGET,
    ];
    for step in steps {
        let text = serde_json::to_string(&step).unwrap();
        assert_eq!(serde_json::from_str::<StepDone>(&text).unwrap(), step);
    }
}

const SPENT: Dollars = Dollars::NOTHING;
const OVER: Verdict = Verdict::Budget {
    spent_usd: SPENT,
    max_usd: SPENT,
    budget: None,
};
const OUT_OF_BUDGET: StepDone = StepDone::OutOfBudget {
    spent_usd: SPENT,
    max_usd: SPENT,
    budget: None,
};

#[test]
fn no_money_is_left_for_a_repair_and_what_is_there_is_kept() {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&["a"]),
        checked(Some(failing())),
        OUT_OF_BUDGET,
    ];
    assert_eq!(run(&mut it, &steps), Action::Keep { verdict: OVER });
}

#[test]
fn money_is_no_reason_to_throw_away_what_was_verified() {
    let mut it = machine();
    let steps = [
        BUNDLED,
        ended(Ending::Finished, Some(Claim::ById)),
        changed(&["a"]),
        checked(None),
    ];
    assert_eq!(run(&mut it, &steps), Action::Land);
    assert!(it.apply(&OUT_OF_BUDGET).is_err());
}

fn overloaded() -> StepDone {
    ended(
        Ending::Overloaded {
            message: "529".into(),
        },
        None,
    )
}

const WAITED: StepDone = StepDone::Waited { seconds: 1.0 };

#[test]
fn an_overloaded_api_is_waited_for_and_asked_again_before_it_is_a_verdict() {
    let mut it = machine();
    let wait = |attempt| Action::Wait {
        attempt,
        message: "529".into(),
    };
    assert_eq!(run(&mut it, &[BUNDLED, overloaded()]), wait(1));
    assert_eq!(
        run(&mut it, &[WAITED]),
        Action::Bundle { run: 2, fix: None }
    );
    assert_eq!(run(&mut it, &[BUNDLED, overloaded()]), wait(2));
    let verdict = Verdict::Overloaded {
        message: "529".into(),
    };
    let last = run(&mut it, &[WAITED, BUNDLED, overloaded()]);
    assert_eq!(last, Action::Keep { verdict });
}

#[test]
fn runs_behind_an_overloaded_api_take_no_repair_away_and_the_repair_goes_on() {
    let mut it = machine();
    let finished = || ended(Ending::Finished, Some(Claim::Plain));
    let steps = [
        BUNDLED,
        overloaded(),
        WAITED,
        BUNDLED,
        finished(),
        changed(&["a"]),
        checked(Some(failing())),
    ];
    let fix = Some(failing());
    let repair = Action::Bundle {
        run: 3,
        fix: fix.clone(),
    };
    assert_eq!(run(&mut it, &steps), repair);
    let again = run(&mut it, &[BUNDLED, overloaded(), WAITED]);
    assert_eq!(again, Action::Bundle { run: 4, fix });
}

#[test]
fn a_wait_can_be_interrupted_and_charges_no_attempt() {
    let mut it = machine();
    let last = run(&mut it, &[BUNDLED, overloaded(), StepDone::Interrupted]);
    let verdict = Verdict::Interrupted;
    assert!(!verdict.is_charged());
    assert_eq!(last, Action::Keep { verdict });
}

#[test]
fn a_usage_limit_is_not_tried_again_within_the_iteration() {
    let mut it = machine();
    let limit = ended(Ending::Limit { resets_at: None }, None);
    let verdict = Verdict::LimitHit { resets_at: None };
    assert_eq!(run(&mut it, &[BUNDLED, limit]), Action::Keep { verdict });
}

#[test]
fn a_diagnosis_is_neither_verified_nor_landed_whatever_it_changed_and_claimed() {
    let halting = |halt| StepDone::Inspected {
        change: AgentChange {
            refusal: Some(RefusedChange {
                reason: "moved".into(),
                halt,
            }),
            ..AgentChange::default()
        },
    };
    let stopped = Verdict::Refused {
        reason: "moved".into(),
        halt: Halt::Loop,
    };
    let table = [
        (changed(&[]), Verdict::Diagnosed),
        (changed(&["a.rs"]), Verdict::Diagnosed),
        (halting(Halt::Attempt), Verdict::Diagnosed),
        (halting(Halt::Loop), stopped),
    ];
    for (inspected, verdict) in table {
        let mut it = Iteration::new(IterationPolicy {
            max_verify_retries: 1,
            max_overload_retries: 2,
            expects_change: true,
            purpose: Purpose::Diagnosis,
            lands: Lands::Claimed,
            handoffs: Handoffs::Allowed,
        });
        let bundled = StepDone::Bundled { prompt_bytes: 1 };
        let steps = [
            bundled,
            ended(Ending::Finished, Some(Claim::ById)),
            inspected,
        ];
        for step in &steps {
            it.apply(step).unwrap();
        }
        assert_eq!(it.next(), Action::Keep { verdict });
    }
}

/// An iteration that works at a goal.
fn towards_a_goal(expects_change: bool) -> Iteration {
    Iteration::new(IterationPolicy {
        max_verify_retries: 0,
        max_overload_retries: 0,
        expects_change,
        purpose: Purpose::Attempt,
        lands: Lands::Each,
        handoffs: Handoffs::Allowed,
    })
}

#[test]
fn each_verified_step_towards_a_goal_lands_and_only_a_claim_makes_it_verified() {
    for (claim, verdict) in [
        (None, Verdict::Progress),
        (Some(Claim::Plain), Verdict::Verified),
    ] {
        let mut it = towards_a_goal(true);
        let steps = [
            BUNDLED,
            ended(Ending::Finished, claim),
            changed(&["a"]),
            checked(None),
        ];
        assert_eq!(run(&mut it, &steps), Action::Land);
        it.apply(&StepDone::Landed { commit: None }).unwrap();
        assert_eq!(it.next(), Action::Record { verdict });
    }
}

#[test]
fn a_step_that_fails_does_not_land_claimed_or_not() {
    for claim in [None, Some(Claim::Plain)] {
        let mut it = towards_a_goal(true);
        let steps = [
            BUNDLED,
            ended(Ending::Finished, claim),
            changed(&["a"]),
            checked(Some(failing())),
        ];
        let Action::Keep { verdict } = run(&mut it, &steps) else {
            panic!("it is not kept");
        };
        assert_eq!(verdict.name(), "failed");
    }
}

#[test]
fn without_a_change_a_goal_is_reached_only_by_a_claim_after_steps_that_landed() {
    let no_change = |claimed| Action::Keep {
        verdict: Verdict::NoChange { claimed },
    };
    let cases = [
        (true, None, no_change(false)),
        (true, Some(Claim::Plain), no_change(true)),
        (false, None, no_change(false)),
        (false, Some(Claim::Plain), Action::Verify),
    ];
    for (expects_change, claim, expected) in cases {
        let mut it = towards_a_goal(expects_change);
        let steps = [BUNDLED, ended(Ending::Finished, claim), changed(&[])];
        assert_eq!(run(&mut it, &steps), expected);
    }
}
