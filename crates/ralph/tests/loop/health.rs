//! An agent that makes no progress, with seconds instead of minutes: reminded, asked about, ended, and
//! gone on from. Real processes; every wait is for an event.

mod breaking;
mod choosing;
mod real;
mod recovering;

use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, story, wait_until, write_program};

/// Stuck after three seconds, ended after nine.
const SECONDS: &str = "\
loop: {stop_grace_seconds: 1}
health: {stuck_minutes: 0.05, nudge_wait_minutes: 0.02, escalation_wait_minutes: 0.04}
";

/// Keeps what people are told.
fn telling(project: Project, config: &str) -> Project {
    let (program, file) = (project.outside("tell"), project.outside("messages"));
    write_program(&program, &format!("cat >> {}", file.display()));
    project.config(&format!(
        "{config}notify: {{command: [{}]}}\n",
        program.display()
    ))
}

/// One that gets stuck at its first attempt, in a tool that never ends, and does its task at the next.
fn gets_stuck(project: Project) -> Project {
    let prompts = project.outside("prompts").display().to_string();
    let child = project.outside("child.pid").display().to_string();
    project.claude(&json!({
        "cases": [{"attempt": 1, "actions": [
            {"do": "recordPrompt", "file": prompts},
            {"do": "write", "path": "half.txt", "text": "half\n"},
            {"do": "spawnChild", "pidFile": child},
            {"do": "awaitMessage"}, {"do": "awaitMessage"}, {"do": "awaitMessage"},
            {"do": "run", "command": "sleep 1000"},
        ]}],
        "default": [
            {"do": "recordPrompt", "file": prompts},
            {"do": "write", "path": "A.txt", "text": "A\n"},
            {"do": "say", "text": "Task A complete"},
        ],
    }))
}

/// Levels of what was done about agents, in their order.
fn levels(events: &[Value]) -> Vec<String> {
    let level = |e: &Value| format!("{} {}", e["level"].as_str().unwrap(), e["nth"]);
    events.iter().map(level).collect()
}

fn states(events: &[Value]) -> Vec<&str> {
    events
        .iter()
        .map(|e| e["state"].as_str().unwrap())
        .collect()
}

