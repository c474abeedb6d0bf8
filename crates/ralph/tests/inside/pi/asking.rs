//! A person's message while a loop runs: steer, stop and send, discard.

use super::PiScene;
use super::scene::LIMIT;

/// The first turn is held; its tool makes Pi ask the model once more in the same iteration.
const TOOL: &str = r#"
conversations:
  - times: 1
    turns:
      - say: one
        hold: {name: first, at: before_headers}
        tools: [{bash: "true"}]
      - say: two
      - say: three
  - turns: [{say: next}]
"#;

#[test]
fn a_message_that_steers_goes_into_the_running_iteration() {
    let scene = PiScene::new(TOOL);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 2");
    scene.model.wait_until_held("first", LIMIT);
    pi.type_line("look at a.txt");
    pi.choose("Steer");
    pi.wait(|line| line["type"] == "queue_update");
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
    let requests = scene.model.requests();
    let with_it = requests.iter().filter(|request| {
        request.body["messages"]
            .to_string()
            .contains("look at a.txt")
    });
    assert_eq!(
        with_it.map(|request| request.sequence).collect::<Vec<_>>(),
        [2]
    );
    assert_eq!(scene.lengths(), [1, 4, 1]);
}

#[test]
fn a_message_that_stops_the_loop_is_answered_and_nothing_follows() {
    let scene = PiScene::new(TOOL);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.type_line("what is going on?");
    pi.choose("Stop");
    pi.wait_to_hear("Ralph: Cancelled: iteration 1 is the last");
    pi.wait(|line| line["type"] == "queue_update");
    assert!(!scene.state_file().exists());
    scene.model.release("first");
    pi.wait(|line| line["type"] == "agent_settled");
    pi.catch_up();
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1].body["messages"]
            .to_string()
            .contains("what is going on?")
    );
}

#[test]
fn a_message_that_is_discarded_changes_nothing() {
    let scene = PiScene::new(TOOL);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 2");
    scene.model.wait_until_held("first", LIMIT);
    pi.type_line("no, wait");
    pi.choose("Discard");
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
    let requests = scene.model.requests();
    assert!(
        !requests
            .iter()
            .any(|request| request.body["messages"].to_string().contains("no, wait"))
    );
    assert_eq!(scene.lengths(), [1, 3, 1]);
}

#[test]
fn a_question_that_is_open_when_the_iteration_ends_holds_the_next_one() {
    let scene = PiScene::new(
        "conversations: [{times: 1, turns: [{say: one, hold: first}]}, {turns: [{say: two}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 2");
    scene.model.wait_until_held("first", LIMIT);
    pi.type_line("mind the tests");
    pi.wait(|line| line["method"] == "select");
    scene.model.release("first");
    pi.wait(|line| line["type"] == "agent_end");
    pi.catch_up();
    assert_eq!(scene.model.requests().len(), 1);
    pi.answer_last("Steer");
    pi.wait_to_hear("goes into the prompt of the next iteration");
    pi.wait_to_hear("Max iterations (2) reached");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2);
    assert!(
        requests[1]
            .text()
            .contains("x\n\nA person says:\n\nmind the tests")
    );
    assert_eq!(scene.lengths(), [1, 1]);
}
