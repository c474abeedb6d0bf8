//! A loop as a thing: its files in the data folder, the list of loops, and going on with one by its id.

mod ends;
mod schema;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, good_attempt, story, wait_until};

/// A file of the loop, with its own id and all times made the same.
fn file_of(project: &Project, loop_id: &str, name: &str) -> Value {
    let folder = project.repo.data_dir().join("ralph-loops").join(loop_id);
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    let mut file: Value = serde_json::from_str(&text.replace(loop_id, "LOOP")).unwrap();
    let short = &loop_id[..8];
    for one in file["iterations"].as_array_mut().into_iter().flatten() {
        let id = one["agent_id"].as_str().unwrap().replace(short, "LOOP");
        one["agent_id"] = json!(id);
        same_times(one);
        same_checkpoint(&mut one["checkpoint_id"]);
    }
    same_times(&mut file);
    if name == "status.json" {
        same_checkpoint(&mut file["last_checkpoint_id"]);
    }
    file
}

/// `CHECKPOINT` for an id of one, whose version says that it is ordered by time.
fn same_checkpoint(value: &mut Value) {
    let id = value.as_str().unwrap();
    assert!(id.len() == 36 && id.as_bytes()[14] == b'7', "{id}");
    *value = json!("CHECKPOINT");
}

/// `TIME` for every time that is one.
fn same_times(value: &mut Value) {
    for name in ["started_at", "completed_at"] {
        let text = value[name].as_str().unwrap();
        if !text.is_empty() {
            text.parse::<jiff::Timestamp>().unwrap();
            value[name] = json!("TIME");
        }
    }
}

fn loop_id(started: &Value) -> String {
    started["loopId"].as_str().unwrap().to_owned()
}

fn loops(project: &Project, args: &[&str]) -> Value {
    let mut all = vec!["loops", "--json"];
    all.extend(args);
    serde_json::from_str(&project.told(&all)).unwrap()
}

/// A is done at once, B fails.
fn two_iterations() -> Project {
    let script = json!({"tasks": {
        "A": [{"do": [
            {"write": {"path": "A.txt", "text": "A\n"}},
            {"usage": {"input": 100, "output": 20, "cost": 0.25}},
            {"say": "Task A complete"},
        ]}],
        "B": [{"do": [
            {"write": {"path": "wrong.txt", "text": "B\n"}},
            {"usage": {"input": 50, "output": 5, "cost": 0.1}},
            {"say": "Task B complete"},
        ]}],
    }});
    Project::with_stories(&[story("A"), story("B")])
        .config("loop:\n  max_verify_retries: 0\n")
        .script(&script)
}

#[test]
fn status_json_says_where_the_loop_stands_after_two_iterations() {
    let project = two_iterations();
    let ran = project
        .run(&[
            "--max-iterations=2",
            "--max-cost",
            "50",
            "--max-minutes",
            "120",
        ])
        .expect(3);
    let id = loop_id(&ran.one("loop_started"));
    let agent = ran.one("loop_started")["agent"].clone();
    let expected = json!({
        "loop_id": "LOOP",
        "task_id": "",
        "project_id": "Sample",
        "state": "terminated",
        "goal": "Sample",
        "config": {
            "max_iterations": 2,
            "max_cost": 50.0,
            "max_duration_minutes": 120.0,
            "context_threshold": 0.7,
            "agent_type": agent,
            "model": "script"
        },
        "current_iteration": 2,
        "iterations": [
            {
                "iteration": 1,
                "agent_id": "ralph-loop-LOOP-iter-1",
                "started_at": "TIME",
                "completed_at": "TIME",
                "phase": "complete",
                "completed_items": ["A: Write A"],
                "pending_items": [],
                "errors": [],
                "checkpoint_id": "CHECKPOINT",
                "input_tokens": 100,
                "output_tokens": 20,
                "cost": 0.25,
                "handoff_trigger": "",
                "health_state": "healthy"
            },
            {
                "iteration": 2,
                "agent_id": "ralph-loop-LOOP-iter-2",
                "started_at": "TIME",
                "completed_at": "TIME",
                "phase": "testing",
                "completed_items": [],
                "pending_items": ["B: Write B"],
                "errors": ["verification failed: test -f B.txt"],
                "checkpoint_id": "CHECKPOINT",
                "input_tokens": 50,
                "output_tokens": 5,
                "cost": 0.1,
                "handoff_trigger": "",
                "health_state": "healthy"
            }
        ],
        "total_input_tokens": 150,
        "total_output_tokens": 25,
        "total_cost": 0.35,
        "started_at": "TIME",
        "completed_at": "TIME",
        "termination_reason": "max_iterations",
        "last_checkpoint_id": "CHECKPOINT",
        "errors": ["verification failed: test -f B.txt"]
    });
    assert_eq!(file_of(&project, &id, "status.json"), expected);
}