impl Project {
    /// The folder of the one loop there is.
    fn loop_folder(&self) -> PathBuf {
        let all = std::fs::read_dir(self.repo.data_dir().join("ralph-loops")).unwrap();
        let all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    /// Shows this working tree by `ralph health`.
    fn health(&self) -> Value {
        let shown = self.ralph(&["health", "--json"]).output().unwrap();
        serde_json::from_slice(&shown.stdout).unwrap()
    }

    fn loop_file(&self, name: &str) -> Value {
        let text = std::fs::read_to_string(self.loop_folder().join(name)).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

/// Waits until this is done about the agent.
fn wait_for_level(live: &mut Live, level: &str) -> Value {
    loop {
        let event = live.wait_for("intervention");
        if event["level"] == level {
            return event;
        }
    }
}

#[test]
fn a_stuck_agent_is_reminded_asked_about_and_ended_and_a_fresh_one_lands_the_task() {
    let project = gets_stuck(telling(Project::with_stories(&[story("A")]), SECONDS));
    let mut live = project.start(&[]);
    let asked = wait_for_level(&mut live, "escalate");
    let health = project.loop_file("health.json");
    assert_eq!(health["doing"], "agent");
    assert_eq!(
        (&health["state"], &health["nudges"]),
        (&json!("stuck"), &json!(3))
    );
    assert_eq!(
        (&health["iteration"], &health["task_id"]),
        (&json!(1), &json!("A"))
    );
    assert_eq!(health["intervention"], "escalate");
    assert_eq!(health["answer_until"], asked["until"]);
    let hint = "`ralph intervene more-time` lets it go on, `ralph intervene handoff` has a fresh agent \
                go on, `ralph intervene terminate` ends it now";
    assert_eq!(asked["hint"], hint);
    // A person is told while there is still time to answer.
    wait_until("the message", || {
        std::fs::read_to_string(project.outside("messages"))
            .is_ok_and(|text| text.contains("ralph intervene"))
    });

    let ran = live.wait().expect(0);
    let expected = ["nudge 1", "nudge 2", "nudge 3", "escalate 1", "terminate 1"];
    assert_eq!(levels(&ran.named("intervention")), expected);
    assert_eq!(states(&ran.named("health")), ["stuck", "terminated"]);
    let heard: Vec<Value> = ran
        .named("agent")
        .into_iter()
        .filter(|e| e["kind"] == "nudge" && e["state"] == "delivered")
        .collect();
    assert_eq!(heard.len(), 3, "the agent had them on its stdin");
    let text = heard[0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(
            "REMINDER: You have been working for 3 seconds without checkpoint update."
        ),
        "{text}"
    );
    assert_eq!(ran.verdicts(), ["A terminated", "A verified"]);
    project.assert_nothing_alive();

    // What it had done was kept and gone on with, and the fresh one knows where it stopped.
    assert_eq!(project.files_of("HEAD"), ["A.txt", "half.txt", "prd.json"]);
    let prompts = std::fs::read_to_string(project.outside("prompts")).unwrap();
    assert_eq!(
        prompts.matches("## Handoff from Iteration 1").count(),
        1,
        "{prompts}"
    );
    let status = project.loop_file("status.json");
    let of = |nth: usize| status["iterations"][nth]["health_state"].clone();
    assert_eq!((of(0), of(1)), (json!("terminated"), json!("healthy")));
    assert_ne!(status["iterations"][0]["checkpoint_id"], "");
    assert!(
        !project.loop_folder().join("health.json").exists(),
        "the loop has ended"
    );

    // Everything that was told of it is in the journal and in the iteration's log.
    let record: Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    let kept: Vec<String> = record["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(kept_line)
        .collect();
    let expected = [
        "health stuck",
        "intervention nudge",
        "intervention nudge",
        "intervention nudge",
        "intervention escalate",
        "health terminated",
        "intervention terminate",
    ];
    assert_eq!(kept, expected);
    let log = project.repo.read(".ralph/logs/iteration-1.txt");
    for line in [
        "[health] stuck: no progress for 3 seconds\n",
        "[intervention] escalate: no progress for ",
        "[intervention] terminate: no progress for ",
    ] {
        assert!(log.contains(line), "no {line:?} in:\n{log}");
    }
    let health = project.health();
    let last = health["here"]["events"].as_array().unwrap().last().unwrap();
    assert_eq!(kept_line(last), "intervention terminate");
}

/// The kind of an event that was kept, and what it says.
fn kept_line(event: &Value) -> String {
    assert!(event["at"].is_string(), "{event}");
    let what = [&event["state"], &event["level"]];
    let what = what.iter().find_map(|value| value.as_str());
    format!("{} {}", event["event"].as_str().unwrap(), what.unwrap())
}

#[test]
fn twelve_real_edits_of_one_file_in_a_row_are_no_trouble() {
    let mut actions: Vec<Value> = (1..=12)
        .map(|n| json!({"do": "write", "path": "A.txt", "text": format!("version {n}\n")}))
        .collect();
    actions.push(json!({"do": "say", "text": "Task A complete"}));
    let project = Project::with_stories(&[story("A")]).claude(&json!({"default": actions}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("health"), [json!(null); 0]);
    assert_eq!(ran.named("intervention"), [json!(null); 0]);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn an_agent_that_crashed_is_not_called_healthy() {
    let project = Project::with_stories(&[story("A")])
        .config("loop: {max_errors: 1}\n")
        .claude(&json!({"default": [{"do": "exit", "code": 3}]}));
    let ran = project.run(&[]);
    assert_eq!(ran.verdicts(), ["A agent_error"]);
    assert_eq!(states(&ran.named("health")), ["failing"]);
    let record: Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    assert_eq!(record["healthState"], "failing");
    assert_eq!(kept_line(&record["events"][0]), "health failing");
}

#[test]
fn an_agent_that_falls_silent_is_degraded_then_stuck() {
    let project = Project::with_stories(&[story("A")])
        .config("loop: {idle_minutes: 0.03, stop_grace_seconds: 1, max_errors: 1}\n")
        .claude(&json!({"default": [{"do": "say", "text": "hm"}, {"do": "hang"}]}));
    let ran = project.run(&["--max-iterations=1"]);
    assert_eq!(ran.verdicts(), ["A timed_out"]);
    assert_eq!(states(&ran.named("health")), ["degraded", "stuck"]);
    let sentence = ran.named("health")[1]["sentence"].clone();
    assert_eq!(sentence, "it said nothing for 1 second");
    assert_eq!(
        project.loop_file("status.json")["iterations"][0]["health_state"],
        "stuck"
    );
}

#[test]
fn an_agent_that_cannot_be_told_anything_climbs_the_same_ladder_and_twice_in_a_row_ends_the_loop() {
    let project = Project::with_stories(&[story("A"), story("B")])
        .config(SECONDS)
        .command("cat > /dev/null; echo begun; exec sleep 1000");
    let ran = project.run(&[]).expect(7);
    assert_eq!(ran.verdicts(), ["A terminated", "A terminated"]);
    let once = ["nudge 1", "nudge 2", "nudge 3", "escalate 1", "terminate 1"];
    assert_eq!(levels(&ran.named("intervention")), [once, once].concat());
    assert_eq!(
        ran.stop(),
        json!({"why": "health_failure", "state": "terminated"})
    );
    let status = project.loop_file("status.json");
    assert_eq!(status["termination_reason"], "health_failure");
    let report = project.loop_file("report.json");
    assert_eq!(
        report["termination_details"],
        "Agent health state: terminated"
    );
    project.assert_nothing_alive();
}

#[test]
fn the_same_tool_call_again_and_again_is_seen_at_once_and_a_reminder_may_help() {
    let again = json!({"do": "run", "command": "exit 3"});
    let mut actions = vec![again; 10];
    actions.extend([
        json!({"do": "awaitMessage"}),
        json!({"do": "write", "path": "A.txt", "text": "A\n"}),
        json!({"do": "say", "text": "Task A complete"}),
    ]);
    // Errors are handing over's to see; here it is about the repetition.
    let project = Project::with_stories(&[story("A")])
        .config("handoff: {enabled: false}\nhealth: {degraded_steps: 100}\n")
        .claude(&json!({"default": actions}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(states(&ran.named("health"))[..2], ["degraded", "stuck"]);
    assert_eq!(levels(&ran.named("intervention")), ["nudge 1"]);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let said = ran.named("health")[1]["sentence"].clone();
    assert_eq!(said, "the same tool call 10 times, and nothing comes of it");
}

#[test]
fn an_agent_whose_tree_changes_is_never_stuck_however_long_its_tool_takes() {
    let project = Project::with_stories(&[story("A")])
        .config(SECONDS)
        .claude(&json!({"default": [
            {"do": "run", "command":
                "for n in 1 2 3 4 5 6 7 8; do echo $n >> A.txt; sleep 0.8; done"},
            {"do": "say", "text": "Task A complete"},
        ]}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("health"), [json!(null); 0]);
    assert_eq!(ran.named("intervention"), [json!(null); 0]);
}

#[test]
fn a_crash_during_the_ladder_leaves_nothing_alive_and_charges_nobody() {
    let project = gets_stuck(Project::with_stories(&[story("A")]).config(SECONDS));
    let mut live = project.start(&[]);
    wait_for_level(&mut live, "nudge");
    let health = project.loop_file("health.json");
    assert_eq!(health["pid"], live.pid().as_raw_nonzero().get());
    live.signal(Signal::KILL);
    drop(live);
    project.assert_nothing_alive();
    assert!(
        project.loop_folder().join("health.json").exists(),
        "nobody was there to take it away"
    );

    // The same attempt, so the scenario gets stuck once more; the next one lands.
    let ran = project.run(&[]).expect(0);
    assert_eq!(
        ran.verdicts(),
        ["A interrupted", "A terminated", "A verified"]
    );
    project.assert_nothing_alive();
    assert!(!project.loop_folder().join("health.json").exists());
}

#[test]
fn a_loop_beats_while_it_pauses() {
    let project = Project::with_stories(&[story("A")])
        .config("loop: {stop_grace_seconds: 1}\n")
        .command("cat > /dev/null; echo begun; exec sleep 1000");
    let mut live = project.start(&[]);
    live.wait_for("agent");
    project.told(&["pause", "--now"]);
    wait_until("the pause", || {
        project.loop_file("health.json")["doing"] == "pause"
    });
    let written = |health: &Value| -> jiff::Timestamp {
        health["written_at"].as_str().unwrap().parse().unwrap()
    };
    let first = written(&project.loop_file("health.json"));
    wait_until("another beat", || {
        written(&project.loop_file("health.json")) > first
    });
    live.signal(Signal::INT);
    live.wait().expect(130);
}
