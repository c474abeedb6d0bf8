//! Tests of the machine: every state with every sign, the ladder with its times and texts, and what
//! holds whatever comes.

use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::agent::{CallResult, Ending, Mark, NudgeState, ToolCall, ToolKind, mark};
use crate::config::HealthConfig;

mod properties;
mod report;

/// So many minutes after the agent's start.
fn at(minutes: i64) -> Timestamp {
    let start: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
    start + SignedDuration::from_mins(minutes)
}

fn call(name: &str, target: &str, result: CallResult) -> Sign {
    Sign::Called(ToolCall {
        what: mark(&[name, target]),
        kind: match name {
            "Bash" => ToolKind::Command,
            _ => ToolKind::Other,
        },
        result,
        answer: Mark::EMPTY,
    })
}

/// Observes a sign in a tree that is looked at and has not changed.
fn observe(health: &mut Health, sign: &Sign, now: Timestamp) -> Vec<Reaction> {
    let mut reactions = health.observe(sign, now);
    if let Some(at) = reactions.iter().position(|r| *r == Reaction::Look) {
        let _ = reactions.remove(at);
        reactions.extend(health.observe(&Sign::Unchanged, now));
    }
    reactions
}

fn read(target: &str) -> Sign {
    call("Read", target, CallResult::Ok)
}

fn fails(target: &str) -> Sign {
    call("Bash", target, CallResult::Failed)
}

fn crashed() -> Sign {
    Sign::Ended(Ending::NoResult {
        message: "it ended without a result (exit code 3)".into(),
    })
}

fn passes(target: &str) -> Sign {
    call("Bash", target, CallResult::Ok)
}

/// Where it stands after a sign, and what it asked for.
fn outcome(health: &Health, reactions: &[Reaction]) -> String {
    let mut text = health.state().as_str().to_owned();
    for reaction in reactions {
        match reaction {
            Reaction::Changed { state, .. } => assert_eq!(*state, health.state()),
            Reaction::Nudge { nth, .. } => text.push_str(&format!(" nudge{nth}")),
            Reaction::Escalate { .. } => text.push_str(" escalate"),
            Reaction::Handoff => text.push_str(" handover"),
            Reaction::Look => text.push_str(" look"),
            Reaction::Terminate { .. } => text.push_str(" terminate"),
        }
    }
    text
}

/// Feeds signs, each at its minute, and drops what it says.
fn after(signs: impl IntoIterator<Item = (Sign, i64)>) -> Health {
    let mut health = Health::new(HealthConfig::default(), at(0));
    for (sign, minute) in signs {
        let _ = observe(&mut health, &sign, at(minute));
    }
    health
}

fn ticks(minutes: &[i64]) -> Vec<(Sign, i64)> {
    minutes.iter().map(|m| (Sign::Tick, *m)).collect()
}

