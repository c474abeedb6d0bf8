//! ralph killed in the middle of a handoff: the next run ends where an undisturbed one would have.

use serde_json::json;

use super::{QUICK, run, say, wraps_up};
use crate::support::{Project, story};

/// Every place that an iteration with a handoff passes.
const PLACES: [&str; 8] = [
    "iteration-begun",
    "attempt-taken-up",
    "agent-running",
    "agent-ended",
    "agent-recorded",
    "kept",
    "recorded",
    "files-written",
];

/// The first agent at B hands over; the next one says whether it found its half.
fn project() -> Project {
    let done = vec![
        run("echo x > $RALPH_TASK_ID.txt"),
        say("Task {{RALPH_TASK_ID}} complete"),
    ];
    let goes_on = vec![
        run("ls half-$RALPH_TASK_ID.txt > $HOME/found; rm -f half-*; echo x > $RALPH_TASK_ID.txt"),
        say("Task {{RALPH_TASK_ID}} complete"),
    ];
    Project::with_stories(&[story("A"), story("B"), story("C")])
        .config(QUICK)
        .claude(&json!({
            "cases": [
                {"task": "A", "actions": done},
                {"task": "C", "actions": done},
                {"task": "B", "iteration": 2, "actions": wraps_up()},
            ],
            "default": goes_on,
        }))
}

#[test]
fn killed_anywhere_in_a_handoff_nothing_is_lost_and_nobody_is_charged() {
    for place in PLACES {
        // The pass at B: of most places the second, after that of A.
        let pass = match place {
            "attempt-taken-up" | "kept" => 1,
            _ => 2,
        };
        let project = project();
        let how = format!("{place}:{pass}");
        let ran = project.run_with("RALPH_FAILPOINT", &how);
        assert_eq!(ran.code(), -9, "{how}: {}", ran.all());
        project.assert_nothing_alive();
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A", "B", "C"], "{how}");
        assert_eq!(project.leftovers(), [""; 0], "{how}");
        let started = ran.named("iteration_started");
        assert_eq!(
            (&started[0]["task"], &started[0]["attempt"]),
            (&json!("B"), &json!(1)),
            "{how}"
        );
        project.assert_nothing_alive();
        // Before its agent had begun there is no half to go on from.
        let found = std::fs::read_to_string(project.repo.home().join("found")).unwrap();
        match place {
            "iteration-begun" | "agent-running" => {}
            _ => assert_eq!(found, "half-B.txt\n", "{how}"),
        }
    }
}

#[test]
fn while_a_fresh_agent_takes_over_the_loop_says_so() {
    let project = project();
    let ran = project.run_with("RALPH_FAILPOINT", "files-written:2");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    assert_eq!(project.loop_status()["state"], "handoff");
    let next = &project.status()["next"];
    assert_eq!(next["id"], "B");
    let why = "a fresh agent goes on with what another has begun";
    assert_eq!(next["why"], why);
    project.run(&[]).expect(0);
    assert_eq!(project.loop_status()["state"], "completed");
}
