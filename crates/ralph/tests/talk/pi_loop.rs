//! The loop inside Pi, as a person sees and steers it in a terminal.

mod run;

use ralph_testkit::agents;
use ralph_testkit::model::ScriptedModel;
use rustix::process::Signal;

use crate::support::{LIMIT, Pane, Scene, wait};

/// An iteration that is held in the middle of its first answer, then one that keeps the promise.
const HELD: &str = r#"
conversations:
  - when: "Build it"
    times: 1
    turns:
      - say: I look around first.
        hold: {name: first, at: before_headers}
        tools: [{bash: "true"}]
        usage: {input: 2400, output: 100}
      - say: More to do.
  - when: "Build it"
    turns: [{say: "All of it. <promise>DONE</promise>"}]
"#;

/// Pi in a terminal, with the package.
fn started(scenario: &str) -> (Scene, ScriptedModel, Pane) {
    let (scene, model) = Scene::with_pi(scenario);
    let pane = scene.shell();
    start(&pane);
    (scene, model, pane)
}

fn start(pane: &Pane) {
    let extension = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../integrations/pi/extensions/ralph.ts"
    );
    let pi = agents::pi();
    pane.line(&format!(
        "{} --model {} -e {extension}",
        pi.display(),
        agents::PI_MODEL
    ));
    pane.wait_to_see("(auto)");
}

fn has_state(scene: &Scene) -> bool {
    scene.repo().join(".pi/ralph-loop.local.md").exists()
}

#[track_caller]
fn wait_until_gone(pane: &Pane, text: &str) {
    wait(
        || {
            let rows = pane.visible();
            (!rows.iter().any(|row| row.contains(text))).then_some(())
        },
        || format!("{text:?} is still in:\n{}", pane.visible().join("\n")),
    );
}

#[test]
fn a_loop_is_seen_from_its_first_iteration_to_its_promise() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop \"Build it\" --completion-promise DONE --max-iterations 5");
    model.wait_until_held("first", LIMIT);
    pane.wait_to_see("Ralph iteration 1/5");
    pane.wait_to_see("Ralph iteration: 1/5 · 0 tokens · $0.00");
    pane.wait_to_see("Ralph loop · iteration 1/5 · ");
    pane.wait_to_see("until <promise>DONE</promise> · a fresh context each iteration");
    pane.wait_to_see("/cancel-ralph stops after this iteration, /cancel-ralph now or Esc at once");
    // The time goes on while nothing happens.
    pane.wait_to_see("iteration 1/5 · 1s · 0 tokens");
    model.release("first");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    pane.wait_to_see("Ralph iteration 2/5");
    wait_until_gone(&pane, "Ralph iteration: ");
    wait_until_gone(&pane, "Ralph loop · ");
    assert_eq!(model.requests().len(), 3);
    assert!(!has_state(&scene));
}

#[test]
fn escape_stops_a_loop_while_the_agent_works() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    pane.wait_to_see("Ralph loop · iteration 1 · ");
    pane.key("Escape");
    pane.wait_to_see("Ralph: Stopped in iteration 1");
    wait_until_gone(&pane, "Ralph loop · ");
    wait_until_gone(&pane, "Ralph iteration: ");
    assert!(!has_state(&scene));
    // The conversation is the person's again, and the promise in it means nothing.
    pane.line("hello");
    pane.wait_to_see("All of it. <promise>DONE</promise>");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn escape_stops_a_loop_that_waits_after_an_error() {
    let (scene, model, pane) = started(
        "conversations: [{turns: [{say: x, faults: [{status: 401, message: bad key, repeat: forever}]}]}]",
    );
    pane.line("/ralph-loop Build it");
    pane.wait_to_see("waits 2 s after an error");
    pane.wait_to_see("errors: 1, 1 in a row, last: 401");
    pane.key("Escape");
    pane.wait_to_see("Ralph: Cancelled in iteration 1");
    wait_until_gone(&pane, "Ralph loop · ");
    assert!(!has_state(&scene));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_loop_is_cancelled_after_its_iteration_or_at_once() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    pane.line("/cancel-ralph");
    pane.wait_to_see("Ralph: Cancelled: iteration 1 is the last");
    wait_until_gone(&pane, "Ralph loop · ");
    assert!(!has_state(&scene));
    pane.line("/cancel-ralph now");
    pane.wait_to_see("Ralph: Cancelled in iteration 1");
    pane.wait_to_see("Operation aborted");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_message_during_a_loop_is_asked_about() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it --completion-promise DONE");
    model.wait_until_held("first", LIMIT);
    pane.line("mind the tests");
    pane.wait_to_see("Ralph loop active (iteration 1). What about your message?");
    for choice in [
        "Steer: send it into this loop",
        "Stop the loop and send it",
        "Discard it",
    ] {
        pane.wait_to_see(choice);
    }
    // Closed without an answer, the words are back where they were typed.
    pane.key("Escape");
    wait_until_gone(&pane, "What about your message?");
    pane.wait_to_see("mind the tests");
    pane.key("Enter");
    pane.wait_to_see("What about your message?");
    pane.key("Enter");
    pane.wait_to_see("Steering: mind the tests");
    assert!(has_state(&scene));
    model.release("first");
    pane.wait_to_see("Ralph: Completion detected");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(
        requests[1].body["messages"]
            .to_string()
            .contains("mind the tests")
    );
    assert!(
        !requests[2].body["messages"]
            .to_string()
            .contains("mind the tests")
    );
}

