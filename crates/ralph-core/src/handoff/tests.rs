//! Every trigger, in every state of the watch, and what comes near without being one.

use std::time::Duration;

use super::*;
use crate::{
    agent::{Beat, NudgeState, Usage},
    dollars::Dollars,
    signal::ClosingBlock,
};

const EARLY: Duration = Duration::from_secs(60);

fn turn(context_tokens: u64, window: Option<u64>) -> Beat {
    Beat::Turn {
        context_tokens,
        window,
    }
}

fn small_turn() -> Beat {
    turn(10, Some(200_000))
}

fn tool(id: u64) -> Beat {
    Beat::Tool {
        id,
        call: 7,
        kind: crate::agent::ToolKind::Other,
    }
}

fn done(id: u64, ok: bool) -> Beat {
    Beat::ToolDone { id, ok }
}

fn cost(usd: f64) -> Beat {
    Beat::Usage(Usage {
        cost_usd: Some(usd),
        ..Usage::default()
    })
}

fn start(spent: u32, max: u32) -> Start {
    Start {
        time: Some(Duration::from_secs(90 * 60)),
        room: Some(Room {
            spent: Dollars::whole(spent),
            max: Dollars::whole(max),
        }),
    }
}

fn watch() -> HandoffWatch {
    HandoffWatch::new(Some(Thresholds::default()), &start(0, 10))
}

/// What the watch says to each of these, one after the other.
fn said(watch: &mut HandoffWatch, beats: &[Beat]) -> Vec<Option<HandoffStep>> {
    let beats = beats.iter();
    beats.map(|beat| watch.observe(*beat, EARLY)).collect()
}

/// The trigger that the agent is asked for after all of these, and after none before the last.
fn asked_at_last(watch: &mut HandoffWatch, beats: &[Beat]) -> Option<(HandoffTrigger, String)> {
    let mut steps = said(watch, beats);
    let last = steps.pop().flatten();
    assert!(steps.iter().all(Option::is_none), "{steps:?}");
    match last? {
        HandoffStep::Ask(why) => Some((why.trigger, why.sentence)),
        HandoffStep::Cut { trigger } => panic!("cut before it was asked: {trigger:?}"),
    }
}

/// What it shows, what the run begins with, what is heard, and what the agent is asked for at the end.
type Row = (
    &'static str,
    Start,
    Vec<Beat>,
    Option<(HandoffTrigger, &'static str)>,
);

#[track_caller]
fn check(table: Vec<Row>) {
    for (what, start, beats, expected) in table {
        let mut watch = HandoffWatch::new(Some(Thresholds::default()), &start);
        let found = asked_at_last(&mut watch, &beats);
        let expected = expected.map(|(trigger, sentence)| (trigger, sentence.to_owned()));
        assert_eq!(found, expected, "{what}");
        let asked = watch.asked().map(|why| why.trigger);
        assert_eq!(asked, expected.map(|(trigger, _)| trigger), "{what}");
    }
}

#[test]
#[allow(
    clippy::too_many_lines,
    clippy::type_complexity,
    reason = "one table, with every trigger and its near misses"
)]
fn a_threshold_must_be_passed_and_not_only_met() {
    use HandoffTrigger as T;
    let failing = |n: u64| {
        let turns = (0..n).flat_map(|id| [small_turn(), tool(id), done(id, false)]);
        turns.chain([small_turn(), tool(99)]).collect::<Vec<_>>()
    };
    let table: Vec<Row> = vec![
        (
            "70 % exactly is not more than 70 %",
            start(0, 10),
            vec![turn(140_000, Some(200_000)), tool(1)],
            None,
        ),
        (
            "a token more is",
            start(0, 10),
            vec![turn(140_001, Some(200_000)), tool(1)],
            Some((
                T::ContextThreshold,
                "70 % of its context are in use (140001 of 200000 tokens), more than 70 %",
            )),
        ),
        (
            "a window that is not known is never full",
            start(0, 10),
            vec![turn(900_000, None), tool(1)],
            None,
        ),
        (
            "a window of nothing is none",
            start(0, 10),
            vec![turn(900_000, Some(0)), tool(1)],
            None,
        ),
        (
            "two failed steps are not three",
            start(0, 10),
            failing(2),
            None,
        ),
        (
            "three failed steps in a row",
            start(0, 10),
            failing(3),
            Some((T::ErrorThreshold, "3 of its steps in a row failed")),
        ),
    ];
    check(table);
}

