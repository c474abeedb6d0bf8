//! A loop in a terminal belongs to one session: others, subagents, resumed ones and the built-in goal leave it its own.

use std::path::PathBuf;

use ralph_testkit::{agents, model::Request};
use rustix::process::Signal;

use super::{recorded, start, started_with, state, wait_for_no_state};
use crate::support::LIMIT;

/// A loop whose first answer waits; any other conversation gets one answer.
const HELD: &str = r#"
conversations:
  - when: Build it
    turns:
      - say: I begin.
        hold: {name: begun, at: before_headers}
      - say: "<promise>DONE</promise>"
  - turns: [{say: Hello.}]
"#;

#[test]
fn a_second_terminal_in_the_folder_leaves_a_loop_alone_and_can_not_start_one() {
    two_terminals(agents::claude());
}

#[test]
fn a_second_terminal_in_the_folder_leaves_a_loop_alone_and_can_not_start_one_in_another_version() {
    two_terminals(agents::second_claude().0);
}

fn two_terminals(claude: PathBuf) {
    let (scene, model, pane) = started_with(claude.clone(), HELD);
    pane.line("/ralph-loop Build it --completion-promise DONE");
    model.wait_until_held("begun", LIMIT);
    let before = state(&scene).unwrap();
    let other = scene.shell();
    start(&other, &claude, "");
    other.line("how are you?");
    other.wait_for("Hello.");
    other.line("/ralph-loop Something else");
    other.wait_for("Ralph: a loop is active in this folder already, at iteration 1 in session");
    // Its end is the end of another session.
    other.line("/exit");
    other.wait_for("ready>");
    assert_eq!(state(&scene).unwrap(), before);
    model.release("begun");
    pane.wait_for("Ralph: Completion detected: <promise>DONE</promise>");
    wait_for_no_state(&scene, &pane);
    let shown = other.screen();
    assert!(!shown.contains("Ralph iteration"), "{shown}");
    assert_eq!(recorded(&scene)["reason"], "promise");
}

#[test]
fn a_killed_session_that_is_resumed_says_that_its_loop_is_over() {
    resumes(agents::claude());
}

#[test]
fn a_killed_session_that_is_resumed_says_that_its_loop_is_over_in_another_version() {
    resumes(agents::second_claude().0);
}

fn resumes(claude: PathBuf) {
    let (scene, model, pane) = started_with(
        claude.clone(),
        "conversations: [{turns: [{say: Hello.}, {say: I am here., hold: begun}]}]\n",
    );
    pane.line("how are you?");
    pane.wait_for("Hello.");
    pane.line("/ralph-loop Build it --completion-promise DONE");
    model.wait_until_held("begun", LIMIT);
    pane.foreground().signal(Signal::KILL);
    pane.wait_for("Killed");
    model.release("begun");
    let left = state(&scene).unwrap();
    let mut lines = left.lines();
    let session = lines.find_map(|line| line.strip_prefix("session_id: "));
    let session = session.unwrap().trim_matches('"');
    pane.line("stty sane; clear");
    let before = model.requests().len();
    start(&pane, &claude, &format!("--resume {session}"));
    pane.wait_for("Ralph: the loop of this session was interrupted at iteration 1 and is over");
    wait_for_no_state(&scene, &pane);
    pane.line("what now?");
    pane.wait_for("I am here.");
    let with_tools = |request: &&Request| !request.tools().is_empty();
    let requests = model.requests();
    let after = requests[before..].iter().filter(with_tools).count();
    assert_eq!(after, 1, "one answer, and no loop");
    assert_eq!(recorded(&scene)["reason"], "session_ended");
}

#[test]
fn the_end_of_a_subagent_is_no_iteration() {
    delegates(agents::claude());
}

#[test]
fn the_end_of_a_subagent_is_no_iteration_in_another_version() {
    delegates(agents::second_claude().0);
}

fn delegates(claude: PathBuf) {
    let (scene, model, pane) = started_with(
        claude,
        r#"
conversations:
  - when: Look at the files
    turns:
      - tools: [{bash: "ls"}]
      - say: "Seen. <promise>DONE</promise>"
  - turns:
      - tools:
          - call: {name: Agent, input: {description: look, prompt: Look at the files, subagent_type: general-purpose}}
      - say: It has looked.
      - say: "<promise>DONE</promise>"
      # Later versions have it work beside the conversation, which hears of its end.
      - say: I have heard of it.
"#,
    );
    pane.line("/ralph-loop Build it --completion-promise DONE");
    pane.wait_for("Ralph iteration 2");
    pane.wait_for("Ralph: Completion detected: <promise>DONE</promise>");
    wait_for_no_state(&scene, &pane);
    let shown = pane.screen();
    assert!(!shown.contains("Ralph iteration 3"), "{shown}");
    assert_eq!(recorded(&scene)["iterations"], 2);
    assert!(model.unscripted().is_empty(), "{:?}", model.unscripted());
}

/// The judge of `/goal` is asked without tools; it is content once the loop is over.
const WITH_GOAL: &str = r#"
conversations:
  - when: "condition: \"all is well\""
    without_tools: true
    turns:
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": false, "reason": "not yet"}'
      - say: '{"ok": true, "reason": "it is"}'
      - say: '{"ok": true, "reason": "it is"}'
      - say: '{"ok": true, "reason": "it is"}'
  - turns:
      - say: I begin.
        hold: {name: begun, at: after_block}
      - say: one
      - say: two
      - say: three
      - say: four
      - say: five
"#;

#[test]
fn a_goal_that_is_built_in_and_a_loop_are_both_obeyed() {
    pursues_a_goal(agents::claude());
}

#[test]
fn a_goal_that_is_built_in_and_a_loop_are_both_obeyed_in_another_version() {
    pursues_a_goal(agents::second_claude().0);
}

fn pursues_a_goal(claude: PathBuf) {
    let (scene, model, pane) = started_with(claude, WITH_GOAL);
    pane.line("/goal all is well");
    model.wait_until_held("begun", LIMIT);
    pane.wait_for("I begin.");
    pane.key("Escape");
    pane.wait_for("Interrupted");
    model.release("begun");
    pane.line("/ralph-loop Build it --max-iterations 2");
    pane.wait_for("Ralph iteration 2/2");
    pane.wait_for("Ralph: Max iterations (2) reached");
    wait_for_no_state(&scene, &pane);
    let judged = || {
        let requests = model.requests();
        let asked = requests.iter().filter(|request| {
            let text = request.text();
            text.contains("Answer based on transcript evidence only")
        });
        asked.count()
    };
    crate::support::wait(
        || (judged() >= 2).then_some(()),
        || format!("the goal was judged {} times", judged()),
    );
}
