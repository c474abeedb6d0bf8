//! The status line, on a terminal that is looked at.

use jiff::{Timestamp, ToSpan as _};
use ralph_core::{
    agent::AgentEvent,
    event::{Event, WaitReason},
    sanitize::columns,
    verify::CleanOutcome,
};

use super::{
    super::{Colours, Foot, Live, Reporter, Verbosity, on_terminal},
    look,
    screen::FakeTerminal,
    story::{self, at},
    tell,
};

fn live(terminal: &FakeTerminal) -> Live {
    Live::new(
        Box::new(terminal.clone()),
        look(Verbosity::Normal, Colours::Off),
    )
}

/// A loop in its first iteration, in which a file is being edited.
fn editing(width: usize, path: &str) -> (FakeTerminal, Live) {
    let terminal = FakeTerminal::new(width);
    let mut live = live(&terminal);
    live.report(&story::loop_started(false), at(0));
    live.report(&story::iteration_started(3, "US-002", "Add it", 1), at(4));
    let run = Event::RunStarted {
        run: 1,
        agent: "claude".into(),
        fix_only: false,
        tail: String::new(),
    };
    live.report(&run, at(4));
    let usage = AgentEvent::Usage(story::usage(12_345, Some(0.42)));
    live.report(&Event::Agent(usage), at(5));
    live.report(&story::tool("t1", "Edit", path), at(6));
    (terminal, live)
}

#[test]
fn says_what_is_done_right_now_as_wide_as_the_terminal_is() {
    let path = "crates/ralph-engine/src/report/model.rs";
    let cases = [
        (20, "⠼ edit crate…del.rs"),
        (40, "⠼ US-002 · 3/50 · edit crate…el.rs · 2s"),
        (
            60,
            "⠼ US-002 · 3/50 · edit crates/…model.rs · 2s · 12.3k tokens",
        ),
        (
            80,
            "⠼ US-002 · 3/50 · edit crates/ralph-…eport/model.rs · 2s · 12.3k tokens · $0.42",
        ),
        (
            200,
            "⠼ US-002 · 3/50 · edit crates/ralph-engine/src/report/model.rs · 2s · 12.3k tokens · $0.42",
        ),
    ];
    for (width, expected) in cases {
        let (terminal, _live) = editing(width, path);
        assert!(columns(&terminal.bottom()) < width, "{width}");
        assert_eq!(terminal.bottom(), expected, "{width}");
    }
}

#[test]
fn no_width_is_too_small() {
    for width in 0..30 {
        let (terminal, _live) = editing(width, "src/model.rs");
        assert!(columns(&terminal.bottom()) <= width, "{width}");
    }
}

#[test]
fn moves_while_the_agent_is_silent() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    live.tick(at(7));
    assert_eq!(
        terminal.bottom(),
        "⠇ US-002 · 3/50 · edit src/model.rs · 3s · 12.3k tokens · $0.42"
    );
    live.tick(at(76));
    assert_eq!(
        terminal.bottom(),
        "⠼ US-002 · 3/50 · edit src/model.rs · 1m 12s · 12.3k tokens · $0.42"
    );
    assert_eq!(terminal.bottom().lines().count(), 1);
}

#[test]
fn a_clock_that_is_set_back_does_no_harm() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    live.tick(at(-3600));
    assert_eq!(
        terminal.bottom(),
        "⠋ US-002 · 3/50 · edit src/model.rs · 0s · 12.3k tokens · $0.42"
    );
}

#[test]
fn is_not_drawn_more_often_than_ten_times_a_second() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    let start = at(10);
    live.tick(start);
    let before = terminal.writes();
    let ms = |ms: i64| -> Timestamp { start + ms.milliseconds() };
    for i in 1..=99 {
        let usage = AgentEvent::Usage(story::usage(20_000 + 100 * i, None));
        live.report(&Event::Agent(usage), ms(i.cast_signed()));
    }
    assert_eq!(terminal.writes(), before);
    live.tick(ms(100));
    assert_eq!(terminal.writes(), before + 1);
    assert_eq!(
        terminal.bottom(),
        "⠋ US-002 · 3/50 · edit src/model.rs · 6s · 29.9k tokens"
    );
    // Nothing new to show: nothing is written.
    live.tick(ms(200));
    assert_eq!(terminal.writes(), before + 1);
}

