//! The criteria of a loop's end: each alone, each pair, and what is just not enough.

use super::*;
use crate::{
    health::HealthState,
    loop_state::{Reached, Termination},
};

const BOUNDED: Limits = Limits {
    max_cost: Some(Dollars::whole(50)),
    ..LIMITS
};

/// Nothing speaks against going on.
const FINE: Snapshot = Snapshot {
    signal: None,
    all_complete: false,
    tripped: None,
    sick: None,
    errors_in_a_row: 2,
    spent: Dollars::whole(49),
    reserve: None,
    iterations: 9,
    elapsed: Duration::from_secs(3599),
    fruitless: Fruitless {
        iterations: 2,
        tasks: 2,
        other_ready: false,
    },
};

type Change = fn(&mut Snapshot);

/// In the order in which they speak: what makes each speak, its reason and its details.
const CRITERIA: [(Change, &str, &str); 9] = [
    (
        |at| at.signal = Some(15),
        "explicit_stop",
        "asked to stop (SIGTERM)",
    ),
    (
        |at| at.all_complete = true,
        "goal_achieved",
        "all tasks are complete",
    ),
    (
        |at| {
            at.tripped = Some(Tripped {
                failures: 5,
                of: 10,
                until: None,
            });
        },
        "circuit_breaker_open",
        "Too many failures — circuit breaker tripped",
    ),
    (
        |at| {
            at.sick = Some(FailingStreak {
                in_a_row: 2,
                state: HealthState::Terminated,
            });
        },
        "health_failure",
        "Agent health state: terminated",
    ),
    (
        |at| at.errors_in_a_row = 3,
        "consecutive_errors",
        "3 consecutive errors",
    ),
    (
        |at| at.spent = Dollars::whole(50),
        "budget_exhausted",
        "$50.00 >= $50.00 budget",
    ),
    (
        |at| at.iterations = 10,
        "max_iterations",
        "Iteration 10 >= 10 max",
    ),
    (
        |at| at.elapsed = Duration::from_secs(3600),
        "max_duration",
        "60 min >= 60 max",
    ),
    (
        |at| at.fruitless.iterations = 3,
        "no_progress",
        "No completed items after 3 iterations",
    ),
];

fn spoken(at: &Snapshot) -> Option<(&'static str, String)> {
    let stop = evaluate(at, &BOUNDED)?;
    let reached = Reached {
        iterations: at.iterations,
        elapsed: at.elapsed,
    };
    let termination = Termination::of(&stop, reached);
    Some((termination.reason.as_str(), termination.details))
}

#[test]
fn each_criterion_alone_speaks_in_the_words_that_users_know() {
    assert_eq!(spoken(&FINE), None);
    for (change, reason, details) in CRITERIA {
        let mut at = FINE;
        change(&mut at);
        assert_eq!(spoken(&at), Some((reason, details.to_owned())));
    }
}

#[test]
fn of_each_pair_the_earlier_one_speaks() {
    for (first, (change, reason, _)) in CRITERIA.into_iter().enumerate() {
        for (other, later, _) in CRITERIA.into_iter().skip(first + 1) {
            let mut at = FINE;
            change(&mut at);
            other(&mut at);
            let said = spoken(&at).map(|(reason, _)| reason);
            assert_eq!(said, Some(reason), "{reason} and {later}");
        }
    }
}

#[test]
fn what_is_just_not_enough_does_not_end_the_loop() {
    let sick = |in_a_row, state| Some(FailingStreak { in_a_row, state });
    let near: [Change; 4] = [
        |at| at.fruitless = Fruitless::default(),
        // One hard task, and another one is ready.
        |at| {
            at.fruitless = Fruitless {
                iterations: 7,
                tasks: 1,
                other_ready: true,
            };
        },
        |at| at.errors_in_a_row = 0,
        |at| at.iterations = 0,
    ];
    for change in near {
        let mut at = FINE;
        change(&mut at);
        assert_eq!(spoken(&at), None, "{at:?}");
    }
    let table = [
        (sick(1, HealthState::Terminated), None),
        (sick(1, HealthState::Failing), None),
        (sick(9, HealthState::Stuck), None),
        (sick(9, HealthState::Degraded), None),
        (sick(9, HealthState::Healthy), None),
        (sick(2, HealthState::Failing), Some("health_failure")),
    ];
    for (sick, expected) in table {
        let at = Snapshot { sick, ..FINE };
        assert_eq!(spoken(&at).map(|(reason, _)| reason), expected, "{sick:?}");
    }
    let unbounded = Limits {
        max_cost: None,
        max_time: None,
        ..LIMITS
    };
    let dear = Snapshot {
        spent: Dollars::whole(999_999),
        elapsed: Duration::MAX,
        ..FINE
    };
    assert_eq!(evaluate(&dear, &unbounded), None);
}

#[test]
fn a_sick_agent_speaks_before_the_tasks_and_running_out_after_them() {
    let failed = failed();
    let nothing_ready = |change: fn(&mut LoopSnapshot<'_>)| {
        let mut l = last(&failed);
        l.attempts = 3;
        let mut s = snapshot(Some(l));
        (s.work.other_ready, s.work.same_ready) = (false, false);
        change(&mut s);
        decide(&s, &LIMITS)
    };
    let sick = nothing_ready(|s| {
        s.agent_trouble.sick = Some(FailingStreak {
            in_a_row: 2,
            state: HealthState::Failing,
        });
    });
    assert_eq!(
        sick.stop,
        Some(Stop::HealthFailure {
            state: HealthState::Failing
        })
    );
    assert_eq!(
        sick.task_decision,
        TaskDecision::Keep,
        "it is not held against the task"
    );
    let spent = nothing_ready(|s| s.iterations = 10);
    assert_eq!(spent.stop, Some(Stop::NothingReady));
    assert!(matches!(spent.task_decision, TaskDecision::Block { .. }));
}

#[test]
fn an_open_breaker_ends_the_loop_with_its_exit_code_and_says_until_when() {
    let verdict = Verdict::AgentError {
        message: "x".into(),
    };
    let mut s = snapshot(Some(last(&verdict)));
    s.agent_trouble.tripped = Some(Tripped {
        failures: 5,
        of: 8,
        until: Some(time("12:10")),
    });
    let stop = stop_of(&s).expect("a stop");
    assert_eq!(stop.exit_code(), 7);
    assert_eq!(
        stop.sentence(),
        "the circuit breaker is open: 5 of the last 8 iterations failed; it lets one through at \
         2026-11-15T12:10:00Z"
    );
}
