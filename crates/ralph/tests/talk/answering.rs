//! A question asked where the loop runs, in a real terminal, and answered by typing.

use std::process::Command;

use crate::support::{Pane, Scene, ralph, wait};

const AGENT: &str = r#"
prompt=$(cat)
echo x > $RALPH_TASK_ID.txt
case "$prompt" in
*"Proceed with option 2"*|*"like this"*) echo "Task $RALPH_TASK_ID complete"; exit;;
esac
cat <<'END'
<escalate type="deviation">
<summary>Spec is old</summary>
<options>
1. Use v2
2. Use v1
</options>
<question>Which API version?</question>
</escalate>
END
"#;

const TASKS: &str = r#"{"project": "P", "userStories": [
  {"id": "A", "title": "Write A", "passes": false, "verify": ["test -f A.txt"]},
  {"id": "B", "title": "Write B", "passes": false, "verify": ["test -f B.txt"]}]}"#;

/// A repository with two stories, and an agent that asks about each of them first.
fn scene() -> Scene {
    let scene = Scene::new();
    scene.write("agent.sh", AGENT);
    scene.write("repo/prd.json", TASKS);
    scene.write(
        "home/.gitconfig",
        "[user]\n\tname = T\n\temail = t@test.invalid\n",
    );
    for args in [
        &["init", "-qb", "main"][..],
        &["add", "."],
        &["commit", "-qm", "s"],
    ] {
        let done = Command::new("git")
            .args(args)
            .current_dir(scene.repo())
            .env("HOME", scene.folder().join("home"))
            .status()
            .unwrap();
        assert!(done.success());
    }
    scene
}

fn start(scene: &Scene) -> Pane {
    let pane = scene.shell();
    let agent = scene.folder().join("agent.sh");
    std::fs::write(
        scene.folder().join("start"),
        format!(
            "RALPH_DATA_DIR={} {} {} run --agent command:{}\necho code=$?\n",
            scene.folder().join("data").display(),
            scene.mark(),
            ralph().display(),
            agent.display()
        ),
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    let text = std::fs::read_to_string(&agent).unwrap();
    std::fs::write(&agent, format!("#!/bin/bash\n{text}")).unwrap();
    std::fs::set_permissions(&agent, std::fs::Permissions::from_mode(0o755)).unwrap();
    pane.line(". ../start");
    pane
}

#[test]
fn a_person_at_the_terminal_is_asked_in_place_and_the_loop_goes_on() {
    let scene = scene();
    let pane = start(&scene);
    pane.wait_for("Which API version?");
    pane.wait_for("Options: [1-9] Select option  [c] Custom  [s] Skip  [r] Retry  [a] Abort");
    pane.line("7");
    pane.wait_for("question 1 has no option 7, only 1 to 2");
    pane.line("what");
    pane.wait_for("a number, c, s, r or a");
    pane.line("2");
    pane.wait_for("question 1 about A is answered");
    // The next story asks as well, and is answered in own words.
    pane.wait_for("question 2");
    pane.line("c");
    pane.wait_for("Guidance: ");
    pane.line("do it like this");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
    pane.assert_plain();
    scene.assert_all_dead();
}

#[test]
fn ctrl_c_at_the_question_ends_the_loop_and_the_next_one_asks_again() {
    let scene = scene();
    let pane = start(&scene);
    pane.wait_for("Choice: ");
    pane.key("C-c");
    pane.wait_for("code=130");
    scene.assert_all_dead();
    // What the first one asked must be gone, or it is taken for what the second one asks.
    pane.line(r"printf '\033[2J\033[3J\033[H'");
    wait(
        || (!pane.screen().contains("code=130")).then_some(()),
        || pane.screen(),
    );
    pane.line(". ../start");
    pane.wait_for("question 1 ");
    pane.wait_for("Choice: ");
    pane.line("a");
    pane.wait_for("code=4");
    scene.assert_all_dead();
}

#[test]
fn an_answer_from_another_terminal_takes_the_question_away() {
    let scene = scene();
    let pane = start(&scene);
    pane.wait_for("Choice: ");
    let answered = Command::new(ralph())
        .args(["answer", "1", "--option", "2"])
        .current_dir(scene.repo())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", scene.folder().join("home"))
        .env("RALPH_DATA_DIR", scene.folder().join("data"))
        .output()
        .unwrap();
    assert!(answered.status.success(), "{answered:?}");
    pane.wait_for("question 2");
    pane.wait_for("Which API version?");
    pane.line("s");
    pane.wait_for("B is skipped");
    pane.wait_for("code=0");
    scene.assert_all_dead();
}
