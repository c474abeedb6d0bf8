//! `/ralph-run`: ralph's own loop as a child of Pi, here a script that writes its events.

use super::PiScene;

/// Writes how it was called and its first events, waits for a signal, and says how it ended.
const RUNS: &str = r#"
echo "$@" > "$NOTES/called"
trap 'echo "{\"event\":\"loop_ended\",\"sentence\":\"stopped by SIGINT\"}"; exit 130' INT
trap 'touch "$NOTES/terminated"; exit 143' TERM
echo '{"event":"loop_started","source":"tasks.md","agent":"claude","tasks":{"total":3,"completed":1}}'
echo '{"event":"iteration_started","task":"T2","title":"Login","nth":1}'
while :; do sleep 0.05; done
"#;

#[test]
fn a_run_is_shown_and_stopped() {
    let mut scene = PiScene::new("conversations: [{turns: [{say: one}]}]");
    scene.with_ralph(RUNS);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-run tasks.md");
    pi.wait(|line| line["widgetKey"] == "ralph-run" && line.to_string().contains("T2 Login"));
    let widget = pi.widget("ralph-run").unwrap();
    assert!(
        widget[0].starts_with("ralph run · iteration 1 · 1/3 tasks · "),
        "{widget:?}"
    );
    let called = std::fs::read_to_string(scene.path("called")).unwrap();
    assert_eq!(called, "run --json tasks.md\n");
    pi.prompt("/ralph-run other.md");
    pi.wait_to_hear("Ralph: a run is running: /cancel-ralph stops it");
    // It outlives a session of Pi's.
    pi.command("new_session");
    pi.prompt("/ralph-status");
    pi.wait_to_hear("ralph run · iteration 1");
    pi.prompt("/cancel-ralph");
    pi.wait_to_hear("Ralph: The run has ended: stopped by SIGINT");
    assert_eq!(pi.widget("ralph-run"), None);
    pi.prompt("/ralph-run --json");
    pi.wait_to_hear("/ralph-run takes a task file or folder, not --json");
}

#[test]
fn a_run_ends_with_pi() {
    let mut scene = PiScene::new("conversations: []");
    scene.with_ralph(RUNS);
    let mut pi = scene.rpc();
    pi.prompt("/ralph-run");
    pi.wait(|line| line["widgetKey"] == "ralph-run" && line.to_string().contains("T2 Login"));
    let called = std::fs::read_to_string(scene.path("called")).unwrap();
    assert_eq!(called, "run --json\n");
    pi.quit();
    assert!(scene.path("terminated").exists());
}

#[test]
fn a_run_that_fails_says_why() {
    let mut scene = PiScene::new("conversations: []");
    scene.with_ralph("echo 'error: no tasks found' >&2; exit 2");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-run");
    let told = pi.wait_to_hear("Ralph: The run has ended: error: no tasks found");
    assert_eq!(told["notifyType"], "warning");
}

#[test]
fn print_mode_waits_for_the_end_of_a_run() {
    let mut scene = PiScene::new("conversations: []");
    scene.with_ralph(
        "sleep 0.3; echo '{\"event\":\"loop_ended\",\"sentence\":\"all tasks are complete\"}'",
    );
    let output = scene.run(&["-p", "/ralph-run"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        told.contains("Ralph: The run has ended: all tasks are complete\n"),
        "{told}"
    );
}

#[test]
fn a_run_needs_ralph() {
    let scene = PiScene::new("conversations: []");
    let mut pi = scene.rpc();
    pi.prompt("/ralph-run");
    pi.wait_to_hear("Ralph: /ralph-run needs the program ralph on the PATH or in RALPH_BIN");
}