#[test]
fn report_json_says_what_the_loop_came_to() {
    let project = two_iterations();
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    let id = loop_id(&ran.one("loop_started"));
    let expected = json!({
        "loop_id": "LOOP",
        "project_id": "Sample",
        "task_id": "",
        "goal": "Sample",
        "state": "terminated",
        "termination_reason": "max_iterations",
        "termination_details": "Iteration 2 >= 2 max",
        "exit_code": 3,
        "branch": "ralph/work",
        "iterations": 2,
        "verified": 1,
        "tasks": {
            "total": 2, "completed": 1, "ready": 1, "asking": 0, "waiting": 0, "blocked": 0,
            "failed": 0, "skipped": 0
        },
        "total_input_tokens": 150,
        "total_output_tokens": 25,
        "total_cost": 0.35,
        "started_at": "TIME",
        "completed_at": "TIME",
        "errors": ["verification failed: test -f B.txt"],
        "forecast": null
    });
    assert_eq!(file_of(&project, &id, "report.json"), expected);
}

#[test]
fn loops_are_listed_newest_first_with_what_they_came_to() {
    let project = two_iterations();
    assert_eq!(loops(&project, &[]), json!({"loops": [], "more": false}));
    let first = project.run(&["--once"]).expect(0);
    let second = project.run(&["--max-iterations", "1"]).expect(3);
    let ids = [&second, &first].map(|ran| loop_id(&ran.one("loop_started")));
    let all = loops(&project, &[]);
    assert_eq!(all["more"], false);
    let rows = all["loops"].as_array().unwrap();
    let shown = rows.iter().map(|row| {
        let mut row = row.clone();
        let fields = row.as_object_mut().unwrap();
        for name in ["startedAt", "endedAt"] {
            let time = fields.remove(name).unwrap();
            time.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
        }
        fields.remove("agent").unwrap();
        let mut last = fields.remove("lastCheckpointId").unwrap();
        same_checkpoint(&mut last);
        assert_eq!(
            fields.remove("worktree").unwrap(),
            project.repo.root().to_str().unwrap()
        );
        row
    });
    let row = |id: &str, rest: Value| {
        let mut row = json!({
            "id": id, "alive": false, "source": "prd.json", "goal": "Sample",
            "projectId": "Sample", "taskId": "", "branch": "ralph/work",
        });
        let fields = row.as_object_mut().unwrap();
        fields.extend(rest.as_object().unwrap().clone());
        row
    };
    let expected = [
        row(
            &ids[0],
            json!({
                "state": "terminated", "iterations": 1, "verified": 0, "costUsd": 0.1,
                "inputTokens": 50, "outputTokens": 5, "reason": "max_iterations",
                "why": "the limit of one iteration is reached", "note": null
            }),
        ),
        row(
            &ids[1],
            json!({
                "state": "completed", "iterations": 1, "verified": 1, "costUsd": 0.25,
                "inputTokens": 100, "outputTokens": 20, "reason": "max_iterations",
                "why": "one iteration, as asked: verified", "note": null
            }),
        ),
    ];
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let one = loops(&project, &["--limit=1"]);
    assert_eq!(one["loops"][0]["id"], ids[0].as_str());
    assert_eq!(
        (one["loops"].as_array().unwrap().len(), &one["more"]),
        (1, &json!(true))
    );
    let text = project.told(&["loops", "--limit", "1"]);
    assert!(
        text.contains("terminated") && text.contains("0 verified of 1"),
        "{text}"
    );
    assert!(
        text.ends_with("there are more: `ralph loops --all`\n"),
        "{text}"
    );
}

