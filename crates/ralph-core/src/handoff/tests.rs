//! Every trigger, in every state of the watch, and what comes near without being one.

use std::time::Duration;

use super::*;
use crate::{
    agent::{Beat, Mark, NudgeState, ToolCalls, Usage},
    config::HandoffConfig,
    dollars::Dollars,
    signal::ClosingBlock,
};

mod answer;
mod words;

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
    Beat::ToolDone {
        id,
        ok,
        answer: Mark::EMPTY,
    }
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

/// A watch, and the tools that are under way in its run.
struct WatchedRun {
    watch: HandoffWatch,
    tools: ToolCalls,
    now: Duration,
}

impl WatchedRun {
    fn new(thresholds: Option<&HandoffConfig>, start: &Start) -> Self {
        Self {
            watch: HandoffWatch::new(thresholds, start),
            tools: ToolCalls::default(),
            now: Duration::ZERO,
        }
    }

    fn observe(&mut self, beat: Beat, now: Duration) -> Option<HandoffStep> {
        self.tools.note(beat, String::new);
        self.now = now;
        self.watch.observe(beat, self.tools.moment(now))
    }

    fn spent(&mut self, so_far: Dollars, now: Duration) -> Option<HandoffStep> {
        self.watch.spent(so_far, self.tools.moment(now))
    }

    fn nudged(&mut self, state: NudgeState) -> Option<HandoffStep> {
        self.watch.nudged(state, self.tools.moment(self.now))
    }

    fn wake(&mut self, now: Duration) -> Option<HandoffStep> {
        self.watch.wake(self.tools.moment(now))
    }

    fn request(&mut self) -> Option<HandoffStep> {
        self.watch.request()
    }

    fn asked(&self) -> Option<&Handover> {
        self.watch.asked()
    }

    fn wakes_at(&self) -> Option<Duration> {
        self.watch.wakes_at()
    }
}

fn watch() -> WatchedRun {
    WatchedRun::new(Some(&HandoffConfig::default()), &start(0, 10))
}

/// Returns what the watch says to each of these, one after the other.
fn said(watch: &mut WatchedRun, beats: &[Beat]) -> Vec<Option<HandoffStep>> {
    let beats = beats.iter();
    beats.map(|beat| watch.observe(*beat, EARLY)).collect()
}

/// The trigger that the agent is asked for after all of these, and after none before the last.
fn asked_at_last(watch: &mut WatchedRun, beats: &[Beat]) -> Option<(HandoffTrigger, String)> {
    let mut steps = said(watch, beats);
    let last = steps.pop().flatten();
    assert!(steps.iter().all(Option::is_none), "{steps:?}");
    match last? {
        HandoffStep::Ask(why) => Some((why.trigger, why.sentence)),
        HandoffStep::Cut { trigger } => panic!("cut before it was asked: {trigger:?}"),
    }
}

/// An example: its subject, the start of the run, the events, and the request to the agent at the end.
type Row = (
    &'static str,
    Start,
    Vec<Beat>,
    Option<(HandoffTrigger, &'static str)>,
);

#[track_caller]
fn check(table: Vec<Row>) {
    for (what, start, beats, expected) in table {
        let mut watch = WatchedRun::new(Some(&HandoffConfig::default()), &start);
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
    let wakes = |start: &Start| WatchedRun::new(Some(&HandoffConfig::default()), start).wakes_at();
    assert_eq!(wakes(&of(4)), Some(Duration::from_secs(2)));
    assert_eq!(wakes(&of(11 * 60)), Some(Duration::from_secs(6 * 60)));
    assert_eq!(wakes(&Start::default()), None);
}
