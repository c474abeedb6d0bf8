//! A Pi that runs: told something, stopped, cut off.

use std::time::Duration;

use ralph_core::agent::{AgentEvent, Ending, NudgeState};
use ralph_engine::supervisor::RunLimits;

use super::{MODES, env, pi};
use crate::support::{LIMIT, Live, Scene, limits, marked, wait_until};

const WAITS: &str = "conversations:\n- turns:\n  - tools: [{bash: \"while [ ! -e go ]; do sleep 0.05; done\"}]\n  - say: Task T1 complete\n";
const HELD: &str = "conversations:\n- turns:\n  - say: Task T1 complete\n    hold: {name: here, at: mid_stream}\n  - say: Seen it.\n";
const NUDGE: &str = "Look at the other file first.";

fn wait_for_nudge(live: &mut Live, state: NudgeState) {
    live.wait_for(
        "nudge",
        |e| matches!(e, AgentEvent::Nudge { state: found, .. } if *found == state),
    );
}

#[test]
fn a_nudge_while_a_tool_runs_is_in_the_models_next_request() {
    let scene = Scene::new(WAITS);
    let mut live = scene.start(pi("rpc", ""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge(NUDGE);
    wait_for_nudge(&mut live, NudgeState::Sent);
    std::fs::write(scene.repo().join("go"), "").unwrap();
    wait_for_nudge(&mut live, NudgeState::Delivered);
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    let requests = scene.model.wait_for_requests(2, LIMIT);
    assert!(!requests[0].text().contains(NUDGE));
    assert!(requests[1].text().contains(NUDGE));
}

#[test]
fn a_nudge_during_the_last_answer_is_still_worked_on() {
    let scene = Scene::new(HELD);
    let mut live = scene.start(pi("rpc", ""), env(&scene), "Do the thing.", limits());
    scene.model.wait_until_held("here", LIMIT);
    live.nudge(NUDGE);
    wait_for_nudge(&mut live, NudgeState::Sent);
    scene.model.release("here");
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Finished, "{:#?}", ran.events);
    assert_eq!(ran.report.final_message, "Seen it.");
    assert!(scene.model.requests()[1].text().contains(NUDGE));
}

#[test]
fn json_mode_can_not_be_told_anything() {
    let scene = Scene::new(WAITS);
    let mut live = scene.start(pi("json", ""), env(&scene), "Do the thing.", limits());
    live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
    live.nudge(NUDGE);
    wait_for_nudge(&mut live, NudgeState::Impossible);
    std::fs::write(scene.repo().join("go"), "").unwrap();
    assert_eq!(live.join().report.ending, Ending::Finished);
    assert!(!scene.model.requests()[1].text().contains(NUDGE));
}

#[test]
fn a_stop_while_text_streams_is_asked_for_by_the_protocol() {
    let scene = Scene::new(HELD);
    let mut live = scene.start(pi("rpc", ""), env(&scene), "Do the thing.", limits());
    live.wait_for("start", |e| matches!(e, AgentEvent::Started { .. }));
    scene.model.wait_until_held("here", LIMIT);
    live.stop();
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Stopped);
    // Only the answer to an abort says this; a signal leaves no word behind.
    let aborted = |e: &AgentEvent| matches!(e, AgentEvent::Result(r) if r.error.as_deref() == Some("it was aborted"));
    assert!(ran.events.iter().any(aborted), "{:#?}", ran.events);
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn a_stop_while_a_command_runs_leaves_nothing_alive() {
    for mode in MODES {
        let scene =
            Scene::new("conversations: [{turns: [{tools: [{bash: touch waiting; sleep 300}]}]}]");
        let marker = format!("RALPH_TEST_MARK=pi-{mode}-{}", std::process::id());
        let (name, value) = marker.split_once('=').unwrap();
        let mut env = env(&scene);
        env.push((name.into(), value.into()));
        let mut live = scene.start(pi(mode, ""), env, "Do the thing.", limits());
        live.wait_for("tool", |e| matches!(e, AgentEvent::Tool { .. }));
        let waiting = scene.repo().join("waiting");
        wait_until("the command runs", || waiting.exists());
        assert!(!marked(&marker).is_empty(), "the marker shows what runs");
        live.stop();
        let ran = live.join();
        assert_eq!(ran.report.ending, Ending::Stopped);
        assert_eq!(marked(&marker), Vec::<String>::new(), "{mode}");
        assert_eq!(ran.report.usage.output_tokens, 20, "{mode}");
    }
}

#[test]
fn a_run_that_is_cut_off_in_the_middle_of_an_answer_has_used_what_was_said_so_far() {
    let scene = Scene::new(
        "conversations: [{turns: [{say: Never whole, usage: {input: 300, output: 50, cache_read: 7}, faults: [{stall: mid_stream}]}]}]",
    );
    let patience = RunLimits {
        idle: Duration::from_secs(6),
        ..limits()
    };
    let live = scene.start(pi("json", ""), env(&scene), "Do the thing.", patience);
    let ran = live.join();
    assert_eq!(ran.report.ending, Ending::Silent { minutes: 0 });
    let usage = ran.report.usage;
    assert_eq!((usage.input_tokens, usage.cache_read_tokens), (300, 7));
    assert_eq!(ran.report.turns, Some(0), "no answer ended");
}
