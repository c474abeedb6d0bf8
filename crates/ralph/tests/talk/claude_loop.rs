//! The loop inside Claude Code, as a person sees and steers it in a terminal.

mod sessions;

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use ralph_testkit::{agents, model::ScriptedModel};
use serde_json::Value;

use crate::support::{LIMIT, Pane, Scene, ralph, wait};

/// A repository, and a home with the plugin and with everything answered that Claude Code would ask at its very first
/// start.
fn prepared(scenario: &str) -> (Scene, ScriptedModel) {
    let (scene, model) = Scene::with_claude(scenario);
    let git = Command::new("git")
        .args(["init", "-q", "-b", "main"])
        .current_dir(scene.repo())
        .status();
    assert!(git.unwrap().success());
    // Later versions ask for the top of the repository itself.
    let answers = serde_json::json!({
        "hasCompletedOnboarding": true,
        "customApiKeyResponses": {"approved": ["dummy-key"], "rejected": []},
        "projects": {scene.repo().to_str().unwrap(): {"hasTrustDialogAccepted": true}},
    });
    scene.write("home/.claude.json", &answers.to_string());
    let installed = ralph_in(&scene, &["install", "claude"]);
    assert!(installed.status.success(), "{installed:?}");
    (scene, model)
}

fn ralph_in(scene: &Scene, args: &[&str]) -> Output {
    let mut command = Command::new(ralph());
    command.args(args).env_clear().envs(scene.env());
    command.current_dir(scene.repo()).output().unwrap()
}

/// The one loop in the journal.
fn recorded(scene: &Scene) -> Value {
    let output = ralph_in(scene, &["loops", "--json"]);
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let sessions = listed["sessions"].as_array().expect("a loop in a session");
    assert_eq!(sessions.len(), 1, "{listed}");
    sessions[0].clone()
}

/// Starts Claude Code in a terminal.
fn start(pane: &Pane, claude: &Path, args: &str) {
    pane.line(&format!(
        "{} --dangerously-skip-permissions {args}",
        claude.display()
    ));
    pane.wait_to_see("bypass permissions on");
}

/// Claude Code in a terminal, with the plugin.
fn started_with(claude: PathBuf, scenario: &str) -> (Scene, ScriptedModel, Pane) {
    let (scene, model) = prepared(scenario);
    let pane = scene.shell();
    start(&pane, &claude, "");
    (scene, model, pane)
}

fn state(scene: &Scene) -> Option<String> {
    std::fs::read_to_string(scene.repo().join(".claude/ralph-loop.local.md")).ok()
}

#[track_caller]
fn wait_for_no_state(scene: &Scene, pane: &Pane) {
    wait(
        || state(scene).is_none().then_some(()),
        || format!("the state is still there:\n{}", pane.screen()),
    );
}

#[test]
fn a_loop_shows_its_iterations_and_its_end() {
    shows_a_loop(agents::claude());
}

#[test]
fn a_loop_shows_its_iterations_and_its_end_in_another_version() {
    shows_a_loop(agents::second_claude().0);
}

fn shows_a_loop(claude: PathBuf) {
    let (scene, model, pane) = started_with(
        claude,
        r#"
conversations:
  - turns:
      - say: I look around first.
        tools: [{bash: "echo one > one.txt"}]
      - say: The first part is done.
      - say: The second part is done.
        faults: [{status: 529}, {status: 500}]
      - say: "All of it.\n\n<promise>DONE</promise>"
"#,
    );
    pane.line("/ralph-loop Build it --completion-promise DONE --max-iterations 5");
    pane.wait_for("Ralph iteration 2/5");
    pane.wait_for("Ralph iteration 3/5");
    pane.wait_for("Ralph: Completion detected: <promise>DONE</promise>");
    wait_for_no_state(&scene, &pane);
    assert_eq!(recorded(&scene)["iterations"], 3, "failed calls are none");
    let with_tools = model
        .requests()
        .iter()
        .filter(|r| !r.tools().is_empty())
        .count();
    assert_eq!(with_tools, 6, "two of them failed");
    pane.line("/exit");
    pane.wait_for("ready>");
}

