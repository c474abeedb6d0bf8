//! Tests what follows from a usage limit, by policy, reset time, and how long it has been waited for.

use super::*;

fn hit(resets_at: Option<&str>) -> Verdict {
    Verdict::LimitHit {
        resets_at: resets_at.map(time),
    }
}

/// Met `count` times in a row since `since`, the last time at noon, which is now.
fn row(count: u32, since: &str, of: Worker) -> LimitRow {
    LimitRow {
        count,
        since: time(since),
        last_at: time("12:00"),
        of,
    }
}

fn once_hit() -> LimitRow {
    row(1, "12:00", Worker::Main)
}

fn by(policy: OnUsageLimit) -> Limits {
    Limits {
        max_time: None,
        usage: LimitPolicy {
            on_limit: policy,
            ..WAIT
        },
        ..LIMITS
    }
}

fn after(verdict: &Verdict, row: LimitRow, limits: &Limits) -> Decision {
    let mut snapshot = snapshot(Some(last(verdict)));
    snapshot.limit = Some(row);
    decide(&snapshot, limits)
}

fn waits(until: &str) -> Decision {
    Decision {
        task_decision: TaskDecision::Keep,
        stop: None,
        limit: Some(AfterLimit::Wait { until: time(until) }),
    }
}

fn stops(resets_at: Option<&str>) -> Decision {
    Decision {
        task_decision: TaskDecision::Keep,
        stop: Some(Stop::UsageLimit {
            resets_at: resets_at.map(time),
        }),
        limit: None,
    }
}

fn goes_on() -> Decision {
    Decision {
        task_decision: TaskDecision::Keep,
        stop: None,
        limit: None,
    }
}

#[test]
fn it_waits_until_the_reset_and_goes_on_behind_it() {
    let wait = by(OnUsageLimit::Wait);
    let verdict = hit(Some("14:30"));
    assert_eq!(after(&verdict, once_hit(), &wait), waits("14:30"));
    let mut later = snapshot(Some(last(&verdict)));
    (later.limit, later.now) = (Some(once_hit()), time("14:30"));
    assert_eq!(decide(&later, &wait), goes_on());
}

#[test]
fn a_reset_further_away_than_is_waited_for_stops_and_says_when() {
    let wait = by(OnUsageLimit::Wait);
    assert_eq!(
        after(&hit(Some("18:00")), once_hit(), &wait),
        waits("18:00")
    );
    let too_far = after(&hit(Some("18:01")), once_hit(), &wait);
    assert_eq!(too_far, stops(Some("18:01")));
    let stop = too_far.stop.unwrap();
    assert_eq!(stop.exit_code(), 6);
    assert!(stop.sentence().contains("2026-11-15T18:01:00Z"), "{stop:?}");
}

#[test]
fn without_a_reset_time_it_tries_again_until_it_has_waited_enough() {
    let wait = by(OnUsageLimit::Wait);
    let table = [
        (row(1, "12:00", Worker::Main), waits("12:30")),
        (row(12, "06:30", Worker::Main), waits("12:30")),
        (row(13, "06:29", Worker::Main), stops(None)),
    ];
    for (row, expected) in table {
        assert_eq!(after(&hit(None), row, &wait), expected, "{row:?}");
    }
}

#[test]
fn a_reset_that_is_over_is_believed_once() {
    let wait = by(OnUsageLimit::Wait);
    let verdict = hit(Some("11:59"));
    assert_eq!(after(&verdict, once_hit(), &wait), goes_on());
    let again = row(2, "11:59", Worker::Main);
    assert_eq!(after(&verdict, again, &wait), waits("12:30"));
}

#[test]
fn stop_means_stop() {
    let stop = by(OnUsageLimit::Stop);
    assert_eq!(
        after(&hit(Some("12:01")), once_hit(), &stop),
        stops(Some("12:01"))
    );
    assert_eq!(after(&hit(None), once_hit(), &stop), stops(None));
}

#[test]
fn a_fallback_goes_on_at_once_until_the_reset_however_far_away() {
    let fallback = by(OnUsageLimit::Fallback);
    let far = after(&hit(Some("23:00")), once_hit(), &fallback);
    let until = time("23:00");
    assert_eq!(far.limit, Some(AfterLimit::Fallback { until }));
    assert_eq!(far.stop, None);
    let unknown = after(&hit(None), once_hit(), &fallback);
    let until = time("12:30");
    assert_eq!(unknown.limit, Some(AfterLimit::Fallback { until }));
}