/// Each state that it can be in, and the minute at which it is.
fn stations() -> [(&'static str, Health, i64); 7] {
    let failing = (0..20).map(|n| (fails(&format!("try {n}")), 1));
    let degraded = (0..5).map(|_| (read("same"), 1));
    [
        ("healthy", after([]), 1),
        ("degraded", after(degraded), 1),
        ("stuck", after(ticks(&[30])), 30),
        ("nudged", after(ticks(&[30, 40, 50])), 50),
        ("asked", after(ticks(&[30, 40, 50, 60])), 60),
        ("failing", after(failing), 1),
        (
            "terminated",
            after([(Sign::Chosen(Choice::Terminate), 1)]),
            1,
        ),
    ]
}

#[test]
#[rustfmt::skip]
fn every_state_meets_every_sign() {
    // Each row: the sign, how many minutes later it comes, and what becomes of each station.
    type Row = (Sign, i64, [&'static str; 7]);
    const END: &str = "terminated terminate";
    let table: [Row; 21] = [
        // sign, minutes later,            healthy, degraded, stuck, nudged, asked, failing, terminated
        (Sign::Heartbeat, 0,               ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Progress, 0,                ["healthy", "healthy", "healthy", "healthy", "healthy", "healthy", "terminated"]),
        (passes("make test"), 0,           ["healthy", "healthy", "healthy", "healthy", "healthy", "healthy", "terminated"]),
        (read("other"), 0,                 ["healthy", "degraded", "stuck", "stuck", "stuck", "stuck", "terminated"]),
        (fails("other"), 0,                ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (read("same"), 0,                  ["healthy", "degraded", "stuck", "stuck", "stuck", "stuck", "terminated"]),
        (Sign::Nudged(NudgeState::Sent), 0,       ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Nudged(NudgeState::Delivered), 0,  ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Nudged(NudgeState::Impossible), 0, ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Chosen(Choice::MoreTime), 0,  ["degraded", "degraded", "degraded", "degraded", "degraded", "degraded", "terminated"]),
        (Sign::Chosen(Choice::Handoff), 0,   ["degraded handover", "degraded handover", "degraded handover", "degraded handover", "degraded handover", "degraded handover", "terminated"]),
        (Sign::Chosen(Choice::Terminate), 0, [END, END, END, END, END, END, "terminated"]),
        (Sign::Tick, 0,                    ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Tick, 10,                   ["healthy", "degraded", "stuck nudge2", "stuck escalate", "stuck", "failing nudge2", "terminated"]),
        (Sign::Tick, 15,                   ["healthy", "degraded", "stuck nudge2", "stuck escalate", END, "failing nudge2", "terminated"]),
        (Sign::Tick, 29,                   ["stuck nudge1", "stuck nudge1", "stuck nudge2", "stuck escalate", END, "failing nudge2", "terminated"]),
        (Sign::Silent, 0,                  ["degraded", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Unchanged, 0,               ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (Sign::Ended(Ending::Finished), 90, ["healthy", "degraded", "stuck", "stuck", "stuck", "failing", "terminated"]),
        (crashed(), 90,                    ["failing", "failing", "failing", "failing", "failing", "failing", "terminated"]),
        (Sign::Ended(Ending::Silent { minutes: 15 }), 90, ["stuck", "stuck", "stuck", "stuck", "stuck", "failing", "terminated"]),
    ];
    for (sign, later, expected) in table {
        for ((name, mut health, minute), expected) in stations().into_iter().zip(expected) {
            let reactions = observe(&mut health, &sign, at(minute + later));
            assert_eq!(outcome(&health, &reactions), expected, "{name}, {sign:?}, {later} min later");
        }
    }
}

#[test]
fn a_run_that_is_over_is_left_alone() {
    for (name, mut health, minute) in stations() {
        let state = health.state();
        let _ = health.observe(&Sign::Ended(Ending::Finished), at(minute));
        for sign in [Sign::Tick, Sign::Progress, Sign::Chosen(Choice::Terminate)] {
            assert_eq!(health.observe(&sign, at(minute + 600)), [], "{name}");
        }
        assert_eq!((health.state(), health.wakes_at()), (state, None), "{name}");
    }
}

#[test]
fn the_ladder_goes_up_at_its_times_with_the_words_that_users_know() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let mut said = Vec::new();
    for minute in 0..=90 {
        // That it lives changes nothing.
        for sign in [Sign::Heartbeat, Sign::Tick] {
            let reactions = health.observe(&sign, at(minute));
            said.extend(reactions.into_iter().map(|reaction| (minute, reaction)));
        }
    }
    let nudge = |nth, spell: &str, until| Reaction::Nudge {
        nth,
        text: format!(
            "REMINDER: You have been working for {spell} without checkpoint update. Please either \
             update progress, request handoff, or report blockers."
        ),
        sentence: format!("no progress for {spell}: it is reminded ({nth} of 3)"),
        until: at(until),
    };
    let changed = |before, state, sentence: &str| Reaction::Changed {
        before,
        state,
        sentence: sentence.into(),
    };
    let end = "no progress for 1 hour 15 minutes, 3 reminders, and no answer";
    let expected = vec![
        (
            30,
            changed(
                HealthState::Healthy,
                HealthState::Stuck,
                "no progress for 30 minutes",
            ),
        ),
        (30, nudge(1, "30 minutes", 40)),
        (40, nudge(2, "40 minutes", 50)),
        (50, nudge(3, "50 minutes", 60)),
        (
            60,
            Reaction::Escalate {
                sentence: "no progress for 1 hour, 3 reminders: without an answer it is ended in 15 \
                           minutes"
                    .into(),
                hint: "`ralph intervene more-time` lets it go on, `ralph intervene handoff` has a fresh \
                       agent go on, `ralph intervene terminate` ends it now"
                    .into(),
                until: at(75),
            },
        ),
        (
            75,
            changed(HealthState::Stuck, HealthState::Terminated, end),
        ),
        (75, Reaction::Terminate { reason: end.into() }),
    ];
    assert_eq!(said, expected);
}

#[test]
fn an_agent_that_cannot_be_told_anything_climbs_at_the_same_times() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let mut acts = Vec::new();
    for minute in 0..=90 {
        for reaction in health.observe(&Sign::Tick, at(minute)) {
            match reaction {
                Reaction::Nudge { .. } => {
                    let _ = health.observe(&Sign::Nudged(NudgeState::Impossible), at(minute));
                    acts.push((minute, "nudge".to_owned()));
                }
                Reaction::Escalate { .. } => acts.push((minute, "escalate".to_owned())),
                Reaction::Terminate { reason } => acts.push((minute, reason)),
                Reaction::Changed { .. } | Reaction::Handoff | Reaction::Look => {}
            }
        }
    }
    let reason = "no progress for 1 hour 15 minutes, and it can't be told anything while it runs, and no \
                  answer";
    let expected = [
        (30, "nudge"),
        (40, "nudge"),
        (50, "nudge"),
        (60, "escalate"),
        (75, reason),
    ];
    assert_eq!(acts, expected.map(|(m, what)| (m, what.to_owned())));
}

#[test]
fn it_asks_to_be_woken_when_the_next_thing_is_due() {
    let table: [(&[i64], i64); 5] = [
        (&[], 30),
        (&[29], 30),
        (&[30], 40),
        (&[30, 40, 50], 60),
        (&[30, 40, 50, 60], 75),
    ];
    for (minutes, wakes) in table {
        assert_eq!(
            after(ticks(minutes)).wakes_at(),
            Some(at(wakes)),
            "{minutes:?}"
        );
    }
    assert_eq!(after([(Sign::Progress, 7)]).wakes_at(), Some(at(37)));
}

#[test]
fn after_a_long_sleep_of_the_machine_it_begins_with_a_reminder() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let reactions = health.observe(&Sign::Tick, at(600));
    assert_eq!(outcome(&health, &reactions), "stuck nudge1");
    let reactions = health.observe(&Sign::Tick, at(601));
    assert_eq!(outcome(&health, &reactions), "stuck");
}

#[test]
fn the_same_command_again_is_no_progress_and_a_new_one_is() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let ls = passes("ls");
    for minute in 0..4 {
        let _ = health.observe(&ls, at(minute));
    }
    assert_eq!(health.last_progress(), Some(at(0)), "the first one only");
    assert_eq!(health.repeats(), 3);
    let _ = health.observe(&passes("ls src"), at(5));
    assert_eq!((health.last_progress(), health.repeats()), (Some(at(5)), 0));
    let _ = health.observe(&ls, at(6));
    assert_eq!(
        health.last_progress(),
        Some(at(5)),
        "it passed before in this run"
    );
    let _ = health.observe(&fails("make"), at(7));
    let _ = health.observe(&read("a"), at(8));
    assert_eq!(
        health.last_progress(),
        Some(at(5)),
        "failing and reading are none"
    );
}

#[test]
fn repetition_and_errors_have_their_thresholds() {
    let states = |signs: Vec<Sign>| {
        let mut health = Health::new(HealthConfig::default(), at(0));
        let mut states = Vec::new();
        for (nth, sign) in (1..).zip(signs) {
            let before = health.state();
            let _ = observe(&mut health, &sign, at(1));
            if health.state() != before {
                states.push((nth, health.state()));
            }
        }
        states
    };
    let (degraded, stuck, failing) = (
        HealthState::Degraded,
        HealthState::Stuck,
        HealthState::Failing,
    );
    assert_eq!(states(vec![read("a"); 12]), [(5, degraded), (10, stuck)]);
    // The same in turns is the same again and again, too.
    let turns: Vec<Sign> = (0..24).map(|n| read(["a", "b"][n % 2])).collect();
    assert_eq!(states(turns), [(9, degraded), (19, stuck)]);
    // Another result is another call.
    let mixed = (0..8).map(|n| {
        let result = [CallResult::Ok, CallResult::Failed][n % 2];
        call("Read", "a", result)
    });
    assert_eq!(states(mixed.collect()), []);
    let errors: Vec<Sign> = (0..20).map(|n| fails(&n.to_string())).collect();
    assert_eq!(states(errors), [(10, degraded), (20, failing)]);
    // Nine steps are too few, and four of ten too few errors.
    let some = |failing: usize, all: usize| {
        let of = |n: usize| n.to_string();
        let signs = (0..all).map(|n| {
            if n < failing {
                fails(&of(n))
            } else {
                read(&of(n))
            }
        });
        states(signs.collect())
    };
    assert_eq!(some(9, 9), []);
    assert_eq!(some(4, 10), []);
    assert_eq!(some(5, 10), [(10, degraded)]);
}

#[test]
fn the_same_call_again_is_held_against_it_only_when_the_tree_was_looked_at() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    for _ in 0..3 {
        assert_eq!(health.observe(&read("a"), at(1)), []);
    }
    // Until it is looked at, each one asks for it.
    for _ in 0..9 {
        assert_eq!(health.observe(&read("a"), at(1)), [Reaction::Look]);
        assert_eq!(health.state(), HealthState::Healthy);
    }
    let reactions = health.observe(&Sign::Unchanged, at(1));
    assert_eq!(outcome(&health, &reactions), "stuck nudge1");
    let sentence = |reactions: &[Reaction]| match &reactions[0] {
        Reaction::Changed { sentence, .. } => sentence.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        sentence(&reactions),
        "the same tool call 12 times, and nothing comes of it"
    );
}

#[test]
fn twelve_real_edits_of_one_file_in_a_row_are_work() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    for _ in 0..12 {
        for reaction in health.observe(&call("Edit", "src/lib.rs", CallResult::Ok), at(1)) {
            // The tree has changed with it.
            assert_eq!(reaction, Reaction::Look);
            assert_eq!(health.observe(&Sign::Progress, at(1)), []);
        }
        assert_eq!(health.state(), HealthState::Healthy);
    }
}

