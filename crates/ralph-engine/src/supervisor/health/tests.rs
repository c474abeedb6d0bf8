//! When the watcher looks at the tree, and what it makes of the machine's reactions.

use std::num::NonZeroU32;

use ralph_core::agent::Beat;

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
    HealthWatcher::new(policy, run, None, "2026-11-15T12:00:00Z".parse().unwrap())
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
            WatcherStep::Cut(_) | WatcherStep::Look | WatcherStep::Spent(_) => "?",
        })
        .collect();
    let reminder = "REMINDER: You have been working for 30 minutes without checkpoint update. Please \
                    either update progress, request handoff, or report blockers.";
    assert_eq!(told, ["stuck", "nudge", reminder]);
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