#[test]
fn money_is_measured_by_all_that_is_spent_of_all_that_may_be() {
    use HandoffTrigger as T;
    check(vec![
        (
            "80 % exactly is not more than 80 %",
            start(0, 10),
            vec![small_turn(), cost(8.0), tool(1)],
            None,
        ),
        (
            "a millionth more is",
            start(0, 10),
            vec![small_turn(), cost(8.000_001), tool(1)],
            Some((
                T::TokenBudget,
                "$8.0000 of $10.00 are spent, more than 80 %",
            )),
        ),
        (
            "what others have spent counts",
            start(6, 10),
            vec![small_turn(), cost(2.1), tool(1)],
            Some((T::TokenBudget, "$8.10 of $10.00 are spent, more than 80 %")),
        ),
        (
            "80 % spent by others are not more than 80 %",
            start(8, 10),
            vec![small_turn(), cost(0.1), tool(1)],
            Some((T::TokenBudget, "$8.10 of $10.00 are spent, more than 80 %")),
        ),
        (
            "a fresh agent is not asked for what the one before has spent",
            start(9, 10),
            vec![small_turn(), cost(0.99), tool(1)],
            None,
        ),
        (
            "without a limit nothing is used up",
            Start::default(),
            vec![small_turn(), cost(1_000.0), tool(1)],
            None,
        ),
    ]);
}

#[test]
fn a_step_that_works_ends_the_row_of_those_that_fail() {
    let mut watch = watch();
    let beats = [
        [small_turn(), tool(1), done(1, false)],
        [small_turn(), tool(2), done(2, false)],
        [small_turn(), tool(3), done(3, true)],
        [small_turn(), tool(4), done(4, false)],
        [small_turn(), tool(5), done(5, false)],
    ];
    assert_eq!(
        asked_at_last(
            &mut watch,
            &[&beats.concat()[..], &[small_turn(), tool(6)]].concat()
        ),
        None
    );
}

#[test]
fn a_turn_in_which_one_of_two_tools_works_is_no_failed_one() {
    let mut watch = watch();
    let failed = [small_turn(), tool(1), done(1, false)];
    let half = [
        small_turn(),
        tool(1),
        tool(2),
        done(1, false),
        done(2, true),
    ];
    let beats = [&failed[..], &failed, &half, &[small_turn(), tool(3)]].concat();
    assert_eq!(asked_at_last(&mut watch, &beats), None);
    // Words without a tool neither fail nor work.
    let beats = [
        &failed[..],
        &failed,
        &[small_turn()],
        &failed,
        &[small_turn(), tool(3)],
    ]
    .concat();
    let found = asked_at_last(&mut watch, &beats).map(|(trigger, _)| trigger);
    assert_eq!(found, Some(HandoffTrigger::ErrorThreshold));
}

#[test]
fn of_several_reasons_the_first_in_the_order_is_given() {
    let errors: Vec<Beat> = (0..3)
        .flat_map(|id| [small_turn(), tool(id), done(id, false)])
        .collect();
    let full = turn(190_000, Some(200_000));
    let table: [(&[Beat], HandoffTrigger); 4] = [
        (
            &[cost(9.0), full, tool(9)],
            HandoffTrigger::ContextThreshold,
        ),
        (
            &[cost(9.0), small_turn(), tool(9)],
            HandoffTrigger::ErrorThreshold,
        ),
        (&[full, tool(9)], HandoffTrigger::ContextThreshold),
        (&[small_turn(), tool(9)], HandoffTrigger::ErrorThreshold),
    ];
    for (last, expected) in table {
        let mut watch = watch();
        let beats = [&errors[..], last].concat();
        let found = asked_at_last(&mut watch, &beats).map(|(trigger, _)| trigger);
        assert_eq!(found, Some(expected));
    }
    let mut watch = watch();
    let late = Duration::from_secs(86 * 60);
    watch.observe(small_turn(), late);
    watch.observe(cost(9.0), late);
    let Some(HandoffStep::Ask(why)) = watch.observe(tool(1), late) else {
        panic!("asked");
    };
    assert_eq!(why.trigger, HandoffTrigger::TokenBudget);
}