#[test]
fn is_cleared_before_lines_and_drawn_again_below_them() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    let message = "mind this".to_owned();
    let writes = terminal.writes();
    live.report(&Event::Warning { message }, at(6));
    assert_eq!(terminal.writes(), writes + 1, "seen in one piece");
    insta::assert_snapshot!(terminal.above(), @r"
    ━━━ ralph run ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 2026-03-01 ━━━
    [10:00:00] tasks   PRD.json · 1/4 complete (3 remaining: 2 ready, 1 waiting)
               branch  ralph/users from main@0123456789
               agent   claude
               where   layers in /data/layers
               sandbox on, by namespaces
               limits  at most 50 iterations

    ━━━ Iteration 19: US-002 ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━ 3 of 50 ━━━
    [10:00:04] ▸ Add it · attempt 1 of 3
    [10:00:06] ! mind this
    ");
    assert_eq!(
        terminal.bottom(),
        "⠼ US-002 · 3/50 · edit src/model.rs · 2s · 12.3k tokens · $0.42"
    );
}

#[test]
fn is_gone_at_the_end_also_if_ralph_fails_half_way() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    live.finish();
    assert_eq!(terminal.bottom(), "");
    live.tick(at(9));
    assert_eq!(terminal.bottom(), "");

    let (terminal, live) = editing(80, "src/model.rs");
    drop(live);
    assert_eq!(terminal.bottom(), "");

    let terminal = FakeTerminal::new(80);
    let mut live = live_of(&terminal);
    for (at, event) in story::success() {
        live.report(&event, at);
    }
    assert_eq!(terminal.bottom(), "");
    assert!(terminal.above().contains("✓ all tasks are complete"));
}

fn live_of(terminal: &FakeTerminal) -> Box<dyn Reporter> {
    let look = look(Verbosity::Normal, Colours::Off);
    on_terminal(Box::new(terminal.clone()), look).0
}

#[test]
fn a_screen_is_never_blank() {
    let terminal = FakeTerminal::new(80);
    let mut live = live(&terminal);
    live.tick(at(0));
    assert_eq!(terminal.bottom(), "⠋ starting · 0s");
    for (at, event) in story::eventful() {
        let over = matches!(event, Event::LoopEnded { .. });
        live.report(&event, at);
        assert_eq!(terminal.bottom().is_empty(), over, "{event:?}");
    }
}

#[test]
fn says_each_step_of_an_iteration() {
    let (terminal, mut live) = editing(120, "src/model.rs");
    let steps = [
        (
            story::tool("t2", "Bash", "cargo test\n--all"),
            "bash cargo test --all",
        ),
        (story::tool_done("t2", true), "edit src/model.rs"),
        (story::tool_done("t1", true), "thinking"),
        (story::text("Now the\ntests."), "Now the tests."),
        (
            Event::Agent(AgentEvent::Retry {
                attempt: 2,
                reason: "overloaded".into(),
            }),
            "waiting for its model (retry 2): overloaded",
        ),
        (
            Event::Agent(AgentEvent::Result(Default::default())),
            "inspecting the change",
        ),
        (story::verify_started("npm test"), "verify npm test 0s"),
        (story::verify_ended("npm test", 1.0, "passed"), "verifying"),
        (story::landed("US-002", None, false), "recording"),
    ];
    for (i, (event, doing)) in steps.into_iter().enumerate() {
        live.report(&event, at(10 + i64::try_from(i).unwrap()));
        let bottom = terminal.bottom();
        assert!(
            bottom.contains(&format!(" US-002 · 3/50 · {doing} · ")),
            "{bottom}"
        );
    }
}

#[test]
fn adds_up_the_runs_of_an_iteration() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    let run = Event::RunStarted {
        run: 2,
        agent: "claude".into(),
        fix_only: true,
        tail: String::new(),
    };
    live.report(&run, at(20));
    let usage = AgentEvent::Usage(story::usage(10_000, None));
    live.report(&Event::Agent(usage), at(21));
    assert_eq!(
        terminal.bottom(),
        "⠼ US-002 · 3/50 · starting the agent · 17s · 22.3k tokens · $0.42"
    );
}

#[test]
fn follows_a_terminal_that_is_resized() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    live.tick(at(7));
    terminal.resize(30);
    live.tick(at(8));
    assert_eq!(terminal.bottom(), "⠹ US-002 · edit src/model.rs");
}

