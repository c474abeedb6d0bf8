//! `loop.gutter.then: pause`: a task for a person, a question, and a loop that waits.

use serde_json::json;

use super::{ADDS, agent, same_failure};
use crate::support::wait_until;

const PAUSE: &str = "  gutter:\n    then: pause\n";

#[test]
fn pause_adds_a_task_that_no_agent_is_given_and_waits_for_resume() {
    let attempt = format!("if [ $RALPH_TASK_ID = B ]; then echo B > B.txt; else {ADDS}; fi");
    let project = agent(same_failure(PAUSE), &attempt, "echo why");
    let live = project.start(&[]);
    wait_until("the loop pauses", || {
        !project.status()["loop"]["pausedAt"].is_null()
    });
    let human = project.story_in_file("HUMAN-A");
    assert_eq!(human["title"], "Human intervention required: A");
    assert_eq!(human["status"], "blocked");
    let description = human["description"].as_str().unwrap();
    assert!(
        description.starts_with("`test -f A.txt` failed the same way 3 times in a row. "),
        "{description}"
    );
    assert_eq!(project.status()["running"], true);
    assert_eq!(
        project.landed(),
        [""; 0],
        "B is not begun before somebody says so"
    );
    project.told(&["resume"]);
    let ran = live.wait().expect(4);
    assert_eq!(
        ran.verdicts(),
        [
            "A failed",
            "A failed",
            "A diagnosed",
            "A failed",
            "B verified"
        ]
    );
    assert_eq!(ran.named("gutter")[1]["then"], "pause");
    assert_eq!(ran.one("question")["task"], "A");
    assert_eq!(ran.stop(), json!({"why": "question"}));
}

#[test]
fn an_answer_and_resume_let_the_stuck_task_go_on() {
    let project = same_failure(PAUSE);
    let prompt = project.outside("prompt");
    let attempt = format!(
        "if grep -q 'call it A.txt' {}-$RALPH_ITERATION || [ $RALPH_TASK_ID = B ]; then echo x > $RALPH_TASK_ID.txt; else {ADDS}; fi",
        prompt.display()
    );
    let project = agent(project, &attempt, "echo why");
    let live = project.start(&[]);
    wait_until("the loop pauses", || {
        !project.status()["loop"]["pausedAt"].is_null()
    });
    project.told(&["answer", "A", "--guidance", "call it A.txt"]);
    project.told(&["resume"]);
    let ran = live.wait().expect(4);
    assert_eq!(project.landed(), ["A", "B"]);
    // What is left is the person's own to tick off.
    assert_eq!(ran.stop()["why"], "nothing_ready");
    project.told(&["skip", "--task", "HUMAN-A", "--reason", "settled"]);
    project.run(&[]).expect(0);
}