#[test]
fn an_agent_is_asked_only_while_its_model_will_be_asked_again_anyway() {
    let mut watch = watch();
    // About to end by itself, for all that is known: the last words may be its claim.
    assert_eq!(watch.observe(turn(150_000, Some(200_000)), EARLY), None);
    assert_eq!(watch.observe(Beat::Text { mark: 1 }, EARLY), None);
    assert_eq!(watch.observe(Beat::Ended, EARLY), None);
    assert_eq!(watch.asked(), None);
}

#[test]
fn what_calls_come_to_counts_like_what_the_agent_says() {
    let mut watch = watch();
    said(&mut watch, &[small_turn(), cost(1.0)]);
    assert_eq!(watch.spent(Dollars::whole(9), EARLY), None, "no tool runs");
    let found = asked_at_last(&mut watch, &[tool(1)]).map(|(trigger, _)| trigger);
    assert_eq!(found, Some(HandoffTrigger::TokenBudget));
    // While a tool runs it is said at once, and once.
    let mut watch = self::watch();
    said(&mut watch, &[small_turn(), tool(1)]);
    assert_eq!(watch.spent(Dollars::whole(8), EARLY), None);
    assert!(watch.spent(Dollars::whole(9), EARLY).is_some());
    assert_eq!(watch.spent(Dollars::whole(10), EARLY), None);
}

#[test]
fn a_context_that_became_smaller_is_no_reason_any_more() {
    let mut watch = watch();
    let beats = [
        turn(150_000, Some(200_000)),
        Beat::Other,
        small_turn(),
        tool(1),
    ];
    assert_eq!(asked_at_last(&mut watch, &beats), None);
}

#[test]
fn time_is_told_by_the_timer_and_asked_for_at_the_next_tool() {
    let minute = |n: u64| Duration::from_secs(n * 60);
    let mut watch = watch();
    assert_eq!(watch.wakes_at(), Some(minute(85)));
    assert_eq!(watch.wake(minute(85)), None, "no tool runs");
    assert_eq!(watch.wakes_at(), None, "woken once");
    assert_eq!(watch.observe(small_turn(), minute(86)), None);
    let expected = HandoffStep::Ask(Handover {
        trigger: HandoffTrigger::Timeout,
        sentence: "4 min of its 90 min are left".into(),
    });
    assert_eq!(watch.observe(tool(1), minute(86)), Some(expected.clone()));

    let mut busy = self::watch();
    assert_eq!(busy.observe(small_turn(), EARLY), None);
    assert_eq!(busy.observe(tool(1), EARLY), None);
    assert_eq!(busy.wake(minute(85) - Duration::from_millis(1)), None);
    assert!(matches!(busy.wake(minute(86)), Some(step) if step == expected));
}

#[test]
fn an_agent_with_little_time_has_half_of_it_and_one_without_a_limit_all() {
    let of = |seconds| Start {
        time: Some(Duration::from_secs(seconds)),
        room: None,
    };
    let wakes = |start: &Start| HandoffWatch::new(Some(Thresholds::default()), start).wakes_at();
    assert_eq!(wakes(&of(4)), Some(Duration::from_secs(2)));
    assert_eq!(wakes(&of(11 * 60)), Some(Duration::from_secs(6 * 60)));
    assert_eq!(wakes(&Start::default()), None);
}

/// A watch that has asked, with a tool running.
fn asked() -> HandoffWatch {
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
    let mut watch = HandoffWatch::new(None, &start(0, 10));
    assert_eq!(watch.wakes_at(), None);
    let failed = (0..9).flat_map(|id| [small_turn(), tool(id), done(id, false)]);
    let full = [turn(199_000, Some(200_000)), cost(9.9), tool(99)];
    let beats: Vec<Beat> = failed.chain(full).collect();
    assert!(said(&mut watch, &beats).iter().all(Option::is_none));
    assert!(matches!(watch.request(), Some(HandoffStep::Ask(_))));
}