#[test]
fn a_loop_is_ended_by_a_person_or_by_what_claude_code_does_itself() {
    stops_and_cancels(agents::claude());
}

#[test]
fn a_loop_is_ended_by_a_person_or_by_what_claude_code_does_itself_in_another_version() {
    stops_and_cancels(agents::second_claude().0);
}

fn stops_and_cancels(claude: PathBuf) {
    let (scene, model) = prepared(
        r#"
conversations:
  - turns:
      - say: I look around first.
        hold: {name: first, at: after_block}
      - say: One.
      - say: Two.
      - say: Three.
"#,
    );
    let pane = scene.shell();
    pane.line("export CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=2");
    start(&pane, &claude, "");
    pane.line("/ralph-loop Build it --max-iterations 5");
    model.wait_until_held("first", LIMIT);
    // Without a word of the agent's, the command would be back in the editor.
    pane.wait_for("I look around first.");
    pane.key("Escape");
    pane.wait_for("Interrupted");
    model.release("first");
    assert!(
        state(&scene).is_some(),
        "an interruption is no end: the person decides"
    );
    pane.line("/cancel-ralph");
    pane.wait_for("Ralph: loop cancelled at iteration 1/5");
    wait_for_no_state(&scene, &pane);
    pane.line("/cancel-ralph");
    pane.wait_for("Ralph: no loop is active here");
    pane.line("/ralph-loop Build it --max-iteration 5");
    pane.wait_for("did you mean --max-iterations?");
    pane.line("/ralph-loop \"Build it --max-iterations 5");
    pane.wait_for("the quote \" is never closed in \"Build");
    assert!(state(&scene).is_none());
    // The next loop is ended by what Claude Code does itself after so many answers.
    pane.line("/ralph-loop Build it --max-iterations 5");
    pane.wait_for("Ralph: loop ended at iteration 3/5: Claude Code ends a turn after 2 answers");
    wait_for_no_state(&scene, &pane);
}

#[test]
fn a_state_file_that_is_broken_or_deleted_ends_the_loop_and_is_said() {
    loses_its_state(agents::claude());
}

#[test]
fn a_state_file_that_is_broken_or_deleted_ends_the_loop_and_is_said_in_another_version() {
    loses_its_state(agents::second_claude().0);
}

fn loses_its_state(claude: PathBuf) {
    let (scene, model, pane) = started_with(
        claude,
        "conversations: [{turns: [{say: One., hold: first}, {say: Two., hold: second}]}]\n",
    );
    let file = scene.repo().join(".claude/ralph-loop.local.md");
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    let broken = state(&scene)
        .unwrap()
        .replace("iteration: 1", "iteration: one");
    std::fs::write(&file, &broken).unwrap();
    model.release("first");
    pane.wait_for("is broken (its front matter can't be read:");
    assert_eq!(state(&scene).unwrap(), broken);
    pane.line("/cancel-ralph");
    pane.wait_for("Ralph: the state file was removed");
    wait_for_no_state(&scene, &pane);
    pane.line("/ralph-loop Build it");
    model.wait_until_held("second", LIMIT);
    std::fs::remove_file(&file).unwrap();
    model.release("second");
    pane.wait_for("was deleted: the loop has stopped after iteration 1");
    assert_eq!(
        model
            .requests()
            .iter()
            .filter(|r| !r.tools().is_empty())
            .count(),
        2
    );
}

#[test]
fn a_session_that_a_person_leaves_leaves_no_loop_behind() {
    leaves(agents::claude());
}

#[test]
fn a_session_that_a_person_leaves_leaves_no_loop_behind_in_another_version() {
    leaves(agents::second_claude().0);
}

