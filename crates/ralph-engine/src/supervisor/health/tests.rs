//! When the watcher looks at the tree, and what it makes of the machine's reactions.

use std::num::NonZeroU32;

use ralph_core::agent::{Beat, CallResult, Mark, ToolCall, ToolKind};

use super::*;

const QUIET: u64 = 30 * 60;

fn watcher() -> HealthWatcher {
    let run = WatchedRun {
        iteration: 7,
        task: "US-001".into(),
        agent: "fake".into(),
    };
    let policy = HealthConfig {
        failing_steps: NonZeroU32::new(10).unwrap(),
        ..HealthConfig::default()
    };
    let quiet = QuietLimits {
        idle: Duration::from_secs(10 * 3600),
        idle_with_tool: Duration::from_secs(20 * 3600),
    };
    let now = "2026-11-15T12:00:00Z".parse().unwrap();
    HealthWatcher::new(policy, run, quiet, None, now)
}

/// So many seconds into the run, with no tool under way.
fn at(seconds: u64) -> RunMoment {
    RunMoment {
        elapsed: Duration::from_secs(seconds),
        ..RunMoment::default()
    }
}

fn with_tool(seconds: u64) -> RunMoment {
    RunMoment {
        tools: 1,
        tools_this_turn: 1,
        ..at(seconds)
    }
}

const SOMETHING: Observation = Observation {
    beat: Beat::Other,
    ended_call: None,
};

fn wakes(watcher: &HealthWatcher, now: RunMoment) -> Option<u64> {
    watcher.wakes_at(now).map(|time| time.as_secs())
}

fn looks(steps: &[WatcherStep]) -> bool {
    steps == [WatcherStep::Look]
}

#[test]
fn the_tree_is_not_looked_at_while_nothing_happens() {
    let mut watcher = watcher();
    assert_eq!(wakes(&watcher, at(0)), Some(QUIET));
    let _ = watcher.observe(&SOMETHING, at(10));
    assert_eq!(wakes(&watcher, at(10)), Some(60), "at most once a minute");
    assert!(looks(&watcher.wake(at(60))));
    let _ = watcher.saw(Some(1), at(60));
    assert_eq!(wakes(&watcher, at(60)), Some(QUIET), "nothing since");
    let _ = watcher.observe(&SOMETHING, with_tool(70));
    assert!(looks(&watcher.wake(with_tool(120))));
    let _ = watcher.saw(Some(1), with_tool(120));
    let next = wakes(&watcher, with_tool(120));
    assert_eq!(next, Some(180), "its tool still runs");
}

#[test]
fn a_tree_that_changed_is_progress_and_one_that_cannot_be_seen_is_nothing() {
    let mut watcher = watcher();
    let _ = watcher.observe(&SOMETHING, at(10));
    for (second, tree) in [(60, Some(1)), (120, None), (180, Some(1))] {
        let _ = watcher.saw(tree, at(second));
        assert_eq!(watcher.health.last_progress(), None);
    }
    let _ = watcher.saw(Some(2), at(240));
    let progress = watcher.health.last_progress();
    assert_eq!(progress, Some("2026-11-15T12:04:00Z".parse().unwrap()));
}

#[test]
fn no_agent_is_called_stuck_before_a_last_look() {
    let mut watcher = watcher();
    let _ = watcher.observe(&SOMETHING, at(QUIET - 20));
    let _ = watcher.wake(at(QUIET - 10));
    let _ = watcher.saw(Some(1), at(QUIET - 10));
    let _ = watcher.observe(&SOMETHING, at(QUIET - 5));
    assert!(looks(&watcher.wake(at(QUIET))));
    let _ = watcher.saw(Some(2), at(QUIET));
    assert_eq!(watcher.health.state(), HealthState::Healthy);

    let steps = watcher.wake(at(2 * QUIET));
    let told: Vec<&str> = steps
        .iter()
        .map(|step| match step {
            WatcherStep::Tell(event) => match &**event {
                Event::Health { state, .. } => state.as_str(),
                Event::Intervention { level, .. } => level.as_str(),
                _ => "?",
            },
            WatcherStep::Nudge(text) => text,
            WatcherStep::Cut(_)
            | WatcherStep::Look
            | WatcherStep::Spent(_)
            | WatcherStep::Writes(_) => "?",
        })
        .collect();
    let reminder = "REMINDER: You have been working for 30 minutes without checkpoint update. Please \
                    either update progress, request handoff, or report blockers.";
    assert_eq!(told, ["stuck", "nudge", reminder]);
}

