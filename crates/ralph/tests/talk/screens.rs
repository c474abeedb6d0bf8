//! The screens of `ralph run` and `ralph status` in small and large terminals: while an agent works, while its
//! work is verified, paused, and with a question open.

use ralph_testkit::fake_agent::fake_agent;
use serde_json::json;

use crate::support::{Pane, Scene, ralph, wait};

const SIZES: [(usize, usize); 2] = [(80, 24), (200, 50)];

const TASKS: &str = r#"{"project": "P", "userStories": [
  {"id": "A", "title": "Write A", "passes": false, "verify": ["test -f A.txt"]},
  {"id": "B", "title": "Write B", "passes": false, "verify": ["test -f B.txt"]}]}"#;

const QUESTION: &str = "<escalate type=\"stuck\">\n<summary>No key</summary>\n\
    <options>\n1. Wait\n2. Use a dummy\n</options>\n<question>Which key is used?</question>\n</escalate>";

/// An agent that asks about A, and at B uses some tools and waits for the file `go`; its work is verified until the
/// file `checked` is there.
fn scene() -> Scene {
    let scene = Scene::with_tasks(TASKS, "");
    let file = |name: &str| scene.folder().join(name).display().to_string();
    let check = format!(
        "echo 'check one'; echo 'check two is the last line'; while [ ! -e {} ]; do sleep 0.05; done\n",
        file("checked")
    );
    scene.write("check.sh", &check);
    let config = format!(
        "verification:\n  baseline: false\n  commands: [\"sh {}\"]\n",
        file("check.sh")
    );
    scene.write("repo/ralph.yaml", &config);
    let commit = ["commit", "-qam", "config"];
    assert!(scene.clean("git").args(commit).status().unwrap().success());
    let scenario = json!({"cases": [{"task": "A", "actions": [{"do": "say", "text": QUESTION}]}], "default": [
        {"do": "write", "path": "notes.txt", "text": "n"},
        {"do": "run", "command": "ls -la some/folder/that/is/not/there"},
        {"do": "run", "command": "echo third"},
        {"do": "run", "command": "echo fourth"},
        {"do": "say", "text": "I think about it"},
        {"do": "hang", "untilFile": file("go")},
        {"do": "write", "path": "B.txt", "text": "b"},
        {"do": "say", "text": "Task B complete"},
    ]});
    scene.write("scenario.json", &scenario.to_string());
    let before = format!(
        "FAKE_AGENT_SCENARIO={} RALPH_CLAUDE_COMMAND='[{:?}]'",
        file("scenario.json"),
        fake_agent()
    );
    scene.prepare_with("claude", &before);
    scene
}

/// The last rows, once the terminal shows this text.
#[track_caller]
fn rows(pane: &Pane, text: &str, last: usize) -> Vec<String> {
    pane.wait_to_see(text);
    let rows = pane.visible();
    rows[rows.len().saturating_sub(last)..].to_vec()
}

