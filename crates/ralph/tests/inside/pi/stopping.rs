//! A person stops a loop: at once, after its iteration, by the file, by leaving the session.

use super::scene::LIMIT;
use super::{PiRpc, PiScene};

const HELD: &str = r#"
conversations:
  - times: 1
    turns: [{say: one, hold: {name: first, at: mid_stream}}]
  - turns: [{say: two}]
"#;

#[test]
fn an_abort_stops_the_loop_and_leaves_nothing() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.command("abort");
    pi.wait_to_hear("Ralph: Stopped in iteration 1");
    assert!(!scene.state_file().exists());
    assert_eq!(pi.statuses().last().unwrap(), "");
    pi.wait(|line| line["type"] == "agent_settled");
    // Nothing of it comes back with the next message.
    pi.prompt("hello");
    pi.wait(|line| line["type"] == "agent_settled");
    pi.catch_up();
    assert_eq!(scene.model.requests().len(), 2);
}

#[test]
fn an_abort_while_a_tool_runs_stops_the_loop() {
    let scene = PiScene::new(
        "conversations: [{turns: [{say: one, tools: [{bash: 'touch started; sleep 300'}]}, {say: two}]}]",
    );
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    pi.wait(|line| line["type"] == "tool_execution_start");
    pi.command("abort");
    pi.wait_to_hear("Ralph: Stopped in iteration 1");
    pi.catch_up();
    assert!(!scene.state_file().exists());
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn a_cancelled_loop_finishes_its_iteration_and_begins_no_other() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: Cancelled: iteration 1 is the last");
    assert!(!scene.state_file().exists());
    pi.prompt("/ralph-loop y");
    pi.wait_to_hear("the last iteration of the cancelled loop still runs");
    scene.model.release("first");
    let settled = pi.wait(|line| line["type"] == "agent_settled");
    assert_eq!(settled["aborted"], false);
    pi.catch_up();
    assert_eq!(scene.model.requests().len(), 1);
    pi.prompt("/ralph-loop y --max-iterations 1");
    pi.wait_to_hear("Max iterations (1) reached");
}

#[test]
fn a_loop_that_is_cancelled_now_stops_in_the_middle() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.prompt("/cancel-ralph soon");
    pi.wait_to_hear("/cancel-ralph takes nothing or now, not \"soon\"");
    pi.prompt("/cancel-ralph now");
    pi.wait_to_hear("Ralph: Cancelled in iteration 1");
    let settled = pi.wait(|line| line["type"] == "agent_settled");
    assert_eq!(settled["aborted"], true);
    pi.catch_up();
    assert!(!scene.state_file().exists());
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn a_state_file_that_is_deleted_stops_the_loop() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    std::fs::remove_file(scene.state_file()).unwrap();
    scene.model.release("first");
    pi.wait_to_hear("ralph-loop.local.md was deleted: the loop has stopped after iteration 1");
    assert_eq!(pi.statuses().last().unwrap(), "");
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn a_state_file_that_is_broken_stops_the_loop_and_is_left() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    let broken = scene.state().replace("iteration: 1", "iteration: one");
    std::fs::write(scene.state_file(), &broken).unwrap();
    scene.model.release("first");
    let told = pi.wait_to_hear("can't be read (iteration is not a number from 0)");
    assert_eq!(told["notifyType"], "warning");
    pi.catch_up();
    assert_eq!(scene.model.requests().len(), 1);
    assert_eq!(scene.state(), broken);
    // A person who starts a new loop is told that it is replaced.
    pi.prompt("/ralph-loop y --max-iterations 1");
    pi.wait_to_hear("could not be read (iteration is not a number from 0), and is replaced");
    pi.wait_to_hear("Max iterations (1) reached");
}

#[test]
fn what_a_person_writes_into_the_state_file_holds_from_the_next_iteration_on() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    let edited = scene
        .state()
        .replace("max_iterations: 0", "max_iterations: 2");
    let edited = edited.replace("\n---\n\nx\n", "\n---\n\nanother prompt\n");
    std::fs::write(scene.state_file(), edited).unwrap();
    scene.model.release("first");
    pi.wait_to_hear("Max iterations (2) reached");
    let requests = scene.model.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests[1].text().contains("another prompt"));
}

/// An extension that holds Pi while it ends a session and while it begins the next, as long as a file says so.
const HOLDS: &str = r#"
import { existsSync, writeFileSync } from "node:fs";
export default function (pi) {
	for (const event of ["session_shutdown", "session_start"]) {
		pi.on(event, async () => {
			const file = `${process.env.NOTES}/${event}`;
			if (!existsSync(file)) return;
			writeFileSync(`${file}.held`, "");
			while (existsSync(file)) await new Promise((resolve) => setTimeout(resolve, 10));
		});
	}
}
"#;

#[test]
fn a_loop_that_is_stopped_between_two_sessions_begins_no_other_iteration() {
    for event in ["session_shutdown", "session_start"] {
        for by in ["command", "file"] {
            let mut scene = PiScene::new(HELD);
            let notes = scene.path("").to_str().unwrap().to_owned();
            scene.set("NOTES", &notes);
            std::fs::write(scene.path("holds.ts"), HOLDS).unwrap();
            let holds = scene.path("holds.ts");
            let args = ["--mode", "rpc", "-e", holds.to_str().unwrap()];
            let mut pi = PiRpc::start(scene.pi(&args));
            pi.prompt("/ralph-loop x");
            scene.model.wait_until_held("first", LIMIT);
            std::fs::write(scene.path(event), "").unwrap();
            scene.model.release("first");
            scene.wait_for_file(&format!("{event}.held"));
            if by == "command" {
                pi.prompt("/cancel-ralph");
            } else {
                std::fs::remove_file(scene.state_file()).unwrap();
            }
            std::fs::remove_file(scene.path(event)).unwrap();
            pi.wait_to_hear(match by {
                "command" => "Ralph: Cancelled before iteration 2",
                _ => "was deleted: the loop has stopped after iteration 1",
            });
            pi.prompt("/ralph-status");
            pi.wait_to_hear("Ralph: No loop is active");
            assert_eq!(scene.model.requests().len(), 1, "{event} {by}");
            assert!(!scene.state_file().exists(), "{event} {by}");
        }
    }
}

#[test]
fn a_person_who_begins_another_session_leaves_the_loop() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.command("new_session");
    pi.wait_to_hear("Ralph: Stopped in iteration 1");
    pi.catch_up();
    assert!(!scene.state_file().exists());
    assert_eq!(scene.model.requests().len(), 1);
}

#[test]
fn a_pi_that_quits_takes_its_loop_with_it() {
    let scene = PiScene::new(HELD);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-loop x");
    scene.model.wait_until_held("first", LIMIT);
    pi.quit();
    assert!(!scene.state_file().exists());
}
