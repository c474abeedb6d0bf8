//! The loop inside Pi, as a person sees and steers it in a terminal.

mod run;

use std::path::Path;

use ralph_testkit::agents;
use ralph_testkit::model::{Request, ScriptedModel};
use rustix::process::Signal;

use crate::support::{LIMIT, Pane, Scene, ralph, wait};

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

/// The package finds this program.
fn use_ralph(pane: &Pane, program: &Path) {
    pane.line(&format!("export RALPH_BIN={}", program.display()));
}

/// A repository with one commit: ralph verifies a change, and that is one of something.
fn commit_all(scene: &Scene) {
    scene.write(
        "home/.gitconfig",
        "[user]\n\tname = T\n\temail = t@test.invalid\n",
    );
    for args in [
        &["init", "-qb", "main"][..],
        &["add", "."],
        &["commit", "-qm", "s"],
    ] {
        assert!(scene.clean("git").args(args).status().unwrap().success());
    }
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

#[test]
fn a_promise_that_fails_its_verification_is_shown_and_does_not_end_the_loop() {
    let (scene, model) = Scene::with_pi(
        r#"
conversations:
  - times: 1
    turns: [{say: "<promise>DONE</promise>"}]
  - turns:
      - tools: [{write: {path: made.txt, content: "made\n"}}]
      - say: "<promise>DONE</promise>"
"#,
    );
    scene.write(
        "repo/ralph.yaml",
        "verification: {commands: ['test -e made.txt']}\n",
    );
    commit_all(&scene);
    let pane = scene.shell();
    use_ralph(&pane, &ralph());
    start(&pane);
    pane.line("/ralph-loop Build it --completion-promise DONE --verify --max-iterations 4");
    pane.wait_to_see("The promise was made in iteration 1, but verification failed");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].text().contains("test -e made.txt"));
    assert!(!has_state(&scene));
}

#[test]
fn failed_calls_are_no_iterations_and_the_limit_ends_a_loop() {
    let (scene, model, pane) = started(
        r#"
conversations:
  - times: 1
    turns: [{say: one}]
  - times: 1
    turns: [{say: two, faults: [{status: 500, repeat: 2}]}]
  - turns: [{say: "<promise>OTHER</promise> <promise>DONE</promise>"}]
"#,
    );
    pane.line("/ralph-loop Build it --max-iteration 3");
    pane.wait_to_see("did you mean --max-iterations?");
    assert!(!has_state(&scene));
    pane.line("/ralph-loop Build it --completion-promise DONE --max-iterations 3");
    pane.wait_to_see("Ralph iteration 3/3");
    pane.wait_to_see("Ralph: Max iterations (3) reached");
    wait_until_gone(&pane, "Ralph loop · ");
    assert_eq!(model.requests().len(), 5, "two of them failed");
    assert!(!has_state(&scene));
}

#[test]
fn iterations_in_one_context_follow_each_other_in_one_conversation() {
    let (scene, model, pane) = started(
        "conversations: [{turns: [{say: First part.}, {say: Second part.}, {say: '<promise>DONE</promise>'}]}]",
    );
    pane.line("/ralph-loop Build it --same-context --completion-promise DONE");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    for shown in [
        "Ralph iteration 1",
        "First part.",
        "Ralph iteration 2",
        "Second part.",
        "Ralph iteration 3",
    ] {
        pane.wait_to_see(shown);
    }
    let messages = |request: &Request| request.body["messages"].as_array().unwrap().len();
    let lengths: Vec<usize> = model.requests().iter().map(messages).collect();
    assert_eq!(lengths, [1, 3, 5]);
    assert!(!has_state(&scene));
}

#[test]
fn iterations_of_subagents_are_shown_until_their_promise() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it --subagent --completion-promise DONE");
    model.wait_until_held("first", LIMIT);
    pane.wait_to_see("a subagent works");
    model.release("first");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    pane.wait_to_see("Ralph iteration 2");
    wait_until_gone(&pane, "Ralph loop · ");
    assert_eq!(model.requests().len(), 3);
    assert!(!has_state(&scene));
}

#[test]
fn a_state_file_that_is_broken_or_deleted_stops_the_loop() {
    let (scene, model, pane) = started(
        "conversations: [{times: 1, turns: [{say: one, hold: first}]}, {turns: [{say: two, hold: second}]}]",
    );
    let file = scene.repo().join(".pi/ralph-loop.local.md");
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    let state = std::fs::read_to_string(&file).unwrap();
    let broken = state.replace("iteration: 1", "iteration: one");
    std::fs::write(&file, &broken).unwrap();
    model.release("first");
    pane.wait_to_see("can't be read (iteration is not a number from 0)");
    wait_until_gone(&pane, "Ralph loop · ");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), broken);
    pane.line("/ralph-loop Build it");
    pane.wait_to_see("could not be read (iteration is not a number from 0), and is replaced");
    model.wait_until_held("second", LIMIT);
    std::fs::remove_file(&file).unwrap();
    model.release("second");
    pane.wait_to_see("ralph-loop.local.md was deleted: the loop has stopped after iteration 1");
    wait_until_gone(&pane, "Ralph loop · ");
    assert_eq!(model.requests().len(), 2);
}

#[test]
fn a_second_pi_in_the_folder_leaves_a_loop_alone_and_can_not_start_one() {
    let (scene, model, pane) = started(HELD);
    pane.line("/ralph-loop Build it --completion-promise DONE");
    model.wait_until_held("first", LIMIT);
    let other = scene.shell();
    start(&other);
    for (typed, said) in [
        ("/ralph-status", "has a loop in this folder, in iteration 1"),
        ("/cancel-ralph", "): cancel it there"),
        (
            "/ralph-loop Something else",
            "has a loop in this folder (iteration 1 of \"Build it\"): cancel it there first",
        ),
    ] {
        other.line(typed);
        other.wait_to_see(said);
    }
    assert!(has_state(&scene));
    model.release("first");
    pane.wait_to_see("Ralph: Completion detected: <promise>DONE</promise>");
    let shown = other.visible().join("\n");
    assert!(!shown.contains("Completion detected"), "{shown}");
    assert_eq!(model.requests().len(), 3);
}
