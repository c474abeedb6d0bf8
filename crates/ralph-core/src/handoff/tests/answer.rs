//! Tests what an agent makes of the request to wrap up, and when it has had its turn.

use super::*;

/// A watch that has asked, with a tool running.
fn asked() -> WatchedRun {
    let mut watch = watch();
    let asked = asked_at_last(&mut watch, &[turn(150_000, Some(200_000)), tool(1)]);
    assert!(asked.is_some());
    watch
}

const CUT: Option<HandoffStep> = Some(HandoffStep::Cut {
    trigger: HandoffTrigger::ContextThreshold,
});

#[test]
fn the_turn_after_the_request_is_the_answer_and_nothing_follows_it() {
    for goes_on in [tool(2), turn(151_000, Some(200_000))] {
        let mut watch = asked();
        assert_eq!(watch.nudged(NudgeState::Sent), None);
        assert_eq!(watch.observe(done(1, true), EARLY), None);
        assert_eq!(watch.nudged(NudgeState::Delivered), None);
        let answer = [
            turn(150_500, Some(200_000)),
            Beat::Text { mark: 1 },
            cost(0.1),
        ];
        assert!(said(&mut watch, &answer).iter().all(Option::is_none));
        assert_eq!(watch.observe(goes_on, EARLY), CUT);
        // Once.
        assert_eq!(watch.observe(tool(3), EARLY), None);
        assert_eq!(watch.nudged(NudgeState::Delivered), None);
        assert_eq!(watch.wake(Duration::from_secs(89 * 60)), None);
        assert_eq!(watch.request(), None);
    }
}

#[test]
fn an_agent_that_answers_and_ends_is_left_alone() {
    let mut watch = asked();
    watch.nudged(NudgeState::Sent);
    watch.nudged(NudgeState::Delivered);
    let beats = [
        turn(150_500, Some(200_000)),
        Beat::Text { mark: 1 },
        Beat::Ended,
    ];
    assert!(said(&mut watch, &beats).iter().all(Option::is_none));
    let why = watch.asked().map(|why| why.trigger);
    assert_eq!(why, Some(HandoffTrigger::ContextThreshold));
}

#[test]
fn a_turn_that_did_not_know_of_the_request_is_not_the_answer() {
    // The request was written while the model was asked already.
    let mut watch = asked();
    watch.nudged(NudgeState::Sent);
    let beats = [done(1, true), small_turn(), tool(2), done(2, true)];
    assert!(said(&mut watch, &beats).iter().all(Option::is_none));
    watch.nudged(NudgeState::Delivered);
    assert_eq!(watch.observe(small_turn(), EARLY), None);
    assert_eq!(watch.observe(tool(3), EARLY), CUT);

    // One that never says that it read it: the second turn is taken for the answer.
    let mut silent = asked();
    silent.nudged(NudgeState::Sent);
    assert!(said(&mut silent, &beats).iter().all(Option::is_none));
    assert_eq!(silent.observe(small_turn(), EARLY), None);
    assert_eq!(silent.observe(tool(3), EARLY), CUT);
}

#[test]
fn an_agent_that_can_t_be_told_ends_where_its_turn_does() {
    let mut watch = asked();
    assert_eq!(watch.nudged(NudgeState::Impossible), None);
    assert_eq!(watch.observe(tool(2), EARLY), None, "of the same turn");
    assert_eq!(watch.observe(done(1, true), EARLY), None, "another runs");
    assert_eq!(watch.observe(done(2, true), EARLY), CUT);
}

#[test]
fn a_person_s_request_is_followed_at_once_and_once() {
    let mut watch = watch();
    let expected = HandoffStep::Ask(Handover {
        trigger: HandoffTrigger::ExplicitRequest,
        sentence: "a person asked for it".into(),
    });
    assert_eq!(watch.request(), Some(expected));
    assert_eq!(watch.request(), None);
    // It tells nothing of turns or tools, and can't be told anything: no boundary will come.
    let cut = HandoffStep::Cut {
        trigger: HandoffTrigger::ExplicitRequest,
    };
    assert_eq!(watch.nudged(NudgeState::Impossible), Some(cut));
}

#[test]
fn without_thresholds_only_a_person_hands_over() {
    let mut watch = WatchedRun::new(None, &start(0, 10));
    assert_eq!(watch.wakes_at(), None);
    let failed = (0..9).flat_map(|id| [small_turn(), tool(id), done(id, false)]);
    let full = [turn(199_000, Some(200_000)), cost(9.9), tool(99)];
    let beats: Vec<Beat> = failed.chain(full).collect();
    assert!(said(&mut watch, &beats).iter().all(Option::is_none));
    assert!(matches!(watch.request(), Some(HandoffStep::Ask(_))));
}