#[test]
fn a_call_that_answers_something_else_is_another_call() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let poll = |answer: String| {
        Sign::Called(ToolCall {
            what: mark(&["Read", "log"]),
            kind: ToolKind::Other,
            result: CallResult::Ok,
            answer: Mark::EMPTY.with(answer.as_bytes()),
        })
    };
    for n in 0..12 {
        let reactions = observe(&mut health, &poll(format!("line {n}")), at(1));
        assert_eq!(reactions, [], "call {n}");
    }
    assert_eq!(
        (health.state(), health.repeats()),
        (HealthState::Healthy, 1)
    );
}

#[test]
fn an_agent_that_crashed_or_fell_silent_was_not_healthy() {
    let end = |ending: Ending| {
        let mut health = Health::new(HealthConfig::default(), at(0));
        let _ = health.observe(&Sign::Heartbeat, at(5));
        let reactions = health.observe(&Sign::Ended(ending), at(20));
        reactions
            .into_iter()
            .map(|reaction| match reaction {
                Reaction::Changed {
                    state, sentence, ..
                } => format!("{state}: {sentence}"),
                other => panic!("{other:?}"),
            })
            .collect::<Vec<String>>()
    };
    let message = "killed by signal 11".to_owned();
    assert_eq!(
        end(Ending::NoResult { message }),
        ["failing: its run failed"]
    );
    assert_eq!(
        end(Ending::Silent { minutes: 15 }),
        ["stuck: it said nothing for 15 minutes"]
    );
    assert_eq!(end(Ending::Finished), [""; 0]);
    assert_eq!(end(Ending::Limit { resets_at: None }), [""; 0]);
}

