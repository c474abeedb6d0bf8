//! A ralph that is killed in between: no count is lost, nothing is diagnosed twice.

use serde_json::Value;

use super::{ADDS, agent};
use crate::support::{Project, every_second, story};

/// How all iterations ended, by the journal.
fn verdicts(project: &Project) -> Vec<String> {
    let output = project.ralph(&["report", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let timeline = report["timeline"].as_array().unwrap().iter();
    timeline
        .map(|point| point["verdict"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn wherever_it_is_killed_one_diagnosis_is_made_and_one_question_asked() {
    let undisturbed: &[&str] = &["failed", "failed", "diagnosed", "failed"];
    let cut_off: &[&str] = &["failed", "failed", "interrupted", "diagnosed", "failed"];
    // The second attempt, the diagnosis, the third attempt.
    let table = [
        ("recorded:2", undisturbed),
        ("files-written:2", undisturbed),
        ("iteration-begun:3", cut_off),
        ("agent-running:3", cut_off),
        ("agent-recorded:3", undisturbed),
        ("inspected:3", undisturbed),
        ("kept:3", undisturbed),
        ("recorded:3", undisturbed),
        ("files-written:3", undisturbed),
        ("recorded:4", undisturbed),
        ("files-written:4", undisturbed),
    ];
    for (place, expected) in every_second(&table, 0) {
        let config = "loop:\n  max_verify_retries: 0\n  max_no_progress: 9\n";
        let project = Project::with_stories(&[story("A")]).config(config);
        let calls = project.outside("diagnoses");
        let diagnosis = format!("echo x >> {}; echo why", calls.display());
        let project = agent(project, ADDS, &diagnosis);
        let killed = project.run_with("RALPH_FAILPOINT", place);
        assert_eq!(killed.code(), -9, "{place}: {}", killed.all());
        let ran = project.run(&[]).expect(4);
        assert_eq!(verdicts(&project), expected, "{place}");
        let escalation = &ran.one("question")["escalation"];
        let context = escalation["context"].as_str().unwrap();
        assert!(context.ends_with("why"), "{place}: {context}");
        let made = std::fs::read_to_string(&calls).unwrap().lines().count();
        let started = if place == "agent-running:3" {
            1..=2
        } else {
            1..=1
        };
        assert!(started.contains(&made), "{place}: {made} diagnoses");
        assert_eq!(project.leftovers(), [""; 0], "{place}");
    }
}
