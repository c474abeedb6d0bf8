//! `ralph health --watch` and `ralph monitor` in a real terminal, beside a loop that works.

use std::process::{Child, Stdio};

use crate::support::{Scene, ralph, wait};

const TASKS: &str = r#"{"project": "P", "userStories": [
  {"id": "A", "title": "Write A", "passes": false, "verify": ["test -f A.txt"]}]}"#;

/// A loop whose agent is at work; ended with the test.
struct Loop(Child);

impl Loop {
    fn start(scene: &Scene) -> Self {
        scene.write("agent.sh", "#!/bin/sh\necho begun; sleep 1000\n");
        let agent = scene.folder().join("agent.sh");
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
        let child = scene
            .clean(ralph().to_str().unwrap())
            .args(["run", "-q", "--agent"])
            .arg(format!("command:{}", agent.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The line that starts ralph with the data folder of the loop.
fn line(scene: &Scene, rest: &str) -> String {
    let data = scene.folder().join("data");
    let (data, ralph) = (data.display(), ralph());
    format!(
        "RALPH_DATA_DIR={data} {} {rest}; echo code=$?",
        ralph.display()
    )
}

#[test]
fn the_screen_shows_how_a_loop_does_and_that_it_is_gone() {
    for key in ["q", "C-c"] {
        let scene = Scene::with_tasks(TASKS, "");
        let mut running = Loop::start(&scene);
        let pane = scene.shell();
        let before = pane.keep_modes(&scene, "before");
        pane.line(&line(&scene, "health --watch"));
        pane.wait_for("q quits");
        pane.wait_for("P (prd.json)");
        pane.wait_for("process    alive");
        running.0.kill().unwrap();
        running.0.wait().unwrap();
        pane.wait_for("process    gone");
        pane.wait_for("resume");
        pane.key(key);
        pane.wait_for("code=0");
        pane.assert_plain();
        assert_eq!(pane.keep_modes(&scene, "after"), before, "{key}");
        assert!(!pane.screen().contains("q quits"), "{}", pane.screen());
    }
}

#[test]
fn ctrl_c_ends_the_monitor_and_not_the_loop() {
    let scene = Scene::with_tasks(TASKS, "");
    let mut running = Loop::start(&scene);
    let pane = scene.shell();
    pane.line(&line(&scene, "monitor --interval 1"));
    pane.wait_for("watching all loops on this machine every 1s");
    let repo = scene.repo().canonicalize().unwrap();
    let seen = format!("{}: P: ", repo.display());
    wait(
        || pane.screen().contains(&seen).then_some(()),
        || pane.screen(),
    );
    pane.key("C-c");
    pane.wait_for("code=0");
    assert!(running.0.try_wait().unwrap().is_none(), "the loop goes on");
    pane.assert_plain();
}