#[test]
fn a_silent_agent_is_degraded_until_it_says_something() {
    let mut health = Health::new(HealthConfig::default(), at(0));
    let _ = health.observe(&Sign::Heartbeat, at(2));
    let reactions = health.observe(&Sign::Silent, at(10));
    let changed = |before, state, sentence: &str| Reaction::Changed {
        before,
        state,
        sentence: sentence.into(),
    };
    let (healthy, degraded) = (HealthState::Healthy, HealthState::Degraded);
    assert_eq!(
        reactions,
        [changed(
            healthy,
            degraded,
            "it has said nothing for 8 minutes"
        )]
    );
    let reactions = health.observe(&Sign::Heartbeat, at(11));
    assert_eq!(reactions, [changed(degraded, healthy, "it gets on")]);
}

#[test]
fn more_time_is_another_period_and_the_reminder_tells_the_whole_time() {
    let mut health = after(ticks(&[30, 40, 50, 60]));
    assert_eq!(health.answer_until(), Some(at(75)));
    let reactions = health.observe(&Sign::Chosen(Choice::MoreTime), at(70));
    assert_eq!(outcome(&health, &reactions), "degraded");
    assert_eq!((health.answer_until(), health.nudges()), (None, 0));
    assert_eq!(health.observe(&Sign::Tick, at(99)), []);
    let reactions = health.observe(&Sign::Tick, at(100));
    assert_eq!(outcome(&health, &reactions), "stuck nudge1");
    assert!(
        matches!(&reactions[1], Reaction::Nudge { text, .. } if text.contains("for 1 hour 40 minutes "))
    );
}

#[test]
fn where_health_is_off_nothing_is_done_but_what_a_person_wants() {
    let policy = HealthConfig {
        enabled: false,
        ..HealthConfig::default()
    };
    let mut health = Health::new(policy, at(0));
    for minute in 0..200 {
        assert_eq!(health.observe(&fails("x"), at(minute)), []);
    }
    assert_eq!(
        (health.state(), health.wakes_at()),
        (HealthState::Healthy, None)
    );
    let reactions = health.observe(&Sign::Chosen(Choice::Terminate), at(200));
    assert_eq!(outcome(&health, &reactions), "terminated terminate");
}
