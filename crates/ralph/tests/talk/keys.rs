//! Keys while `ralph run` works in a real terminal, and the terminal after every way to end.

use rustix::process::Signal;

use crate::support::{Pane, Scene, wait};

const TASKS: &str = r#"{"project": "P", "userStories": [
  {"id": "A", "title": "Write A", "passes": false, "verify": ["test -f A.txt"]},
  {"id": "B", "title": "Write B", "passes": false, "verify": ["test -f B.txt"]}]}"#;

const HINT: &str = "p pause · s say · l log · q stop";

/// An agent that works until the file `go` is there, and keeps its prompts.
fn scene() -> Scene {
    let scene = Scene::with_tasks(TASKS, "");
    let folder = scene.folder().display().to_string();
    scene.prepare(
        &format!(
            "cat >> {folder}/prompts\necho begun $RALPH_TASK_ID\n\
             while [ ! -e {folder}/go ]; do sleep 0.05; done\n\
             echo x > $RALPH_TASK_ID.txt; echo \"Task $RALPH_TASK_ID complete\"\n"
        ),
        "",
    );
    scene
}

fn at_work(pane: &Pane) {
    pane.wait_for(HINT);
    wait(
        || pane.is_raw().then_some(()),
        || format!("keys are not read:\n{}", pane.screen()),
    );
    pane.wait_for("begun A");
}

#[test]
fn keys_pause_and_continue_say_show_the_log_and_stop() {
    let scene = scene();
    let pane = scene.start();
    at_work(&pane);
    pane.key("l");
    pane.wait_for("last lines of .ralph/logs/iteration-1.txt");
    pane.wait_for("│ begun A");
    pane.key("p");
    pane.wait_for("the loop pauses when iteration 1 at A has ended");
    pane.wait_for("p continue");
    pane.key("s");
    pane.wait_for("Say (to the agent; Esc leaves it): ");
    pane.line("mind the gap");
    pane.wait_for("ralph say: ");
    scene.write("go", "");
    pane.wait_for("‖ paused");
    pane.key("p");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
    let prompts = std::fs::read_to_string(scene.folder().join("prompts")).unwrap();
    assert!(prompts.contains("mind the gap"), "{prompts}");
    pane.assert_plain();
}

#[test]
fn a_loop_ends_in_order_with_the_terminal_that_it_was_started_in() {
    let scene = scene();
    let pane = scene.start();
    at_work(&pane);
    pane.close();
    scene.assert_all_dead();
    let told = scene.told(&["status"]);
    assert!(told.contains("the terminal is gone (SIGHUP)"), "{told}");
}

#[test]
fn a_loop_that_is_started_to_outlive_its_terminal_goes_on_without_it() {
    let scene = scene();
    let pane = scene.shell();
    pane.line("trap '' HUP; . ../start");
    at_work(&pane);
    pane.close();
    scene.write("go", "");
    scene.assert_all_dead();
    let told = scene.told(&["status"]);
    assert!(told.contains("2 of 2 completed"), "{told}");
}

/// A way to end a loop that works, and the exit code that the shell sees.
type End = (&'static str, fn(&Pane, &Scene), &'static str);

#[test]
fn the_terminal_is_as_it_was_after_every_way_to_end() {
    let ends: [End; 6] = [
        ("done", |_, scene| scene.write("go", ""), "code=0"),
        ("q", |pane, _| pane.key("q"), "code=130"),
        ("ctrl-c", |pane, _| pane.key("C-c"), "code=130"),
        (
            "ctrl-c twice",
            |pane, _| {
                pane.key("C-c");
                pane.key("C-c");
            },
            "code=130",
        ),
        (
            "terminated",
            |pane, _| pane.foreground().signal(Signal::TERM),
            "code=143",
        ),
        ("ctrl-\\", |pane, _| pane.key("C-\\"), "code=131"),
    ];
    for (name, end, code) in ends {
        let scene = scene();
        let pane = scene.shell();
        let before = pane.keep_modes(&scene, "before");
        pane.line(". ../start");
        at_work(&pane);
        end(&pane, &scene);
        pane.wait_for(code);
        pane.assert_plain();
        assert_eq!(pane.keep_modes(&scene, "after"), before, "{name}");
        let rows = pane.visible();
        assert!(
            !rows.iter().any(|row| row.contains(HINT)),
            "{name}: {rows:?}"
        );
        scene.assert_all_dead();
    }
}

#[test]
fn a_loop_in_the_background_is_not_stopped_and_reads_keys_in_the_foreground_again() {
    let scene = scene();
    let pane = scene.shell();
    pane.line(". ../background");
    // It prints lines, and none that moves.
    pane.wait_for("▸ Write A");
    let prompts = scene.folder().join("prompts");
    wait(|| prompts.exists().then_some(()), || pane.screen());
    assert!(!pane.screen().contains(HINT), "{}", pane.screen());
    pane.line("echo typed-$((1+1))");
    pane.wait_for("typed-2");
    pane.line("fg");
    pane.wait_to_see(HINT);
    pane.key("C-z");
    pane.wait_for("Stopped");
    assert!(!pane.screen().contains("Stopped (tty"), "{}", pane.screen());
    pane.line("fg; echo code=$?");
    pane.wait_to_see(HINT);
    wait(|| pane.is_raw().then_some(()), || pane.screen());
    pane.key("q");
    pane.wait_for("code=130");
    scene.assert_all_dead();
}