#[test]
fn tools_are_only_in_the_status_line_unless_asked_for() {
    let (terminal, _live) = editing(80, "src/model.rs");
    assert!(!terminal.above().contains("edit"));

    let terminal = FakeTerminal::new(80);
    let look = look(Verbosity::Verbose, Colours::Off);
    let mut live = Live::new(Box::new(terminal.clone()), look);
    live.report(&story::tool("t1", "Edit", "src/model.rs"), at(6));
    assert_eq!(terminal.above(), "[10:00:06]     edit  src/model.rs");
}

#[test]
fn quiet_moves_nothing() {
    let terminal = FakeTerminal::new(80);
    let look = look(Verbosity::Quiet, Colours::Off);
    let (mut quiet, screen) = on_terminal(Box::new(terminal.clone()), look);
    assert!(screen.is_none());
    quiet.tick(at(0));
    assert_eq!(terminal.writes(), 0);
    tell(quiet.as_mut(), &story::success());
    assert_eq!(
        terminal.above(),
        "[10:15:33] ✓ all tasks are complete · 4/4 complete (0 remaining) · 4 iterations\n             \
         · 15m 33s · 1.2M tokens · $4.20"
    );
}

#[test]
fn a_line_that_is_too_long_goes_on_below_between_words_and_a_quotation_behind_its_bar() {
    let shown = |colours| {
        let terminal = FakeTerminal::new(44);
        let mut live = Live::new(Box::new(terminal.clone()), look(Verbosity::Normal, colours));
        let message = "the price of the model is not known, and so nothing stops it";
        let message = message.to_owned();
        live.report(&Event::Warning { message }, at(0));
        live.report(
            &Event::CleanChecked {
                commit: "3f2a91c0".into(),
                outcome: CleanOutcome::Failed,
                message: "the last commit fails in a fresh clone".into(),
                tail: "error: the file that the test reads is not there\n".into(),
            },
            at(1),
        );
        live.finish();
        terminal.above()
    };
    assert_eq!(shown(Colours::On), shown(Colours::Off));
    insta::assert_snapshot!(shown(Colours::Off), @r"
    [10:00:00] ! the price of the model is not
                 known, and so nothing stops it
    [10:00:01] ! the last commit fails in a
                 fresh clone
                 │ error: the file that the
                 │ test reads is not there
    ");
}

#[test]
fn what_a_next_command_does_stands_below_it_where_it_has_no_room_beside_it() {
    let ended = story::success().pop().unwrap();
    let shown = |width| {
        let terminal = FakeTerminal::new(width);
        let mut live = live(&terminal);
        live.report(&ended.1, ended.0);
        live.finish();
        let text = terminal.above();
        text[text.find("next:").unwrap()..].to_owned()
    };
    insta::assert_snapshot!(shown(80), @r"
    next:
                   git diff main...ralph/users   2 commits on ralph/users
                   ralph report                  everything about this feature
    ");
    insta::assert_snapshot!(shown(60), @r"
    next:
                   git diff main...ralph/users
                     2 commits on ralph/users
                   ralph report
                     everything about this feature
    ");
}

#[test]
fn colours_do_not_count_as_columns() {
    let (plain, _live) = editing(60, "src/model.rs");
    let terminal = FakeTerminal::new(60);
    let look = look(Verbosity::Normal, Colours::On);
    let mut live = Live::new(Box::new(terminal.clone()), look);
    live.report(&story::loop_started(false), at(0));
    live.report(&story::iteration_started(3, "US-002", "Add it", 1), at(4));
    let usage = AgentEvent::Usage(story::usage(12_345, Some(0.42)));
    live.report(&Event::Agent(usage), at(5));
    live.report(&story::tool("t1", "Edit", "src/model.rs"), at(6));
    assert_eq!(terminal.bottom(), plain.bottom());
}

fn waiting(reason: WaitReason, nth: u32) -> Event {
    Event::Waiting {
        reason,
        until: at(8000),
        seconds: 7990.0,
        nth,
        detail: String::new(),
    }
}

#[test]
fn a_wait_counts_down_and_ends_with_what_comes_next() {
    let terminal = FakeTerminal::new(80);
    let mut live = live(&terminal);
    live.report(&story::loop_started(false), at(0));
    live.report(&waiting(WaitReason::UsageLimit, 1), at(10));
    let line = "usage limit, continues at 12:13 (in 2h 13m)";
    assert!(terminal.bottom().contains(line), "{}", terminal.bottom());
    live.tick(at(7959));
    let line = "usage limit, continues at 12:13 (in 41s)";
    assert!(terminal.bottom().contains(line), "{}", terminal.bottom());
    live.report(
        &story::iteration_started(3, "US-002", "Add it", 1),
        at(8003),
    );
    assert!(
        terminal.bottom().contains("preparing"),
        "{}",
        terminal.bottom()
    );
}

#[test]
fn the_last_tools_stay_above_the_status_line_and_a_failed_one_says_so() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    for (id, name, target) in [
        ("t2", "Bash", "cargo test"),
        ("t3", "Read", "a.rs"),
        ("t4", "Read", "b.rs"),
    ] {
        live.report(&story::tool(id, name, target), at(7));
    }
    live.report(&story::tool_done("t1", true), at(8));
    live.report(&story::tool_done("t2", false), at(8));
    live.report(&story::tool_done("t3", true), at(8));
    live.tick(at(9));
    let above = terminal.above();
    let last: Vec<&str> = above.lines().rev().take(3).collect();
    assert_eq!(
        last,
        [
            "    read  a.rs",
            "    bash  cargo test (failed)",
            "    edit  src/model.rs"
        ]
    );
    assert!(
        terminal.bottom().contains("read b.rs"),
        "{}",
        terminal.bottom()
    );
    live.finish();
    assert!(
        !terminal.above().contains("cargo test"),
        "{}",
        terminal.above()
    );
}

#[test]
fn a_verify_command_is_shown_with_a_clock_and_its_last_line_and_the_tools_stay() {
    let (terminal, mut live) = editing(80, "src/model.rs");
    live.report(&story::tool_done("t1", true), at(7));
    live.report(&story::verify_started("cargo test --workspace"), at(10));
    let output = Event::VerifyOutput {
        command: "cargo test --workspace".into(),
        line: "test login ... ok".into(),
    };
    live.report(&output, at(81));
    assert_eq!(terminal.bottom(), "  │ test login ... ok");
    let above = terminal.above();
    let last: Vec<&str> = above.lines().rev().take(2).collect();
    assert_eq!(
        last,
        [
            "⠼ US-002 · 3/50 · verify cargo test --workspace 1m 11s · 1m 17s",
            "    edit  src/model.rs"
        ]
    );
    live.report(
        &story::verify_ended("cargo test --workspace", 80.0, "passed"),
        at(90),
    );
    assert!(
        terminal.bottom().contains("verifying"),
        "{}",
        terminal.bottom()
    );
}

fn commanded(command: &str) -> Event {
    Event::Commanded {
        id: ralph_core::id::CommandId::new(1),
        command: command.into(),
        report: ralph_core::command::CommandReport::done("so it is"),
    }
}

#[test]
fn after_a_pause_it_says_paused_until_it_goes_on() {
    let (terminal, mut live) = editing(120, "src/model.rs");
    live.report(&commanded("pause"), at(7));
    assert!(
        terminal.bottom().contains("then pauses"),
        "{}",
        terminal.bottom()
    );
    let ended = story::iteration_ended(3, "US-002", ralph_core::verdict::Verdict::Verified, "");
    live.report(&ended, at(8));
    assert_eq!(terminal.bottom(), "‖ paused; `ralph resume` continues · 8s");
    live.report(&commanded("resume"), at(9));
    assert!(
        terminal.bottom().contains("choosing a task"),
        "{}",
        terminal.bottom()
    );
}

#[test]
fn the_foot_has_the_keys_or_the_end_of_what_is_typed() {
    let (terminal, mut live) = editing(40, "src/model.rs");
    let screen = live.screen();
    let keys = Foot::Keys {
        notice: "question 1 waits: a answers".into(),
        keys: "p pause · s say · l log · q stop".into(),
    };
    screen.set_foot(keys, at(7));
    assert_eq!(terminal.bottom(), "  question 1 waits: a answers · p paus…");
    let typed = Foot::Input {
        prompt: "Say: ".into(),
        text: "0123456789".repeat(5),
    };
    screen.set_foot(typed, at(7));
    assert_eq!(terminal.bottom(), "Say: 789012345678901234567890123456789");
    live.report(
        &Event::Warning {
            message: "mind this".into(),
        },
        at(7),
    );
    assert!(
        terminal.above().contains("! mind this\n⠇ US-002"),
        "{}",
        terminal.above()
    );
    assert_eq!(terminal.bottom(), "Say: 789012345678901234567890123456789");
    screen.set_foot(Foot::Empty, at(8));
    assert!(terminal.bottom().contains("edit"), "{}", terminal.bottom());
}
