//! What a person can do about an agent that does not get on, from another terminal.

use serde_json::json;

use super::{SECONDS, levels, wait_for_level};
use crate::support::{Project, story};

/// Hangs until the file `go` is there, then does its task.
fn hangs(project: Project) -> Project {
    let go = project.outside("go");
    project.claude(&json!({"default": [
        {"do": "write", "path": "half.txt", "text": "half\n"},
        {"do": "hang", "untilFile": go},
        {"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x\n"},
        {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
    ]}))
}

#[test]
fn more_time_is_another_period_after_which_it_begins_again() {
    let project = hangs(Project::with_stories(&[story("A")]).config(SECONDS));
    let mut live = project.start(&[]);
    wait_for_level(&mut live, "escalate");
    assert_eq!(
        project.told(&["intervene", "more-time"]),
        "the agent of iteration 1 at A gets another 3 seconds without progress\n"
    );
    let health = project.loop_file("health.json");
    assert_eq!(
        (&health["state"], &health["answer_until"]),
        (&json!("degraded"), &json!(null))
    );
    // Stuck once more, it is reminded from the beginning.
    let nudged = wait_for_level(&mut live, "nudge");
    assert_eq!(nudged["nth"], 1);
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let done = levels(&ran.named("intervention"));
    assert_eq!(
        done[..5],
        ["nudge 1", "nudge 2", "nudge 3", "escalate 1", "nudge 1"]
    );
    assert!(!done.contains(&"terminate 1".to_owned()), "{done:?}");
}

#[test]
fn a_person_may_end_it_at_once_and_a_fresh_one_goes_on() {
    let project =
        hangs(Project::with_stories(&[story("A")]).config("loop: {stop_grace_seconds: 1}\n"));
    let mut live = project.start(&[]);
    live.wait_for("agent");
    assert_eq!(
        project.told(&["intervene", "terminate"]),
        "the agent of iteration 1 at A is ended; what it has done is kept\n"
    );
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A terminated", "A verified"]);
    assert_eq!(levels(&ran.named("intervention")), ["terminate 1"]);
    let ended = &ran.named("iteration_ended")[0];
    assert_eq!(ended["reason"], "a person ended it");
    project.assert_nothing_alive();
}