#[test]
fn when_the_fallback_is_used_up_too_the_first_to_come_back_is_waited_for() {
    let fallback = by(OnUsageLimit::Fallback);
    for (main, resets_at, until) in [("13:00", "14:00", "13:00"), ("15:00", "14:00", "14:00")] {
        let verdict = hit(Some(resets_at));
        let mut snapshot = snapshot(Some(last(&verdict)));
        snapshot.limit = Some(row(2, "11:00", Worker::Fallback));
        snapshot.main_back_at = Some(time(main));
        assert_eq!(decide(&snapshot, &fallback), waits(until));
    }
}

#[test]
fn a_request_to_stop_goes_before_a_wait() {
    let verdict = hit(Some("14:30"));
    let mut snapshot = snapshot(Some(last(&verdict)));
    (snapshot.limit, snapshot.signal) = (Some(once_hit()), Some(2));
    let decision = decide(&snapshot, &by(OnUsageLimit::Wait));
    assert_eq!(decision.stop, Some(Stop::Interrupted { signal: 2 }));
}

#[test]
fn once_waits_too_because_a_limit_is_not_the_iteration_that_was_asked_for() {
    let once = Limits {
        span: Span::Once,
        ..by(OnUsageLimit::Wait)
    };
    assert_eq!(
        after(&hit(Some("12:10")), once_hit(), &once),
        waits("12:10")
    );
    assert_eq!(after(&hit(Some("11:59")), once_hit(), &once), goes_on());
}

#[test]
fn no_one_waits_for_a_reset_behind_the_end_of_the_run() {
    // An hour in all, of which a minute is over.
    let hour = Limits {
        max_time: Some(Duration::from_secs(3600)),
        ..by(OnUsageLimit::Wait)
    };
    assert_eq!(
        after(&hit(Some("12:59")), once_hit(), &hour),
        waits("12:59")
    );
    assert_eq!(
        after(&hit(Some("13:00")), once_hit(), &hour),
        stops(Some("13:00"))
    );
}

#[test]
fn stop_does_not_stop_for_a_limit_that_is_over() {
    let verdict = hit(Some("12:01"));
    let mut later = snapshot(Some(last(&verdict)));
    (later.limit, later.now) = (Some(once_hit()), time("12:01"));
    assert_eq!(decide(&later, &by(OnUsageLimit::Stop)), goes_on());
}

#[test]
fn a_limit_long_after_the_last_one_begins_a_new_row() {
    let six_hours = Duration::from_secs(6 * 3600);
    let before = row(3, "11:00", Worker::Main);
    let next =
        |at: &str| LimitRow::next(Some(before), at.parse().unwrap(), Worker::Main, six_hours);
    // Six hours were waited, and the agent is at its limit again.
    let waited = next("2026-11-15T18:00:05Z");
    assert_eq!((waited.count, waited.since), (4, time("11:00")));
    let days_later = next("2026-11-18T09:00:00Z");
    assert_eq!(days_later.count, 1);
    assert_eq!(days_later.since, days_later.last_at);
}

/// The fallback could not work at noon, while the agent of the loop is back at `main`.
fn lost(main: &str, row: Option<LimitRow>, limits: &Limits) -> Decision {
    let verdict = Verdict::AgentUnavailable {
        message: "not logged in".into(),
    };
    let mut snapshot = snapshot(Some(last(&verdict)));
    (snapshot.limit, snapshot.main_back_at) = (row, Some(time(main)));
    decide(&snapshot, limits)
}

#[test]
fn a_fallback_that_cannot_work_makes_the_agent_waited_for_within_what_is_waited() {
    let fallback = by(OnUsageLimit::Fallback);
    assert_eq!(lost("12:10", Some(once_hit()), &fallback), waits("12:10"));
    assert_eq!(lost("12:10", None, &fallback), waits("12:10"));
    assert_eq!(lost("12:00", Some(once_hit()), &fallback), goes_on());
    let unavailable = Stop::AgentUnavailable {
        message: "not logged in".into(),
    };
    for row in [Some(once_hit()), None] {
        let too_far = lost("18:01", row, &fallback);
        assert_eq!(too_far.stop, Some(unavailable.clone()));
    }
    let once = Limits {
        span: Span::Once,
        ..fallback
    };
    assert_eq!(lost("12:10", Some(once_hit()), &once), waits("12:10"));
}

#[test]
fn two_agents_that_fail_in_turns_come_to_an_end() {
    let fallback = by(OnUsageLimit::Fallback);
    let half_an_hour_of_it = row(60, "11:30", Worker::Main);
    assert_eq!(
        lost("11:59", Some(half_an_hour_of_it), &fallback),
        goes_on()
    );
    let six_hours_of_it = row(700, "05:50", Worker::Main);
    let ended = lost("11:59", Some(six_hours_of_it), &fallback);
    assert!(
        matches!(ended.stop, Some(Stop::AgentUnavailable { .. })),
        "{ended:?}"
    );
}
