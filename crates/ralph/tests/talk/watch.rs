//! `ralph status --watch` in a real terminal.

use crate::support::{Scene, ralph};

const OPEN: &str = r#"[{"id":"A","title":"First"},{"id":"B","title":"Second"}]"#;
const DONE: &str =
    r#"[{"id":"A","title":"First","status":"completed"},{"id":"B","title":"Second"}]"#;

#[test]
fn the_screen_follows_the_task_file_and_q_and_ctrl_c_leave_the_terminal_as_it_was() {
    for key in ["q", "C-c"] {
        let scene = Scene::new();
        scene.write("repo/tasks.json", OPEN);
        let pane = scene.shell();
        let before = pane.keep_modes(&scene, "before");
        pane.line(&format!(
            "{} status --watch; echo code=$?",
            ralph().display()
        ));
        pane.wait_for("→ A First  next");
        pane.wait_for("q quits");
        scene.write("repo/tasks.json", DONE);
        pane.wait_for("1 of 2 completed");
        pane.wait_for("→ B Second  next");
        // Somebody is in the middle of an edit: it is said, and nothing ends.
        scene.write("repo/tasks.json", "[{");
        pane.wait_for("tasks.json:1");
        scene.write("repo/tasks.json", OPEN);
        pane.wait_for("→ A First  next");
        pane.key(key);
        pane.wait_for("code=0");
        pane.assert_plain();
        assert_eq!(pane.keep_modes(&scene, "after"), before, "{key}");
        assert!(!pane.screen().contains("q quits"), "{}", pane.screen());
    }
}
