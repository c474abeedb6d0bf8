//! Questions where the loop runs, in a real terminal: other work goes on, and they are answered by typing.

use crate::support::{Scene, wait};

const AGENT: &str = r#"
prompt=$(cat)
echo x > $RALPH_TASK_ID.txt
case "$prompt" in
*"Proceed with option 2"*|*"like this"*) echo "Task $RALPH_TASK_ID complete"; exit;;
esac
[ $RALPH_TASK_ID = C ] && { while [ ! -e ../go ]; do sleep 0.05; done; echo "Task C complete"; exit; }
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

fn tasks(ids: &[&str]) -> String {
    let stories = ids.iter().map(|id| {
        format!(r#"{{"id": "{id}", "title": "Write {id}", "passes": false, "verify": ["test -f {id}.txt"]}}"#)
    });
    let stories: Vec<String> = stories.collect();
    format!(
        r#"{{"project": "P", "userStories": [{}]}}"#,
        stories.join(",")
    )
}

/// An agent that asks about A and B, and works at C until the file `go` is there.
fn scene(ids: &[&str], before: &str) -> Scene {
    let scene = Scene::with_tasks(&tasks(ids), "");
    let agent = AGENT.replace("../go", &scene.folder().join("go").display().to_string());
    scene.prepare(&agent, before);
    scene
}

#[test]
fn a_question_waits_while_other_tasks_are_worked_on_and_is_asked_when_the_loop_is_idle() {
    let scene = scene(&["A", "B"], "");
    let pane = scene.start();
    // The second story is begun before the first one's question is answered.
    pane.wait_for("question 2");
    pane.wait_for("question 1 · A: Which API version?");
    pane.wait_for("[1-2] Select option  [c] Custom  [s] Skip  [r] Retry  [a] Abort  [l] Later");
    pane.wait_to_see("waiting for an answer");
    pane.line("7");
    pane.wait_for("question 1 has no option 7, only 1 to 2");
    pane.line("what");
    pane.wait_for("a number, c, s, r, a or l");
    pane.line("2");
    pane.wait_for("question 1 about A is answered");
    pane.wait_for("question 2 · B: Which API version?");
    pane.line("c");
    pane.wait_for("Guidance: ");
    pane.line("do it like this");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
    pane.assert_plain();
    scene.assert_all_dead();
}

#[test]
fn a_key_answers_while_an_agent_works_at_another_task() {
    let scene = scene(&["A", "C"], "");
    let pane = scene.start();
    pane.wait_for("question 1 waits · a answer");
    pane.key("a");
    pane.wait_for("[1-2]");
    pane.line("2");
    pane.wait_for("question 1: the answer is taken when the iteration has ended");
    scene.write("go", "");
    pane.wait_for("question 1 about A is answered");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
    pane.assert_plain();
}

#[test]
fn l_leaves_a_question_for_later_and_the_loop_ends_without_it() {
    let scene = scene(&["A", "B"], "");
    let pane = scene.start();
    pane.wait_for("question 1 · A");
    pane.line("l");
    pane.wait_for("question 1 stays open: `ralph answer 1` answers it");
    pane.wait_for("question 2 · B");
    pane.key("Escape");
    pane.wait_for("what is left waits for a person's answer");
    pane.wait_for("code=4");
    assert!(scene.told(&["escalations"]).contains("question 2 · B"));
}

#[test]
fn a_question_without_an_answer_is_put_off_after_a_while() {
    let scene = scene(&["A"], "RALPH_LOOP_ASK_MINUTES=0.02");
    let pane = scene.start();
    pane.wait_for("Choice: ");
    pane.wait_for("question 1 stays open");
    pane.wait_for("code=4");
    pane.assert_plain();
}

#[test]
fn answering_what_ralph_asks_about_the_only_task_lets_the_loop_go_on() {
    let scene = Scene::with_tasks(
        &tasks(&["A"]),
        "loop: {max_attempts: 9, gutter: {diagnose: false}}\n",
    );
    let agent = r#"prompt=$(cat)
case "$prompt" in *"call it A.txt"*) echo x > A.txt;; *) echo x >> other.txt;; esac
echo "Task A complete""#;
    scene.prepare(agent, "");
    let pane = scene.start();
    pane.wait_for("failed the same way 3 times in a row");
    pane.wait_for("Choice: ");
    pane.line("c");
    pane.wait_for("Guidance: ");
    pane.line("call it A.txt");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
}

#[test]
fn ctrl_c_at_the_question_ends_the_loop_and_the_next_one_asks_again() {
    let scene = scene(&["A"], "");
    let pane = scene.start();
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
    let scene = scene(&["A", "B"], "");
    let pane = scene.start();
    pane.wait_for("Choice: ");
    scene.told(&["answer", "1", "--option", "2"]);
    pane.wait_for("question 2 · B: Which API version?");
    pane.line("s");
    pane.wait_for("B is skipped");
    pane.wait_for("code=0");
    scene.assert_all_dead();
}

#[test]
fn with_quiet_output_a_question_is_asked_in_lines_and_the_terminal_is_not_changed() {
    let scene = scene(&["A"], "");
    let start = std::fs::read_to_string(scene.folder().join("start")).unwrap();
    scene.write("start", &start.replace(" run ", " run -q "));
    let pane = scene.start();
    pane.wait_for("Choice: ");
    assert!(!pane.is_raw());
    pane.line("2");
    pane.wait_for("all tasks are complete");
    pane.wait_for("code=0");
}
