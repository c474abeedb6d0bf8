//! Lists of tasks that are not chosen yet, at a real terminal: a person is asked, and a yes is remembered.

use crate::support::{Scene, ralph};

const AGENT: &str = r#"echo x > "$RALPH_TASK_ID.txt"; echo "Task $RALPH_TASK_ID complete""#;

fn list(id: &str) -> String {
    let story = format!(
        r#"{{"id": "{id}", "title": "Write {id}", "passes": false, "verify": ["test -f {id}.txt"]}}"#
    );
    format!(r#"{{"features": [{story}]}}"#)
}

/// A repository with lists at these places, and no other tasks.
fn scene(files: &[(&str, &str)], before: &str) -> Scene {
    let scene = Scene::with_tasks("{}", "");
    for (path, id) in files {
        scene.write(&format!("repo/{path}"), &list(id));
    }
    for args in [
        &["rm", "-q", "prd.json"][..],
        &["add", "."],
        &["commit", "-qm", "lists"],
    ] {
        assert!(scene.clean("git").args(args).status().unwrap().success());
    }
    scene.prepare(AGENT, before);
    scene
}

#[test]
fn a_yes_starts_the_run_and_is_remembered() {
    let scene = scene(&[("feature_list.json", "A")], "");
    let pane = scene.start();
    pane.wait_for("work on feature_list.json (1 task, 1 open)? [y/N]");
    pane.line("y");
    pane.wait_for("`ralph run` works on feature_list.json from now on");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
    pane.assert_plain();
    let source = scene.told(&["tasks", "source"]);
    assert_eq!(
        source,
        "feature_list.json (chosen; `ralph tasks source --forget` forgets it)\n"
    );
    pane.line("clear; . ../start");
    pane.wait_for("tasks of feature_list.json, as chosen before");
    pane.wait_for("code=0");
}

#[test]
fn anything_but_a_yes_starts_nothing() {
    let scene = scene(&[("feature_list.json", "A")], "");
    let pane = scene.start();
    pane.wait_for("work on feature_list.json (1 task, 1 open)? [y/N]");
    pane.line("");
    pane.wait_for("error: no tasks were chosen, so nothing was started");
    pane.wait_for("ralph run feature_list.json");
    pane.wait_for("code=2");
    pane.assert_plain();
    assert!(!scene.repo().join("A.txt").exists());
    // Nothing is remembered either.
    let ralph = ralph();
    let mut source = scene.clean(ralph.to_str().unwrap());
    let output = source.args(["tasks", "source"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}

#[test]
fn one_of_several_is_chosen_by_its_number() {
    let files = [("feature_list.json", "A"), ("docs/feature_list.json", "B")];
    let scene = scene(&files, "");
    let pane = scene.start();
    pane.wait_for("  1  feature_list.json (1 task, 1 open)");
    pane.wait_for("  2  docs/feature_list.json (1 task, 1 open)");
    pane.wait_for("work on which one? [1-2, none]");
    pane.line("2");
    pane.wait_for("`ralph run` works on docs/feature_list.json from now on");
    pane.wait_for("code=0");
    assert!(scene.repo().join("B.txt").exists());
    assert!(!scene.repo().join("A.txt").exists());
}

#[test]
fn in_ci_nothing_is_asked_though_there_is_a_terminal() {
    let scene = scene(&[("feature_list.json", "A")], "CI=true");
    let pane = scene.start();
    pane.wait_for(
        "found tasks only in feature_list.json (1 task, 1 open), which is not chosen yet",
    );
    pane.wait_for("code=2");
}