#[test]
fn a_message_can_stop_a_loop_or_be_discarded() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it --completion-promise DONE");
    model.wait_until_held("first", LIMIT);
    pane.line("never mind");
    pane.wait_to_see("What about your message?");
    pane.key("Down");
    pane.wait_to_see("→ Stop the loop and send it");
    pane.key("Down");
    pane.wait_to_see("→ Discard it");
    pane.key("Enter");
    wait_until_gone(&pane, "What about your message?");
    pane.line("what is this?");
    pane.wait_to_see("What about your message?");
    pane.key("Down");
    pane.wait_to_see("→ Stop the loop and send it");
    pane.key("Enter");
    pane.wait_to_see("Ralph: Cancelled: iteration 1 is the last");
    assert!(!has_state(&scene));
    model.release("first");
    let requests = model.wait_for_requests(2, LIMIT);
    pane.wait_to_see("More to do.");
    let sent = requests[1].body["messages"].to_string();
    assert!(
        sent.contains("what is this?") && !sent.contains("never mind"),
        "{sent}"
    );
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_loop_that_was_killed_is_mentioned_and_does_not_go_on() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("Killed");
    pane.line("stty sane; clear; echo again");
    assert!(has_state(&scene));
    start(&pane);
    pane.wait_to_see("A loop was left in iteration 1 by a Pi that has ended");
    pane.line("/cancel-ralph");
    pane.wait_to_see("was left by a Pi that has ended, and is removed");
    assert!(!has_state(&scene));
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn escape_stops_a_subagent() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it --subagent");
    model.wait_until_held("first", LIMIT);
    pane.wait_to_see("a subagent works");
    pane.wait_to_see("Ralph iteration 1");
    pane.key("Escape");
    pane.wait_to_see("Ralph: Cancelled in iteration 1");
    wait_until_gone(&pane, "Ralph loop · ");
    assert!(!has_state(&scene));
}

#[test]
fn help_and_status_are_read_in_the_terminal_with_and_without_a_loop() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-help");
    for line in [
        "/ralph-loop <prompt> [flags]    starts a loop",
        "--max-iterations N            stops after N iterations; 0, the default, is no limit",
        "/ralph-run [SOURCE]             starts ralph's own loop on a task file",
        "delete the file, and the loop stops after its iteration.",
    ] {
        pane.wait_to_see(line);
    }
    pane.line("/ralph-status");
    pane.wait_to_see("Ralph: No loop is active");
    pane.line("/ralph-loop \"Build it");
    pane.wait_to_see("the quote \" is never closed");
    assert!(model.requests().is_empty());
    pane.line("/ralph-loop Build it --completion-promise DONE --max-iterations 5");
    model.wait_until_held("first", LIMIT);
    pane.line("/ralph-status");
    pane.wait_to_see("  not recorded");
    let shown = pane.visible().join("\n");
    assert_eq!(
        shown.matches("Ralph loop · iteration 1/5 · ").count(),
        2,
        "in the conversation and above the editor:\n{shown}"
    );
    // The command is no message, which would be asked about.
    assert!(!shown.contains("What about your message?"), "{shown}");
    model.release("first");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    assert_eq!(model.requests().len(), 3);
    assert!(!has_state(&scene));
}
