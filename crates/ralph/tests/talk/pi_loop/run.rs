//! `/ralph-run` in a terminal: ralph's own loop above the editor of Pi.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use super::{commit_all, start, use_ralph, wait_until_gone};
use crate::support::{Scene, ralph};

/// Writes a program `ralph` that is used in place of the real one.
fn with_ralph(scene: &Scene, script: &str) -> PathBuf {
    scene.write("ralph", &format!("#!/bin/bash\n{script}\n"));
    let program = scene.folder().join("ralph");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    program
}

#[test]
fn a_run_of_ralphs_own_is_shown_above_the_editor_and_stopped() {
    let (scene, model) = Scene::with_pi("conversations: [{turns: [{say: I am here.}]}]");
    let program = with_ralph(
        &scene,
        r#"
trap 'echo "{\"event\":\"loop_ended\",\"sentence\":\"stopped by SIGINT\"}"; exit 130' INT
echo '{"event":"loop_started","source":"tasks.md","agent":"claude","tasks":{"total":3,"completed":1}}'
echo '{"event":"iteration_started","task":"T2","title":"Login","nth":1}'
while :; do sleep 0.05; done
"#,
    );
    let pane = scene.shell();
    use_ralph(&pane, &program);
    start(&pane);
    pane.line("/ralph-run --json");
    pane.wait_to_see("Ralph: /ralph-run takes a task file or folder, not --json");
    pane.line("/ralph-run tasks.md");
    pane.wait_to_see("Ralph: The run has started; /cancel-ralph stops it");
    pane.wait_to_see("ralph run · iteration 1 · 1/3 tasks · ");
    pane.wait_to_see("T2 Login");
    // The editor is the person's meanwhile.
    pane.line("how are you?");
    pane.wait_to_see("I am here.");
    pane.line("/ralph-run other.md");
    pane.wait_to_see("Ralph: a run is running: /cancel-ralph stops it");
    pane.line("/cancel-ralph");
    pane.wait_to_see("Ralph: The run has ended: stopped by SIGINT");
    wait_until_gone(&pane, "ralph run · ");
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn a_run_of_the_real_ralph_lands_a_task_while_pi_shows_it() {
    let (scene, _model) = Scene::with_pi("conversations: []");
    scene.write(
        "repo/prd.json",
        r#"{"userStories": [{"id": "T1", "title": "Login", "verify": ["test -f T1.txt"], "passes": false}]}"#,
    );
    scene.write(
        "agent.yaml",
        "tasks: {T1: [{do: [{run: 'echo done > T1.txt'}, {say: Task T1 complete}]}]}\n",
    );
    let agent = scene.folder().join("agent.yaml");
    scene.write(
        "repo/ralph.yaml",
        &format!("agent: 'script:{}'\n", agent.display()),
    );
    commit_all(&scene);
    let pane = scene.shell();
    use_ralph(&pane, &ralph());
    start(&pane);
    pane.line("/ralph-run prd.json");
    pane.wait_to_see("Ralph: The run has ended: all tasks are complete");
    wait_until_gone(&pane, "ralph run · ");
    let made = scene.clean("git").args(["show", "HEAD:T1.txt"]).output();
    assert_eq!(made.unwrap().stdout, b"done\n");
}
