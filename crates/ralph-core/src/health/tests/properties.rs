//! Tests what holds whatever comes, in whatever order and at whatever time.

use proptest::prelude::*;

use super::*;

fn sign() -> impl Strategy<Value = Sign> {
    prop_oneof![
        Just(Sign::Heartbeat),
        Just(Sign::Progress),
        Just(Sign::Unchanged),
        Just(Sign::Tick),
        Just(Sign::Tick),
        Just(Sign::Tick),
        Just(Sign::Nudged(NudgeState::Sent)),
        Just(Sign::Nudged(NudgeState::Impossible)),
        Just(Sign::Chosen(Choice::MoreTime)),
        (0..3u8).prop_map(|n| read(&n.to_string())),
        (0..30u8).prop_map(|n| fails(&n.to_string())),
        (0..3u8).prop_map(|n| passes(&n.to_string())),
    ]
}

/// Signs with the minutes before each.
fn stories() -> impl Strategy<Value = Vec<(Sign, i64)>> {
    prop::collection::vec((sign(), 0..20i64), 0..120)
}

proptest! {
    #[test]
    fn reminders_keep_their_distance_and_an_end_comes_only_after_a_question(story in stories()) {
        let mut health = Health::new(HealthConfig::default(), at(0));
        let (mut minute, mut nudged, mut asked) = (0, None::<i64>, None::<i64>);
        for (sign, later) in story {
            minute += later;
            for reaction in health.observe(&sign, at(minute)) {
                match reaction {
                    Reaction::Nudge { nth, .. } => {
                        prop_assert!((1..=3).contains(&nth));
                        if nth > 1 {
                            prop_assert!(nudged.is_some_and(|last| minute - last >= 10));
                        }
                        nudged = Some(minute);
                        asked = None;
                    }
                    Reaction::Escalate { .. } => {
                        prop_assert!(nudged.is_some_and(|last| minute - last >= 10));
                        asked = Some(minute);
                    }
                    Reaction::Terminate { .. } => {
                        prop_assert!(asked.is_some_and(|since| minute - since >= 15));
                    }
                    Reaction::Changed { before, state, .. } => prop_assert_ne!(before, state),
                    Reaction::Look => {}
                    Reaction::Handoff => prop_assert!(false, "no one chose that"),
                }
            }
        }
    }

    #[test]
    fn progress_makes_it_healthy_unless_it_was_ended(story in stories()) {
        let mut health = Health::new(HealthConfig::default(), at(0));
        let mut minute = 0;
        for (sign, later) in story {
            minute += later;
            let _ = health.observe(&sign, at(minute));
        }
        let ended = health.state() == HealthState::Terminated;
        let _ = health.observe(&Sign::Progress, at(minute));
        let expected = if ended { HealthState::Terminated } else { HealthState::Healthy };
        prop_assert_eq!(health.state(), expected);
        if !ended {
            prop_assert_eq!((health.nudges(), health.repeats(), health.errors()), (0, 0, 0));
        }
    }

    #[test]
    fn asked_only_when_it_wants_to_be_it_does_the_same(story in stories()) {
        // The engine sleeps until `wakes_at`: nothing may be due before.
        let mut health = Health::new(HealthConfig::default(), at(0));
        let mut minute = 0;
        for (sign, later) in story {
            for between in minute..minute + later {
                if health.wakes_at().is_none_or(|wakes| wakes > at(between)) {
                    prop_assert_eq!(health.clone().observe(&Sign::Tick, at(between)), vec![]);
                }
            }
            minute += later;
            let _ = health.observe(&sign, at(minute));
        }
    }
}
