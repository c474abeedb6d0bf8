//! Which limit of earlier iterations is still one.

use super::*;

fn hit(resets_at: Option<&str>) -> Verdict {
    Verdict::LimitHit {
        resets_at: resets_at.map(time),
    }
}

/// One of an earlier loop's.
fn past<'a>(by: Worker, ended_at: &str, verdict: &'a Verdict) -> Past<'a> {
    Past {
        by,
        ended_at: time(ended_at),
        verdict,
        of_loop: OfLoop::Earlier,
    }
}

/// At noon, with six hours to wait at most.
fn at_noon(past: &[Past<'_>], on_limit: OnUsageLimit) -> Option<Recalled> {
    recall(past, time("12:00"), &LimitPolicy { on_limit, ..WAIT })
}

fn waits(past: &[Past<'_>]) -> Option<Timestamp> {
    at_noon(past, OnUsageLimit::Wait).map(|recalled| recalled.main_back_at)
}

#[test]
fn a_limit_of_an_earlier_loop_is_waited_for_until_the_same_moment_and_counted_again() {
    let limit = hit(Some("16:00"));
    let recalled = at_noon(&[past(Worker::Main, "09:00", &limit)], OnUsageLimit::Wait);
    let row = LimitRow {
        count: 1,
        since: time("12:00"),
        last_at: time("09:00"),
        of: Worker::Main,
    };
    let expected = Recalled {
        nth: 0,
        row,
        main_back_at: time("16:00"),
    };
    assert_eq!(recalled, Some(expected));
}

#[test]
fn a_limit_that_is_over_is_forgotten() {
    for resets_at in ["12:00", "11:00", "08:59"] {
        let limit = hit(Some(resets_at));
        assert_eq!(waits(&[past(Worker::Main, "09:00", &limit)]), None);
    }
}

#[test]
fn an_unknown_reset_is_asked_for_again_unless_the_loop_was_killed_in_its_wait() {
    let limit = hit(None);
    let mut one = past(Worker::Main, "11:45", &limit);
    assert_eq!(waits(&[one]), None);
    one.of_loop = OfLoop::This;
    assert_eq!(waits(&[one]), Some(time("12:15")));
}

#[test]
fn a_killed_loop_goes_on_with_its_row() {
    let limit = hit(None);
    let this = |ended_at| Past {
        of_loop: OfLoop::This,
        ..past(Worker::Main, ended_at, &limit)
    };
    let recalled = at_noon(&[this("11:10"), this("11:40")], OnUsageLimit::Wait).unwrap();
    assert_eq!((recalled.row.count, recalled.row.since), (2, time("11:10")));
}

#[test]
fn an_iteration_that_got_through_clears_it_and_one_that_says_nothing_does_not() {
    let limit = hit(Some("16:00"));
    let then = |verdict: &Verdict| {
        waits(&[
            past(Worker::Main, "09:00", &limit),
            past(Worker::Main, "09:30", verdict),
        ])
    };
    assert_eq!(then(&Verdict::Verified), None);
    assert_eq!(then(&failed()), None);
    assert_eq!(then(&hit(Some("11:00"))), None, "the newest one counts");
    assert_eq!(then(&Verdict::Interrupted), Some(time("16:00")));
    let unavailable = Verdict::AgentUnavailable {
        message: "x".into(),
    };
    assert_eq!(then(&unavailable), Some(time("16:00")));
}

#[test]
fn what_the_fallback_does_says_nothing_of_the_agents_own_limit() {
    let (limit, verified) = (hit(Some("16:00")), Verdict::Verified);
    let past = [
        past(Worker::Main, "09:00", &limit),
        past(Worker::Fallback, "09:30", &verified),
    ];
    let recalled = at_noon(&past, OnUsageLimit::Fallback).unwrap();
    assert_eq!((recalled.nth, recalled.row.of), (0, Worker::Main));
    assert_eq!(recalled.main_back_at, time("16:00"));
}

#[test]
fn where_both_are_used_up_the_fallbacks_limit_decides_and_alone_it_holds_no_agent() {
    let (main, other) = (hit(Some("16:00")), hit(Some("14:00")));
    let both = [
        past(Worker::Main, "09:00", &main),
        past(Worker::Fallback, "09:30", &other),
    ];
    let recalled = at_noon(&both, OnUsageLimit::Fallback).unwrap();
    assert_eq!((recalled.nth, recalled.row.of), (1, Worker::Fallback));
    assert_eq!(recalled.main_back_at, time("16:00"));
    assert_eq!(at_noon(&both[1..], OnUsageLimit::Fallback), None);
}

#[test]
fn where_a_limit_stops_the_loop_a_person_who_starts_it_again_wants_it_asked() {
    let limit = hit(Some("16:00"));
    let past = [past(Worker::Main, "09:00", &limit)];
    assert_eq!(at_noon(&past, OnUsageLimit::Stop), None);
}
