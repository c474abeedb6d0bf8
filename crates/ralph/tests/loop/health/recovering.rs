//! What a fresh agent goes on from: the newest checkpoint that is valid.

use serde_json::json;

use crate::{
    checkpoints::sqlite,
    support::{Project, story},
};

/// Ended a few seconds after its start, without reminders.
const HASTY: &str = "\
loop: {stop_grace_seconds: 1}
health: {stuck_minutes: 0.02, max_nudges: 0, escalation_wait_minutes: 0.01, max_recoveries: 9}
";

#[test]
fn a_damaged_checkpoint_is_said_and_the_one_before_it_counts() {
    let project = Project::with_stories(&[story("A")]).config(HASTY);
    let prompts = project.outside("prompts").display().to_string();
    let stuck =
        |name: &str| json!([{"do": "write", "path": name, "text": "half\n"}, {"do": "hang"}]);
    let project = project.claude(&json!({
        "cases": [
            {"attempt": 1, "actions": stuck("one.txt")},
            {"attempt": 2, "actions": stuck("two.txt")},
        ],
        "default": [
            {"do": "recordPrompt", "file": prompts},
            {"do": "write", "path": "A.txt", "text": "A\n"},
            {"do": "say", "text": "Task A complete"},
        ],
    }));
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    assert_eq!(ran.verdicts(), ["A terminated", "A terminated"]);
    sqlite(
        &project,
        "UPDATE checkpoint SET body = body || ' ' WHERE n = 2",
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let warnings: Vec<String> = ran
        .named("warning")
        .iter()
        .map(|event| event["message"].as_str().unwrap().to_owned())
        .filter(|text| text.contains("(number 2) was changed"))
        .collect();
    assert_eq!(warnings.len(), 1, "{}", ran.all());
    assert!(warnings[0].contains("it is not gone on from"));
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert_eq!(
        prompts.matches("## Handoff from Iteration 1").count(),
        1,
        "{prompts}"
    );
    assert_eq!(prompts.matches("## Handoff from Iteration 2").count(), 0);
}
