//! `--subagent`: each iteration is a Pi process of its own.

use super::PiScene;
use super::scene::LIMIT;

const THREE: &str = r#"
conversations:
  - times: 1
    turns:
      - say: one
        tools: [{bash: "echo one > one.txt"}]
        usage: {input: 1000, output: 50}
      - say: more
  - times: 1
    turns: [{say: later, faults: [{status: 500, repeat: 2}, {status: 401}]}]
  - turns: [{say: "<promise>DONE</promise>"}]
"#;

#[test]
fn iterations_of_subagents_are_counted_and_their_promise_ends_the_loop() {
    let scene = PiScene::new(THREE);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop '- Build the thing' --subagent --completion-promise DONE");
    pi.wait_to_hear("Iteration 2 failed (1 in a row): 401");
    pi.wait_to_hear("Completion detected: <promise>DONE</promise>");
    assert!(
        scene.model.requests()[0]
            .text()
            .contains("- Build the thing")
    );
    assert!(
        scene.model.requests()[0].body["system"]
            .to_string()
            .contains("<promise>DONE</promise>")
    );
    assert_eq!(scene.lengths(), [1, 3, 1, 1, 1, 1, 1]);
    assert!(scene.repo().join("one.txt").exists());
    assert!(!scene.state_file().exists());
    let statuses = pi.statuses();
    assert!(
        statuses
            .iter()
            .any(|status| status == "Ralph iteration: 2 · 1.2k tokens · $0.0043"),
        "{statuses:?}"
    );
    // Nothing of it is in the conversation of the person.
    assert_eq!(
        pi.command("get_messages")["data"]["messages"]
            .as_array()
            .unwrap()
            .len(),
        0
    );
    let entries = pi.seen("entry_appended");
    let sent = entries
        .iter()
        .filter(|line| line["entry"]["customType"] == "ralph-loop");
    assert_eq!(sent.count(), 4);
}

#[test]
fn a_subagent_is_stopped_with_its_loop() {
    let scene = PiScene::new("conversations: [{turns: [{say: one, hold: first}]}]");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --subagent");
    scene.model.wait_until_held("first", LIMIT);
    pi.type_line("mind the tests");
    pi.choose("Steer");
    pi.wait_to_hear("goes into the prompt of the next iteration");
    pi.prompt("/cancel-ralph now");
    pi.wait_to_hear("Ralph: Cancelled in iteration 1");
    pi.prompt("/ralph-status");
    pi.wait_to_hear("No loop is active");
    assert!(!scene.state_file().exists());
    pi.quit();
}

#[test]
fn print_mode_waits_for_subagents() {
    let scene = PiScene::new(
        "conversations: [{times: 1, turns: [{say: more}]}, {turns: [{say: '<promise>DONE</promise>'}]}]",
    );
    let output = scene.run(&["-p", "/ralph-loop x --subagent --completion-promise DONE"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("Ralph: Completion detected"), "{told}");
    assert_eq!(scene.lengths(), [1, 1]);
}