#[test]
fn a_killed_loop_is_gone_on_with_by_the_beginning_of_its_id() {
    let hang = json!({"do": [{"write": {"path": "B.txt", "text": "half\n"}}, "hang"]});
    let script = json!({"tasks": {"B": [hang]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .in_place()
        .script(&script);
    let mut live = project.start(&[]);
    let id = loop_id(&live.wait_for("loop_started"));
    live.wait_for("iteration_ended");
    live.wait_for("iteration_started");
    let status = file_of(&project, &id, "status.json");
    assert_eq!(
        (&status["state"], &status["current_iteration"]),
        (&json!("running"), &json!(1))
    );
    assert_eq!(loops(&project, &[])["loops"][0]["alive"], true);
    let half = project.repo.root().join("B.txt");
    wait_until("half of B is there", || half.exists());
    live.signal(Signal::KILL);
    live.wait().expect(-Signal::KILL.as_raw());
    // What was started dies a moment after ralph does, and holds its lock until then.
    project.assert_nothing_alive();
    let dead = loops(&project, &[]);
    assert_eq!(dead["loops"][0]["state"], "running");
    assert_eq!(dead["loops"][0]["alive"], false);
    assert!(project.told(&["loops"]).contains("interrupted"));

    let project = project.script(&json!({"default": [good_attempt()]}));
    let agent = format!("script:{}", project.outside("script.json").display());
    let text = project.told(&["resume", &id[..13], "--json", "--agent", &agent]);
    let started: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(started["loopId"], id.as_str());
    assert_eq!(started["resumed"], true);
    assert_eq!(project.landed(), ["A", "B"]);
    let status = file_of(&project, &id, "status.json");
    assert_eq!(status["state"], "completed");
    let seen: Vec<(u64, &str)> = status["iterations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["iteration"].as_u64().unwrap(),
                one["phase"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        seen,
        [(1, "complete"), (2, "implementing"), (3, "complete")]
    );
    assert_eq!(loops(&project, &[])["loops"].as_array().unwrap().len(), 1);
}

#[test]
fn a_loop_that_ended_is_gone_on_with_on_its_tasks_and_its_branch() {
    let project = two_iterations();
    let first = project.run(&["--once"]).expect(0);
    let id = loop_id(&first.one("loop_started"));
    // A loop on other tasks came after it.
    let mut other = crate::support::prd(&[story("X")]);
    other["branchName"] = json!("ralph/other");
    project
        .repo
        .file("other.json", other.to_string())
        .commit("other tasks");
    let project = project.script(&json!({"default": [good_attempt()]}));
    project.run(&["other.json"]).expect(0);
    let agent = format!("script:{}", project.outside("script.json").display());
    let text = project.told(&["resume", &id, "--json", "--agent", &agent]);
    let started: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&started["source"], &started["branch"]),
        (&json!("prd.json"), &json!("ralph/work"))
    );
    assert!(project.passes("B"));
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work");
}

#[test]
fn a_loop_that_is_not_there_is_refused_by_name() {
    let project = two_iterations();
    let error = project.refused(&["resume", "0190"]);
    assert!(error.contains("there is no loop 0190"), "{error}");
    project.run(&["--once"]).expect(0);
    let error = project.refused(&["resume", "zzz"]);
    assert!(error.contains("there is no loop zzz"), "{error}");
    assert!(error.contains("`ralph loops` lists them"), "{error}");
}

#[test]
fn a_loop_that_rests_says_so_and_goes_on_by_its_id() {
    let script =
        json!({"default": [{"do": [{"write": {"path": "{id}.txt", "text": "x"}}, "hang"]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let mut live = project.start(&[]);
    let id = loop_id(&live.wait_for("loop_started"));
    live.wait_for("iteration_started");
    project.told(&["pause", "--now"]);
    wait_until("status.json says that it rests", || {
        file_of(&project, &id, "status.json")["state"] == "paused"
    });
    let listed = loops(&project, &[]);
    assert_eq!(listed["loops"][0]["state"], "paused");
    assert_eq!(listed["loops"][0]["alive"], true);
    let project = project.script(&json!({"default": [good_attempt()]}));
    assert_eq!(project.told(&["resume", &id]), "the loop goes on\n");
    live.wait().expect(0);
    assert_eq!(file_of(&project, &id, "status.json")["state"], "completed");
}

/// The names of a document's fields, in their order, those of its first iteration among them.
fn names(value: &Value) -> Vec<String> {
    let fields = |value: &Value| -> Vec<String> {
        let object = value.as_object().unwrap();
        object.keys().cloned().collect()
    };
    let mut all = fields(value);
    all.extend(fields(&value["config"]));
    all.extend(fields(&value["iterations"][0]));
    all
}

#[test]
fn the_document_shows_a_status_json_with_the_very_fields_that_are_written() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(document).unwrap();
    let section = text.split("\n## status.json\n").nth(1).unwrap();
    let block = section.split("```json\n").nth(1).unwrap();
    let shown: Value = serde_json::from_str(block.split("```").next().unwrap()).unwrap();
    let project = two_iterations();
    let ran = project.run(&["--once"]).expect(0);
    let id = loop_id(&ran.one("loop_started"));
    assert_eq!(names(&file_of(&project, &id, "status.json")), names(&shown));
}