fn edit(nth: u64) -> Observation {
    Observation {
        beat: Beat::Other,
        ended_call: Some(ToolCall {
            what: nth,
            kind: ToolKind::Other,
            result: CallResult::Ok,
            answer: Mark::EMPTY,
        }),
    }
}

/// The states that an agent comes to with twelve calls, after each of which the tree is like this.
fn states_of_calls(tree: impl Fn(u64) -> Option<u64>) -> Vec<HealthState> {
    let mut watcher = watcher();
    let mut states = vec![HealthState::Healthy];
    for n in 1..=12 {
        let asked = watcher.observe(&edit(1), at(n));
        if asked.contains(&WatcherStep::Look) {
            let _ = watcher.saw(tree(n), at(n));
        }
        states.push(watcher.health.state());
    }
    states.dedup();
    states
}

#[test]
fn twelve_real_edits_in_a_row_are_healthy_and_twelve_calls_that_change_nothing_are_not() {
    use HealthState::{Degraded, Healthy, Stuck};
    assert_eq!(states_of_calls(Some), [Healthy]);
    assert_eq!(states_of_calls(|_| Some(7)), [Healthy, Degraded, Stuck]);
    let unseen = states_of_calls(|_| None);
    assert_eq!(unseen, [Healthy, Degraded, Stuck], "no tree to look at");
}

#[test]
fn half_of_the_silence_that_ends_a_run_is_a_sign_of_trouble() {
    let mut watcher = watcher();
    watcher.silence.limits.idle = Duration::from_secs(600);
    let _ = watcher.observe(&SOMETHING, with_tool(10));
    let _ = watcher.saw(Some(1), at(20));
    watcher.looks.active = false;
    assert_eq!(wakes(&watcher, at(20)), Some(310));
    let _ = watcher.wake(at(310));
    assert_eq!(watcher.health.state(), HealthState::Degraded);
    assert_eq!(wakes(&watcher, at(310)), Some(QUIET), "it is noticed once");
    let _ = watcher.observe(&SOMETHING, at(400));
    assert_eq!(watcher.health.state(), HealthState::Healthy);
}

#[test]
fn a_run_that_crashed_is_told_of_as_failing() {
    let message = "it ended without a result (exit code 3)".to_owned();
    let over = watcher().ended(&Ending::NoResult { message }, Duration::from_secs(9));
    assert_eq!(over.state, HealthState::Failing);
    let [
        Event::Health {
            state, sentence, ..
        },
    ] = &over.told[..]
    else {
        panic!("{:?}", over.told);
    };
    assert_eq!(
        (*state, sentence.as_str()),
        (HealthState::Failing, "its run failed")
    );
    let over = watcher().ended(&Ending::Finished, Duration::from_secs(9));
    assert_eq!((over.state, over.told), (HealthState::Healthy, Vec::new()));
}

#[test]
fn a_persons_choice_is_answered_and_handing_over_is_left_to_others() {
    let mut watcher = watcher();
    let followed = watcher.chosen(Choice::MoreTime, at(60)).expect("followed");
    assert_eq!(
        followed.sentence,
        "the agent of iteration 7 at US-001 gets another 30 minutes without progress"
    );
    assert!(watcher.chosen(Choice::Handoff, at(70)).is_none());
    let followed = watcher.chosen(Choice::Terminate, at(80)).expect("followed");
    let reason = "a person ended it".to_owned();
    assert_eq!(
        followed.steps.last(),
        Some(&WatcherStep::Cut(Ending::Terminated { reason }))
    );
    assert_eq!(watcher.health.state(), HealthState::Terminated);
    assert_eq!(wakes(&watcher, at(80)), None);
}