fn leaves(claude: PathBuf) {
    let (scene, model, pane) = started_with(
        claude,
        r#"
conversations:
  - when: Build that
    turns: [{say: I begin again., hold: {name: second, at: after_block}}]
  - turns: [{say: I begin., hold: {name: first, at: after_block}}]
"#,
    );
    pane.line("/ralph-loop Build it");
    model.wait_until_held("first", LIMIT);
    pane.wait_for("I begin.");
    pane.key("Escape");
    pane.wait_for("Interrupted");
    model.release("first");
    // What follows is another session.
    pane.line("/clear");
    wait_for_no_state(&scene, &pane);
    pane.line("/ralph-loop Build that");
    model.wait_until_held("second", LIMIT);
    pane.wait_for("I begin again.");
    pane.key("Escape");
    pane.wait_for("Interrupted");
    model.release("second");
    assert!(state(&scene).is_some());
    pane.line("/exit");
    pane.wait_for("ready>");
    wait_for_no_state(&scene, &pane);
}

#[test]
fn commands_bring_what_ralph_reports_to_the_model() {
    shows_reports(agents::claude());
}

#[test]
fn commands_bring_what_ralph_reports_to_the_model_in_another_version() {
    shows_reports(agents::second_claude().0);
}

fn shows_reports(claude: PathBuf) {
    let turns: Vec<String> = (1..=5).map(|n| format!("{{say: Shown {n}.}}")).collect();
    let scenario = format!("conversations: [{{turns: [{}]}}]\n", turns.join(", "));
    let (_scene, model, pane) = started_with(claude, &scenario);
    let table = [
        ("/health-status", "no loop is running"),
        ("/token-status", "no budgets"),
        ("/cost-report", "By loop:"),
        ("/ralph:checkpoint before the change", "before the change"),
        ("/ralph-help", "How it differs"),
    ];
    for (n, (command, told)) in (1..).zip(table) {
        pane.line(command);
        pane.wait_for(&format!("Shown {n}."));
        let requests = model.requests();
        let asked = requests.iter().rfind(|request| !request.tools().is_empty());
        let text = asked.unwrap().text();
        assert!(text.contains(told), "{command}: no {told:?} in {text}");
    }
}

#[test]
fn a_promise_that_fails_its_verification_is_shown_and_does_not_end_the_loop() {
    verifies(agents::claude());
}

#[test]
fn a_promise_that_fails_its_verification_is_shown_and_does_not_end_the_loop_in_another_version() {
    verifies(agents::second_claude().0);
}

fn verifies(claude: PathBuf) {
    let (scene, model) = prepared(
        r#"
conversations:
  - turns:
      - say: "<promise>DONE</promise>"
      - tools: [{bash: "echo right > result.txt"}]
      - say: "<promise>DONE</promise>"
"#,
    );
    let config = "verification: {commands: ['grep -q right result.txt']}\n";
    scene.write("repo/ralph.yaml", config);
    let who = ["-c", "user.name=T", "-c", "user.email=t@test.invalid"];
    let commit = [&who[..], &["commit", "-q", "--allow-empty", "-m", "start"]].concat();
    let git = scene.clean("git").args(commit).status();
    assert!(git.unwrap().success());
    let pane = scene.shell();
    start(&pane, &claude, "");
    pane.line("/ralph-loop Build it --completion-promise DONE --verify --max-iterations 5");
    pane.wait_for("Ralph iteration 2/5 (the promise was verified, and fails)");
    pane.wait_for("Ralph: Completion detected: <promise>DONE</promise>");
    wait_for_no_state(&scene, &pane);
    let requests = model.requests();
    let told = requests.iter().any(|request| {
        let text = request.text();
        text.contains("grep -q right result.txt: failed with exit code 2")
    });
    assert!(told, "the agent is told what failed");
    let row = recorded(&scene);
    assert_eq!(
        (&row["verify"], &row["reason"], &row["iterations"]),
        (&true.into(), &"promise".into(), &2.into()),
        "{row}"
    );
}