#[test]
fn the_last_words_of_an_agent_can_hand_over() {
    use ExecutionPhase as P;
    use HandoffTrigger as T;
    let block = |phase: Option<&str>, handoff: Option<&str>| ClosingBlock {
        phase: phase.map(str::to_owned),
        handoff: handoff.map(str::to_owned),
        ..ClosingBlock::default()
    };
    let table = [
        (None, None, None, None),
        (
            None,
            Some("too large for me"),
            None,
            Some(T::ExplicitRequest),
        ),
        (
            Some("testing"),
            Some("tired"),
            None,
            Some(T::ExplicitRequest),
        ),
        (
            Some("testing"),
            None,
            Some(P::Implementing),
            Some(T::PhaseComplete),
        ),
        (Some("Implementing"), None, None, Some(T::PhaseComplete)),
        (Some("planning"), None, None, None),
        (Some("testing"), None, Some(P::Testing), None),
        (Some("implementing"), None, Some(P::Testing), None),
        (Some("reviewing"), None, Some(P::Complete), None),
        (Some("complete"), None, Some(P::Testing), None),
        (Some("handoff"), None, Some(P::Testing), None),
        (Some("nearly there"), None, Some(P::Testing), None),
    ];
    for (phase, handoff, before, expected) in table {
        let found = from_block(&block(phase, handoff), before);
        let found = found.map(|why| why.trigger);
        assert_eq!(found, expected, "{phase:?} {handoff:?} {before:?}");
    }
    let why = from_block(&block(Some("testing"), None), Some(P::Implementing));
    assert_eq!(
        why.map(|why| why.sentence).as_deref(),
        Some("the work went from implementing on to testing")
    );
}

#[test]
fn handoffs_in_a_row_are_counted_until_the_task_comes_to_something() {
    let handoff = Verdict::Handoff {
        trigger: HandoffTrigger::Timeout,
    };
    let first = HandoffState::default().after(&handoff, Some(ExecutionPhase::Testing));
    let expected = HandoffState {
        in_a_row: 1,
        phase: Some(ExecutionPhase::Testing),
        next: Next::GoesOn,
    };
    assert_eq!(first, expected);
    let interrupted = first.after(&Verdict::Interrupted, None);
    assert_eq!(interrupted, expected);
    let second = interrupted.after(&handoff, None);
    assert_eq!(
        (second.in_a_row, second.phase),
        (2, Some(ExecutionPhase::Testing))
    );
    let failed = second.after(&Verdict::Unclaimed, None);
    assert_eq!((failed.in_a_row, failed.next), (0, Next::Attempt));
    assert!(second.after(&Verdict::Verified, None).is_empty());
    let ended = Verdict::Terminated {
        reason: "stuck".into(),
    };
    let terminated = second.after(&ended, None);
    assert_eq!((terminated.in_a_row, terminated.next), (0, Next::GoesOn));
}

#[test]
fn the_request_says_why_and_how_to_answer() {
    let text = wrap_up(&Handover {
        trigger: HandoffTrigger::TokenBudget,
        sentence: "it has cost $9 of $10".into(),
    });
    assert!(
        text.starts_with("A message from ralph"),
        "no command to an agent"
    );
    for part in [
        "The reason: it has cost $9 of $10.",
        "use no more tools",
        "<ralph>\nsummary: ",
        "decisions:\n  - ",
        "\nnext: ",
        "\nhandoff: token_budget\n</ralph>",
    ] {
        assert!(text.contains(part), "{part:?} in {text}");
    }
}

#[test]
fn a_share_is_written_as_a_number_between_nothing_and_all() {
    let read = |text: &str| serde_json::from_str::<Share>(text).map_err(|e| e.to_string());
    assert_eq!(read("0.7"), Ok(Share::percent(70)));
    assert_eq!(serde_json::to_string(&Share::percent(70)).unwrap(), "0.7");
    assert_eq!(Share::percent(70).to_string(), "70 %");
    for wrong in ["0", "-0.1", "1.01", "70"] {
        let error = read(wrong).unwrap_err();
        assert!(error.contains("at most 1, such as 0.7"), "{error}");
    }
}
