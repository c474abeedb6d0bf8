//! State files of others: a Pi that was killed, another Pi that lives, an unrelated one.

use super::PiScene;
use super::scene::LIMIT;

const HELD: &str = r#"
conversations:
  - when: question
    turns: [{say: an answer}]
  - times: 1
    turns: [{say: one, hold: first}]
  - turns: [{say: two}]
"#;

#[test]
fn a_loop_that_was_killed_does_not_go_on_by_itself() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 3");
    scene.model.wait_until_held("first", LIMIT);
    let killed = pi.pid();
    pi.kill();
    let left = scene.state();
    let mut again = scene.rpc();
    again.wait_to_hear("A loop was left in iteration 1 by a Pi that has ended");
    again.prompt("a question");
    again.wait(|line| line["type"] == "agent_settled");
    again.prompt("/ralph-status");
    again.wait_to_hear(&format!(
        "was left in iteration 1 by a Pi that has ended (process {killed})"
    ));
    assert_eq!(scene.model.requests().len(), 2);
    assert_eq!(scene.state(), left);
    // A person who starts a new loop is told what it replaces.
    again.prompt("/ralph-loop y --max-iterations 1");
    again.wait_to_hear(&format!(
        "was left by a Pi that has ended (process {killed}, iteration 1 of \"x\"), and is replaced"
    ));
    again.wait_to_hear("Max iterations (1) reached");
    assert!(!scene.state_file().exists());
}

#[test]
fn what_a_killed_loop_left_can_be_taken_away() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.kill();
    let mut again = scene.rpc();
    again.prompt("/cancel-ralph");
    again.wait_to_hear("was left by a Pi that has ended, and is removed");
    assert!(!scene.state_file().exists());
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn another_pi_in_the_folder_leaves_a_loop_alone() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x --max-iterations 2");
    scene.model.wait_until_held("first", LIMIT);
    let before = scene.state();
    let output = scene.run(&["-p", "a question"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "an answer\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(scene.model.requests().len(), 2);
    let owner = pi.pid();
    for (command, said) in [
        (
            "/ralph-loop y",
            format!(
                "another Pi (process {owner}) has a loop in this folder (iteration 1 of \"x\"): cancel it there first"
            ),
        ),
        (
            "/cancel-ralph",
            format!("belongs to another Pi (process {owner}): cancel it there"),
        ),
        (
            "/ralph-status",
            format!("Another Pi (process {owner}) has a loop in this folder, in iteration 1"),
        ),
    ] {
        let output = scene.run(&["-p", command]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains(&said), "{command}: {told}");
    }
    assert_eq!(scene.state(), before);
    assert_eq!(scene.model.requests().len(), 2);
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
}

#[test]
fn an_owner_whose_process_id_was_given_away_is_gone() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    let state = scene.state();
    pi.kill();
    // This process lives, and was started at another time than the owner.
    let own = format!("owner_pid: {}", std::process::id());
    let state = state.replace(&format!("owner_pid: {}", pi.pid()), &own);
    std::fs::write(scene.state_file(), state).unwrap();
    let mut again = scene.rpc();
    again.wait_to_hear("A loop was left in iteration 1 by a Pi that has ended");
}
