//! Where there can be no conversation: said at once, with a way out, and exit code 2.

use std::process::{Command, Output, Stdio};

use crate::support::{Scene, ralph};

fn talk_without_terminal(scene: &Scene, args: &[&str]) -> Output {
    Command::new(ralph())
        .args(["agent", "talk"])
        .args(args)
        .env_clear()
        .envs(scene.env())
        .current_dir(scene.repo())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[track_caller]
fn assert_refused(output: &Output, says: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains(says), "{stderr}");
    assert!(stderr.contains("hint: "), "{stderr}");
}

#[test]
fn without_a_terminal_there_is_no_conversation() {
    let scene = Scene::with_script("echo never > never\n");
    let output = talk_without_terminal(&scene, &[]);
    assert_refused(&output, "there is no terminal to hand to script");
    assert_refused(&output, "the standard input is not a terminal");
    assert!(!scene.repo().join("never").exists());
}

#[test]
fn with_its_output_in_a_file_there_is_no_conversation() {
    let scene = Scene::with_script("echo never > never\n");
    let pane = scene.shell();
    pane.line(&scene.talk("> ../output"));
    pane.wait_for("the standard output is not a terminal");
    pane.wait_for("code=2");
    assert!(!scene.repo().join("never").exists());
}

#[test]
fn in_the_background_there_is_no_conversation() {
    let scene = Scene::with_script("echo never > never\n");
    let pane = scene.shell();
    pane.line(&format!("{{ {}; }} &", scene.talk("")));
    pane.wait_for("ralph runs in the background of its terminal");
    pane.wait_for("code=2");
}

#[test]
fn an_agent_without_a_conversation_says_so() {
    let scene = Scene::new();
    scene.write("repo/play.yaml", "default: {actions: []}\n");
    let output = talk_without_terminal(&scene, &["--agent", "command:cat"]);
    assert_refused(&output, "command:cat has no interactive mode");
}

#[test]
fn an_agent_that_is_not_there_leaves_the_terminal_alone() {
    let scene = Scene::new();
    scene.write(
        "repo/ralph.yaml",
        "agent: {name: missing, command: [no-such-agent], dialect: claude}\n",
    );
    let pane = scene.shell();
    let before = pane.keep_modes(&scene, "before");
    pane.line(&scene.talk(""));
    pane.wait_for("program not found: no-such-agent");
    pane.wait_for("code=2");
    assert_eq!(pane.keep_modes(&scene, "after"), before);
}
