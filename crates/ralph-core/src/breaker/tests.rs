//! Tests of the circuit breaker: every state with every event, and what a restart makes of the past.

use super::*;

const POLICY: BreakerPolicy = BreakerPolicy {
    failures: 5,
    window: 10,
    cooldown: Duration::from_secs(600),
};

fn at(minutes: i64) -> Timestamp {
    let start: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    start + SignedDuration::from_mins(minutes)
}

/// Returns what was noted, one letter an iteration, a minute each: `x` a failure, `o` good, `-` nothing.
fn after(samples: &str) -> Breaker {
    let mut breaker = Breaker::new(POLICY);
    for (minute, letter) in (1..).zip(samples.chars()) {
        let sample = match letter {
            'x' => Sample::Failure,
            'o' => Sample::Good,
            _ => Sample::Nothing,
        };
        breaker.note(sample, at(minute));
    }
    breaker
}

#[derive(Debug, Clone, Copy)]
enum Happens {
    Note(Sample),
    /// So many minutes after it opened.
    Look(i64),
    Person,
}

#[test]
fn every_state_meets_every_event() {
    use BreakerState::{Closed, HalfOpen, Open};
    let stations = || {
        let mut half_open = after("xxxxx");
        half_open.let_one_through();
        // The fourth has one failure to go.
        [after("oo"), after("xxxxx"), half_open, after("xxxx")]
    };
    let table = [
        (Happens::Note(Sample::Good), [Closed, Open, Closed, Closed]),
        (Happens::Note(Sample::Failure), [Closed, Open, Open, Open]),
        (
            Happens::Note(Sample::Nothing),
            [Closed, Open, HalfOpen, Closed],
        ),
        (Happens::Look(9), [Closed, Open, HalfOpen, Closed]),
        (Happens::Look(10), [Closed, HalfOpen, HalfOpen, Closed]),
        (Happens::Person, [Closed, HalfOpen, HalfOpen, Closed]),
    ];
    for (event, expected) in table {
        for (mut breaker, expected) in stations().into_iter().zip(expected) {
            let before = breaker.state();
            match event {
                Happens::Note(sample) => breaker.note(sample, at(5)),
                Happens::Look(minutes) => breaker.look(at(5 + minutes)),
                Happens::Person => breaker.let_one_through(),
            }
            assert_eq!(breaker.state(), expected, "{before:?}, {event:?}");
        }
    }
}

#[test]
fn it_opens_at_five_failures_in_the_last_ten() {
    let table = [
        ("xxxx", BreakerState::Closed),
        ("xxxxx", BreakerState::Open),
        ("xoxoxoxox", BreakerState::Open),
        ("xxxxoooooox", BreakerState::Closed),
        ("xxxxooooox", BreakerState::Open),
        ("x-x-x-x----------x", BreakerState::Open),
        ("oooooooooo", BreakerState::Closed),
    ];
    for (samples, expected) in table {
        assert_eq!(after(samples).state(), expected, "{samples}");
    }
    let open = after("oxxxxx");
    assert_eq!((open.failures(), open.samples()), (5, 6));
    assert_eq!(open.until(), Some(at(16)));
}

#[test]
fn a_good_trial_forgets_the_past_and_a_bad_one_opens_again_for_as_long() {
    let mut breaker = after("xxxxx");
    breaker.look(at(15));
    breaker.note(Sample::Good, at(17));
    assert_eq!(
        (breaker.state(), breaker.samples()),
        (BreakerState::Closed, 0)
    );

    let mut breaker = after("xxxxx");
    breaker.look(at(15));
    breaker.note(Sample::Failure, at(17));
    assert_eq!(
        (breaker.state(), breaker.until()),
        (BreakerState::Open, Some(at(27)))
    );
}

#[test]
fn only_the_agent_and_its_api_fail() {
    let text = || "x".to_owned();
    let failures = [
        Verdict::AgentError { message: text() },
        Verdict::TimedOut { reason: text() },
        Verdict::Terminated { reason: text() },
        Verdict::Overloaded { message: text() },
    ];
    for verdict in failures {
        assert_eq!(Sample::of(&verdict), Sample::Failure, "{verdict:?}");
    }
    let failed = Verdict::Failed {
        command: text(),
        signature: text(),
    };
    assert_eq!(Sample::of(&failed), Sample::Good);
    assert_eq!(
        Sample::of(&Verdict::NoChange { claimed: true }),
        Sample::Good
    );
    assert_eq!(Sample::of(&Verdict::Interrupted), Sample::Nothing);
    assert_eq!(
        Sample::of(&Verdict::LimitHit { resets_at: None }),
        Sample::Nothing
    );
}

#[test]
fn a_restart_folds_the_past_into_the_same_state() {
    let failure = Verdict::AgentError {
        message: "x".into(),
    };
    let (verified, interrupted) = (Verdict::Verified, Verdict::Interrupted);
    let fold = |past: &[(&Verdict, i64)]| {
        Breaker::folded(
            POLICY,
            past.iter()
                .map(|(v, minute)| (*v, at(minute - 1), at(*minute))),
        )
    };
    let five: Vec<(&Verdict, i64)> = (1..=5).map(|m| (&failure, m)).collect();
    let open = fold(&five);
    assert_eq!(
        (open.state(), open.until()),
        (BreakerState::Open, Some(at(15)))
    );
    // A trial that a person made before its time, and one after it.
    for minute in [8, 30] {
        let tried: Vec<_> = five.iter().copied().chain([(&verified, minute)]).collect();
        assert_eq!(fold(&tried).state(), BreakerState::Closed);
        let tried: Vec<_> = five.iter().copied().chain([(&failure, minute)]).collect();
        assert_eq!(fold(&tried).until(), Some(at(minute + 10)));
    }
    // One that was interrupted tried nothing.
    let cut: Vec<_> = five.iter().copied().chain([(&interrupted, 8)]).collect();
    assert_eq!(fold(&cut).state(), BreakerState::Open);
}
