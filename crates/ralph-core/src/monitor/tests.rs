//! Every phase with everything that can be seen, the waits, and what makes a process hang.

use std::time::Duration;

use jiff::Timestamp;

use super::*;
use crate::{breaker::BreakerState, health::HealthReport, health::HealthState};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_000_000 + seconds).unwrap()
}

fn policy(restarting: Restarting) -> MonitorPolicy {
    MonitorPolicy {
        ask_wait: Duration::from_secs(30),
        escalate_wait: Duration::from_secs(900),
        grace: Duration::from_secs(20),
        start_wait: Duration::from_secs(60),
        lost_touch: Duration::from_secs(5000),
        restarting,
        max_restarts: 3,
        restart_within: Duration::from_secs(86_400),
    }
}

const SIGHTS: [Sight; 5] = [
    Sight::Well,
    Sight::Asking,
    Sight::Hangs,
    Sight::Gone,
    Sight::Ended,
];

fn seen(sight: Sight) -> Seen {
    Seen {
        sight,
        wish: Wish::Work,
        restarts: 0,
        silent: Duration::from_secs(70),
    }
}

const LEAVE: Act = Act::Lost {
    how: Loss::Crashed,
    then: AfterLoss::Leave,
};
const ENDED_IT: Act = Act::Lost {
    how: Loss::Terminated,
    then: AfterLoss::Leave,
};

/// Every phase × everything that can be seen, ten seconds later and before its wait is over.
#[test]
fn every_phase_and_sight_has_its_answer() {
    let since = at(0);
    let [w, p, l, o] = [Phase::Watched, Phase::PassedOn, Phase::Lost, Phase::Over];
    let (a, a10) = (Phase::Asked { since }, Phase::Asked { since: at(10) });
    let (e, r) = (Phase::Escalated { since }, Phase::Restarted { since });
    let (t, k) = (Phase::Ending { since }, Phase::Killing { since });
    let [none, back, ask] = [Act::Nothing, Act::Recovered, Act::Ask];
    let [pass, over] = [Act::PassOn, Act::Over];
    let (gone, done) = (LEAVE, ENDED_IT);
    let table = [
        // What follows when it is: well, asking, hanging, gone, ended.
        (w, [(w, none), (p, pass), (a10, ask), (l, gone), (o, over)]),
        (p, [(w, none), (p, none), (a10, ask), (l, gone), (o, over)]),
        (a, [(w, back), (p, pass), (a, none), (l, gone), (o, over)]),
        (e, [(w, back), (p, pass), (e, none), (l, gone), (o, over)]),
        (t, [(t, none), (t, none), (t, none), (l, done), (l, done)]),
        (k, [(k, none), (k, none), (k, none), (l, done), (l, done)]),
        (l, [(w, back), (p, pass), (a10, ask), (l, none), (o, over)]),
        (r, [(w, back), (p, pass), (a10, ask), (r, none), (r, none)]),
        (o, [(w, back), (p, pass), (a10, ask), (l, none), (o, none)]),
    ];
    for (phase, answers) in table {
        for (sight, expected) in SIGHTS.into_iter().zip(answers) {
            let got = phase.step(&seen(sight), &policy(Restarting::Never), at(10));
            assert_eq!(got, expected, "{phase:?} and {sight:?}");
        }
    }
}

#[test]
fn each_step_against_a_hanging_loop_waits_its_time_and_not_a_second_less() {
    let table = [
        (Phase::Asked { since: at(0) }, 30, Act::Escalate),
        (Phase::Escalated { since: at(0) }, 900, Act::Terminate),
        (Phase::Ending { since: at(0) }, 20, Act::Kill),
        (Phase::Killing { since: at(0) }, 20, Act::Kill),
    ];
    for (phase, wait, act) in table {
        let step = |seconds| {
            let (_, act) = phase.step(&seen(Sight::Hangs), &policy(Restarting::Never), at(seconds));
            act
        };
        assert_eq!(step(wait - 1), Act::Nothing, "{phase:?}");
        assert_eq!(step(wait), act, "{phase:?}");
    }
    // One that was told to end is not spared because it woke up.
    for sight in [Sight::Well, Sight::Asking] {
        let ending = Phase::Ending { since: at(0) };
        let (_, act) = ending.step(&seen(sight), &policy(Restarting::Never), at(20));
        assert_eq!(act, Act::Kill, "{sight:?}");
    }
}

#[test]
fn the_whole_way_from_silence_to_the_end() {
    let mut watch = Watch::default();
    let policy = policy(Restarting::Automatic);
    let mut acts = Vec::new();
    for second in 0..1000 {
        match watch.observe(&seen(Sight::Hangs), &policy, at(second)) {
            Act::Nothing => {}
            act => acts.push((second, act)),
        }
    }
    let expected = [
        (0, Act::Ask),
        (30, Act::Escalate),
        (930, Act::Terminate),
        (950, Act::Kill),
        (970, Act::Kill),
        (990, Act::Kill),
    ];
    assert_eq!(acts, expected);
    let act = watch.observe(&seen(Sight::Gone), &policy, at(1000));
    let restarts = Act::Lost {
        how: Loss::Terminated,
        then: AfterLoss::Restart,
    };
    assert_eq!(act, restarts);
    // It has its time to come up, then it is gone again.
    assert_eq!(
        watch.observe(&seen(Sight::Gone), &policy, at(1059)),
        Act::Nothing
    );
    let again = Act::Lost {
        how: Loss::Crashed,
        then: AfterLoss::Restart,
    };
    assert_eq!(watch.observe(&seen(Sight::Gone), &policy, at(1060)), again);
    assert_eq!(
        watch.observe(&seen(Sight::Well), &policy, at(1070)),
        Act::Recovered
    );
}

