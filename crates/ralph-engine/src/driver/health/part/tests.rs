//! Tests of the part that minds health: when it looks at the tree, and what it makes of the machine.

use ralph_core::{agent::ToolKind, config::Config};

use super::*;
use crate::driver::policies;

fn part() -> HealthPart {
    let about = About {
        iteration: 7,
        task: "US-001".into(),
        agent: "fake".into(),
    };
    let policy = policies::health(&Config::default());
    HealthPart::new(policy, about, None, "2026-11-15T12:00:00Z".parse().unwrap())
}

/// So many seconds into the run.
fn at(seconds: u64) -> Now {
    Now {
        run: Duration::from_secs(seconds),
    }
}

fn tool(id: u64) -> Beat {
    Beat::Tool {
        id,
        call: id,
        kind: ToolKind::Command,
    }
}

fn seconds(time: Option<Duration>) -> Option<u64> {
    time.map(|time| time.as_secs())
}

fn looks(steps: &[Step]) -> bool {
    steps == [Step::Look]
}

const QUIET: u64 = 30 * 60;

#[test]
fn the_tree_is_not_looked_at_while_nothing_happens() {
    let mut part = part();
    assert_eq!(seconds(part.wakes_at()), Some(QUIET));
    let _ = part.hear(Beat::Other, at(10));
    assert_eq!(seconds(part.wakes_at()), Some(60), "at most once a minute");
    assert!(looks(&part.wake(at(60))));
    let _ = part.saw(&Sight { tree: Some(1) }, at(60));
    assert_eq!(seconds(part.wakes_at()), Some(QUIET), "nothing since");
    let _ = part.hear(tool(1), at(70));
    assert!(looks(&part.wake(at(120))));
    let _ = part.saw(&Sight { tree: Some(1) }, at(120));
    assert_eq!(seconds(part.wakes_at()), Some(180), "its tool still runs");
}

#[test]
fn a_tree_that_changed_is_progress_and_one_that_cannot_be_seen_is_nothing() {
    let mut part = part();
    let _ = part.hear(Beat::Other, at(10));
    for (second, tree) in [(60, Some(1)), (120, None), (180, Some(1))] {
        let _ = part.saw(&Sight { tree }, at(second));
        assert_eq!(part.health.last_progress(), None);
    }
    let _ = part.saw(&Sight { tree: Some(2) }, at(240));
    let progress = part.health.last_progress();
    assert_eq!(progress, Some("2026-11-15T12:04:00Z".parse().unwrap()));
}

#[test]
fn nobody_is_called_stuck_before_a_last_look() {
    let mut part = part();
    let _ = part.hear(Beat::Other, at(QUIET - 20));
    let _ = part.wake(at(QUIET - 10));
    let _ = part.saw(&Sight { tree: Some(1) }, at(QUIET - 10));
    let _ = part.hear(Beat::Other, at(QUIET - 5));
    assert!(looks(&part.wake(at(QUIET))));
    let _ = part.saw(&Sight { tree: Some(2) }, at(QUIET));
    assert_eq!(part.health.state(), HealthState::Healthy);

    let steps = part.wake(at(2 * QUIET));
    let told: Vec<&str> = steps
        .iter()
        .map(|step| match step {
            Step::Tell(event) => match &**event {
                Event::Health { state, .. } => state.as_str(),
                Event::Intervention { level, .. } => level.as_str(),
                _ => "?",
            },
            Step::Nudge(text) => text,
            Step::Cut(_) | Step::Look => "?",
        })
        .collect();
    let reminder = "REMINDER: You have been working for 30 minutes without checkpoint update. Please \
                    either update progress, request handoff, or report blockers.";
    assert_eq!(told, ["stuck", "nudge", reminder]);
}

#[test]
fn a_persons_choice_is_answered_and_handing_over_is_left_to_others() {
    let mut part = part();
    let heeded = part.told(Choice::MoreTime, at(60)).expect("its to follow");
    assert_eq!(
        heeded.sentence,
        "the agent of iteration 7 at US-001 gets another 30 minutes without progress"
    );
    assert!(part.told(Choice::Handoff, at(70)).is_none());
    let heeded = part.told(Choice::Terminate, at(80)).expect("its to follow");
    let reason = "a person ended it".to_owned();
    assert_eq!(
        heeded.steps.last(),
        Some(&Step::Cut(Ending::Terminated { reason }))
    );
    assert_eq!(part.health.state(), HealthState::Terminated);
    assert_eq!(part.wakes_at(), None);
}
