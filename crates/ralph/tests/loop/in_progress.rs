//! A task that an agent works at is `in_progress` in its file and in `status`; no commit ever says so, and every
//! end takes it back.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, good_script, story};

const TIMES: [(&str, &str); 2] = [
    ("createdAt", "2026-01-02T03:04:05Z"),
    ("updatedAt", "2026-01-03T03:04:05Z"),
];

/// A native task file; the first task says its status, the second does not.
fn native() -> (Project, &'static str) {
    let task = |id: &str| {
        let mut task = story(id);
        task.as_object_mut().unwrap().remove("passes");
        for (name, time) in TIMES {
            task[name] = json!(time);
        }
        task
    };
    let mut first = task("A");
    first["status"] = json!("open");
    let tasks = json!({"tasks": [first, task("B")]});
    let project = Project::new();
    let text = serde_json::to_string_pretty(&tasks).unwrap();
    project.repo.file("tasks.json", text).commit("tasks");
    (project, "tasks.json")
}

fn artefacts() -> (Project, &'static str) {
    let task = |id: &str| {
        json!({"id": id, "title": id, "description": "d", "status": "pending", "dependencies": [],
               "attempts": 0, "max_attempts": 3, "blocked": false, "verify": [format!("test -f {id}.txt")]})
    };
    let tasks = json!({"project_name": "demo", "tasks": [task("A"), task("B")]});
    let project = Project::new();
    let text = serde_json::to_string_pretty(&tasks).unwrap();
    let path = ".artefacts/demo/tasks.json";
    project.repo.file(path, text).commit("tasks");
    (project, path)
}

fn status_of(project: &Project, path: &str, id: &str) -> Value {
    let tasks: Value = serde_json::from_str(&project.repo.read(path)).unwrap();
    let tasks = tasks["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["id"] == id).unwrap()["status"].clone()
}

fn hangs() -> Value {
    json!({"default": [{"do": [{"say": "begun"}, "hang"]}]})
}

/// Starts a loop, and waits until its agent has said something.
fn begun(project: &Project, path: &str) -> Live {
    let mut live = project.start(&[path]);
    live.wait_for("agent");
    live
}

/// No commit of any branch has the word.
fn assert_never_committed(project: &Project, path: &str) {
    let log = project.repo.git([
        "log",
        "--all",
        "-S",
        "in_progress",
        "--format=%h",
        "--",
        path,
    ]);
    assert_eq!(log, "", "{path}");
}

#[test]
fn it_is_written_before_the_agent_works_and_taken_back_when_the_loop_is_stopped() {
    for (make, in_place) in [
        (native as fn() -> _, false),
        (native, true),
        (artefacts, false),
        (artefacts, true),
    ] {
        let (project, path) = make();
        let project = project.script(&hangs());
        let project = if in_place {
            project.in_place()
        } else {
            project
        };
        let before = project.repo.read(path);
        let live = begun(&project, path);
        assert_eq!(status_of(&project, path, "A"), "in_progress");
        let status = project.ralph(&["status", path, "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        let tasks = &status["tasks"];
        assert_eq!(
            (&tasks["ready"], &tasks["inProgress"]),
            (&json!(1), &json!(1)),
            "{status}"
        );
        assert_eq!(status["next"]["id"], "B");
        let shown = project.ralph(&["status", path]).output().unwrap();
        let shown = String::from_utf8(shown.stdout).unwrap();
        assert!(shown.contains("1 being worked on, 1 ready"), "{shown}");
        live.signal(Signal::TERM);
        live.wait().expect(143);
        assert_eq!(project.repo.read(path), before, "not a byte is left of it");
        assert_never_committed(&project, path);
    }
}

#[test]
fn it_is_taken_back_after_a_kill_and_the_work_goes_on() {
    for make in [native, artefacts] {
        let (project, path) = make();
        let project = project.script(&hangs());
        let before = project.repo.read(path);
        let live = begun(&project, path);
        live.signal(Signal::KILL);
        live.wait().expect(-9);
        assert_eq!(status_of(&project, path, "A"), "in_progress");
        // One that ends before it begins another iteration leaves nothing of it.
        let project = project.script(&good_script());
        let mut waits = project.run_command(&[path]);
        waits.env("RALPH_FAILPOINT", "iteration-begun");
        assert_eq!(Live::start(waits).wait().code(), -9);
        assert_eq!(project.repo.read(path), before);
        project.run(&[path]).expect(0);
        assert_eq!(project.landed(), ["A", "B"]);
        assert_eq!(status_of(&project, path, "A"), "completed");
        assert_never_committed(&project, path);
        assert_eq!(project.leftovers(), [""; 0]);
    }
}

#[test]
fn a_failed_attempt_leaves_the_file_as_it_was_and_times_are_kept() {
    let script = json!({"tasks": {"A": [{"do": [{"say": "nothing done"}]}, {"do": [
        {"write": {"path": "A.txt", "text": "A\n"}}, {"say": "Task A complete"},
    ]}]}, "default": [{"do": [
        {"write": {"path": "{id}.txt", "text": "{id}\n"}}, {"say": "Task {id} complete"},
    ]}]});
    let (project, path) = native();
    let project = project.script(&script);
    let before = project.repo.read(path);
    project.run(&[path, "--once"]).expect(3);
    assert_eq!(project.repo.read(path), before);
    project.run(&[path]).expect(0);
    let tasks: Value = serde_json::from_str(&project.repo.read(path)).unwrap();
    for task in tasks["tasks"].as_array().unwrap() {
        assert_eq!(task["status"], "completed");
        for (name, time) in TIMES {
            assert_eq!(task[name], time);
        }
    }
    assert_never_committed(&project, path);
    assert_eq!(project.leftovers(), [""; 0]);
}