#[test]
fn each_screen_says_what_is_done_and_which_keys_there_are() {
    for (columns, height) in SIZES {
        let scene = scene();
        let pane = scene.shell_of(columns, height);
        pane.line("clear; . ../start");
        let keys = "p pause · s say · l log · q stop";
        let waits = format!("  question 1 waits · a answer · {keys}");

        // An agent works, and a question is open.
        let working = rows(&pane, "I think about it", 5);
        assert!(working[0].contains("bash  ls -la"), "{working:#?}");
        assert!(working[1].contains("bash  echo third"), "{working:#?}");
        assert!(working[2].contains("bash  echo fourth"), "{working:#?}");
        assert!(
            working[3].contains("B · 2/50 · I think about it · "),
            "{working:#?}"
        );
        assert_eq!(working[4], waits);
        let status = scene.told(&["status"]);
        assert!(status.contains("Which key is used?"), "{status}");

        // A pause is asked for, then the work is verified.
        pane.key("p");
        pane.wait_to_see("p continue");
        scene.write("go", "");
        let verifying = rows(&pane, "│ check two is the last line", 6);
        assert!(verifying[2].contains("write B.txt"), "{verifying:#?}");
        assert!(verifying[3].contains("verify sh "), "{verifying:#?}");
        assert_eq!(verifying[4], "  │ check two is the last line");
        assert!(
            verifying[5].starts_with("  question 1 waits"),
            "{verifying:#?}"
        );

        // Paused: the question is asked, and put off.
        scene.write("checked", "");
        pane.wait_to_see("Choice:");
        let asked = pane.visible();
        let options = "[1-2] Select option  [c] Custom  [s] Skip  [r] Retry  [a] Abort  [l] Later";
        assert!(
            asked
                .iter()
                .any(|row| options.starts_with(row.as_str()) && !row.is_empty()),
            "{asked:#?}"
        );
        pane.key("Escape");
        let paused = rows(&pane, "p continue", 2);
        assert!(
            paused[0].starts_with("‖ paused; `ralph resume` continues"),
            "{paused:#?}"
        );
        assert!(paused[1].contains("p continue"), "{paused:#?}");
        wait(
            || scene.told(&["status"]).contains("paused on ").then_some(()),
            || scene.told(&["status"]),
        );
        pane.key("p");
        pane.wait_for("what is left waits for a person's answer");
        pane.wait_for("code=4");
        pane.assert_plain();
        let left = pane.visible();
        assert!(!left.iter().any(|row| row.contains("q stop")), "{left:#?}");
    }
}

/// The rows of the terminal, none of which goes on in the next one because it was full.
#[track_caller]
fn whole_rows(pane: &Pane) -> Vec<String> {
    let rows = pane.visible();
    let joined = pane.joined();
    assert_eq!(joined, rows, "broken at the edge of the terminal");
    rows
}

/// Asserts that these rows stand below one another.
#[track_caller]
fn assert_rows(rows: &[String], expected: &[&str]) {
    let found = rows.windows(expected.len()).any(|some| some == expected);
    assert!(found, "no {expected:#?} in {rows:#?}");
}

#[test]
fn the_end_of_a_run_and_the_status_are_wrapped_between_words() {
    let tasks = r#"{"project": "P", "userStories": [
      {"id": "A", "title": "Write the file with a title that has no room in one line of a small terminal",
       "passes": false, "verify": ["test -f A.txt"]},
      {"id": "B", "title": "Write B", "passes": false, "verify": ["test -f B.txt"]}]}"#;
    let config = "verification: {baseline: false}\nloop: {max_iterations: 1}\n";
    let scene = Scene::with_tasks(tasks, config);
    scene.prepare("echo a > A.txt; echo 'Task A complete'", "");
    let data = scene.folder().join("data");
    let status = format!(
        "RALPH_DATA_DIR={} {} status\necho code=$?\n",
        data.display(),
        ralph().display()
    );
    scene.write("status", &status);
    let pane = scene.shell_of(80, 24);
    pane.line("clear; . ../start");
    pane.wait_for("code=3");
    let end = whole_rows(&pane);
    assert_rows(
        &end,
        &[
            "             next:",
            "               git diff main...ralph/p",
            "                 1 commit on ralph/p",
            "               ralph report",
            "                 everything about this feature",
            "               git switch main && git merge ralph/p",
            "                 take it into main",
        ],
    );
    assert_rows(&end, &["             in one line of a small terminal"]);
    pane.line("clear; . ../status");
    pane.wait_to_see("code=0");
    let status = whole_rows(&pane);
    let ended = "loop        not running; ended just now: the limit of one iteration is reached";
    let agent = scene.folder().join("agent.sh");
    let whose = format!("            (on ralph/p with command:{})", agent.display());
    assert_rows(&status, &[ended, &whose]);
    assert_rows(&status, &["            it)"]);
    // Another program gets the lines whole.
    let piped = scene.told(&["status"]);
    assert!(
        piped.contains("(`ralph checkpoint show` shows it)\n"),
        "{piped}"
    );
}