#[test]
fn only_a_loop_that_should_work_is_started_again_and_not_too_often() {
    let then =
        |restarting, seen: Seen| match Phase::Watched.step(&seen, &policy(restarting), at(0)).1 {
            Act::Lost { then, .. } => then,
            other => panic!("{other:?}"),
        };
    let gone = seen(Sight::Gone);
    let rests = Seen {
        wish: Wish::Rest,
        ..gone
    };
    let often = Seen {
        restarts: 3,
        ..gone
    };
    let nearly = Seen {
        restarts: 2,
        ..gone
    };
    let old = Seen {
        silent: Duration::from_secs(86_401),
        ..gone
    };
    let table = [
        (Restarting::Never, gone, AfterLoss::Leave),
        (Restarting::Never, rests, AfterLoss::Rests),
        (Restarting::Automatic, gone, AfterLoss::Restart),
        (Restarting::Automatic, rests, AfterLoss::Rests),
        (Restarting::Automatic, nearly, AfterLoss::Restart),
        (Restarting::Automatic, often, AfterLoss::GiveUp),
        (Restarting::Automatic, old, AfterLoss::TooLongAgo),
    ];
    for (restarting, seen, expected) in table {
        assert_eq!(then(restarting, seen), expected, "{restarting:?} {seen:?}");
    }
}

/// A machine that slept wakes with all times over. The loop slept as well and gets its time.
#[test]
fn time_in_which_no_one_looked_counts_for_nothing() {
    let policy = MonitorPolicy {
        lost_touch: Duration::from_secs(100),
        ..policy(Restarting::Never)
    };
    let mut watch = Watch::default();
    let mut look = |sight, second| watch.observe(&seen(sight), &policy, at(second));
    assert_eq!(look(Sight::Hangs, 0), Act::Ask);
    assert_eq!(look(Sight::Hangs, 30), Act::Escalate);
    assert_eq!(look(Sight::Hangs, 5000), Act::Nothing, "slept for long");
    for second in (5050..5900).step_by(50) {
        assert_eq!(look(Sight::Hangs, second), Act::Nothing);
    }
    assert_eq!(look(Sight::Hangs, 5900), Act::Terminate);
    // A clock that is put back does not end a wait early, nor make it long.
    assert_eq!(look(Sight::Hangs, 100), Act::Nothing);
    assert_eq!(look(Sight::Hangs, 120), Act::Kill);
}

fn report() -> HealthReport {
    HealthReport {
        loop_id: "L1".into(),
        pid: 7,
        pid_started: 8,
        worktree: "/srv/shop".into(),
        written_at: at(0),
        doing: "agent".into(),
        quiet_until: None,
        iteration: Some(3),
        task_id: Some("A".into()),
        agent: Some("claude".into()),
        state: HealthState::Healthy,
        since: at(0),
        last_heartbeat: None,
        last_progress: None,
        errors: 0,
        steps: 0,
        repeats: 0,
        nudges: 0,
        intervention: None,
        answer_until: None,
        breaker: BreakerState::Closed,
    }
}

#[test]
fn a_process_hangs_when_it_has_been_silent_for_too_long_and_may_not_be() {
    let minute = Duration::from_secs(60);
    let quiet = HealthReport {
        quiet_until: Some(at(300)),
        ..report()
    };
    let table = [
        (Some(report()), 60, ProcessState::Alive),
        (Some(report()), 61, ProcessState::Hangs),
        (Some(report()), -500, ProcessState::Alive),
        (Some(quiet.clone()), 300, ProcessState::Alive),
        (Some(quiet), 301, ProcessState::Hangs),
        (None, 9999, ProcessState::Alive),
    ];
    for (report, second, expected) in table {
        let got = process_state(report.as_ref(), minute, at(second));
        assert_eq!(got, expected, "{second}");
    }
}

#[test]
fn a_loop_asks_only_while_its_process_works() {
    let asks = HealthReport {
        answer_until: Some(at(900)),
        ..report()
    };
    let table = [
        (ProcessState::Alive, &report(), Sight::Well),
        (ProcessState::Alive, &asks, Sight::Asking),
        (ProcessState::Hangs, &asks, Sight::Hangs),
        (ProcessState::Gone, &asks, Sight::Gone),
    ];
    for (process, report, expected) in table {
        assert_eq!(sight(process, Some(report)), expected);
    }
    assert_eq!(sight(ProcessState::Gone, None), Sight::Gone);
}
