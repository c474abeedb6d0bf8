//! The end of a loop that nobody goes on with, and going on with one as far as it was asked to go.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{file_of, loop_id, loops};
use crate::support::{Project, Ran, good_attempt, good_script, prd, story, wait_until};

/// A loop that is killed while its agent works at B; A is done.
fn killed() -> (Project, String) {
    let hang = json!({"do": [{"write": {"path": "B.txt", "text": "half\n"}}, "hang"]});
    let script = json!({"tasks": {"B": [hang]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A"), story("B")]).in_place();
    let mut other = prd(&[story("X")]);
    other["branchName"] = json!("ralph/other");
    project
        .repo
        .file("other.json", other.to_string())
        .commit("other tasks");
    let project = project.script(&script);
    let mut live = project.start(&["prd.json", "--max-iterations", "9"]);
    let id = loop_id(&live.wait_for("loop_started"));
    live.wait_for("iteration_ended");
    live.wait_for("run_started");
    wait_until("the agent has begun", || project.repo.exists("B.txt"));
    live.signal(Signal::KILL);
    live.wait().expect(-Signal::KILL.as_raw());
    project.assert_nothing_alive();
    assert_eq!(file_of(&project, &id, "status.json")["state"], "running");
    (project.script(&good_script()), id)
}

/// What both files, the list and the last checkpoint say of a loop that was given up.
#[track_caller]
fn assert_given_up(project: &Project, id: &str, verdicts: &[&str], tasks: &Value) {
    let status = file_of(project, id, "status.json");
    let said = [
        "project_id",
        "state",
        "completed_at",
        "termination_reason",
        "last_checkpoint_id",
    ];
    assert_eq!(
        said.map(|name| status[name].clone()),
        [
            "Sample",
            "terminated",
            "TIME",
            "explicit_stop",
            "CHECKPOINT"
        ]
    );
    assert_eq!(status["config"]["max_iterations"], 9);
    let items: Vec<&str> = status["iterations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["phase"].as_str().unwrap())
        .collect();
    assert_eq!(items, verdicts);
    let report = file_of(project, id, "report.json");
    let said = ["state", "termination_reason", "termination_details"];
    let sentence = "its process was gone, and it was given up";
    assert_eq!(
        said.map(|name| report[name].clone()),
        ["terminated", "explicit_stop", sentence]
    );
    assert_eq!(
        (&report["exit_code"], &report["verified"]),
        (&json!(137), &json!(1))
    );
    assert_eq!(&report["tasks"], tasks);

    let listed = loops(project, &[]);
    let rows = listed["loops"].as_array().unwrap();
    let row = rows.iter().find(|row| row["id"] == id).unwrap();
    assert_eq!(
        [&row["state"], &row["reason"], &row["why"]],
        ["terminated", "explicit_stop", sentence]
    );
    let all = project.told(&["checkpoint", "list", "--loop", id, "--json"]);
    let all: Value = serde_json::from_str(&all).unwrap();
    assert_eq!(all["checkpoints"][0]["trigger"], "stop", "{all}");
    let whole = project.told(&["checkpoint", "verify"]);
    assert!(!whole.contains("damage"), "{whole}");
}

#[test]
fn a_killed_loop_that_another_one_takes_the_place_of_has_an_end_everywhere() {
    let (project, id) = killed();
    project.run(&["other.json"]).expect(0);
    let tasks = json!({
        "total": 2, "completed": 1, "ready": 1, "asking": 0, "waiting": 0, "blocked": 0,
        "failed": 0, "skipped": 0
    });
    // The iteration that was under way is brought to its end first.
    assert_given_up(&project, &id, &["complete", "implementing"], &tasks);
}

#[test]
fn a_killed_loop_whose_branch_is_gone_has_an_end_everywhere() {
    let (project, id) = killed();
    project.repo.git(["switch", "-q", "-f", "main"]);
    project.repo.git(["branch", "-q", "-D", "ralph/work"]);
    project.repo.git(["clean", "-fdq", "-e", ".ralph"]);
    project.run(&["prd.json"]).expect(0);
    // Its tasks are those of the new loop, as they were when that one began.
    let tasks = json!({
        "total": 2, "completed": 0, "ready": 2, "asking": 0, "waiting": 0, "blocked": 0,
        "failed": 0, "skipped": 0
    });
    assert_given_up(&project, &id, &["complete"], &tasks);
}

fn resumed(project: &Project, args: &[&str]) -> Ran {
    let mut all = vec!["resume", "--json"];
    all.extend(args);
    let agent = format!("script:{}", project.outside("script.json").display());
    all.extend(["--agent", &agent]);
    crate::support::Live::start(project.ralph(&all)).wait()
}

#[test]
fn a_loop_is_gone_on_with_as_far_as_it_was_asked_to_go() {
    let stories: Vec<Value> = ["A", "B", "C", "D", "E", "F"].map(story).into();
    let project = Project::with_stories(&stories).script(&good_script());
    let first = project.run(&[
        "--max-iterations",
        "2",
        "--max-cost",
        "7",
        "--max-minutes",
        "90",
    ]);
    let id = loop_id(&first.expect(3).one("loop_started"));
    assert_eq!(project.landed(), ["A", "B"]);

    // Nothing is left of the iterations; the limits are those that it was started with.
    let ran = resumed(&project, &[&id]).expect(3);
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 2}));
    let id = loop_id(&ran.one("loop_started"));
    let config = file_of(&project, &id, "status.json")["config"].clone();
    assert_eq!(
        ["max_iterations", "max_cost", "max_duration_minutes"].map(|name| config[name].as_f64()),
        [Some(2.0), Some(7.0), Some(90.0)]
    );
    // What is said now goes first; the last loop is meant where none is named.
    resumed(&project, &["--max-iterations", "1"]).expect(3);
    assert_eq!(project.landed(), ["A", "B", "C"]);
}

#[test]
fn a_loop_about_one_task_is_gone_on_with_at_that_task() {
    let hang = json!({"do": ["hang"]});
    let script = json!({"tasks": {"B": [hang]}, "default": [good_attempt()]});
    let project = Project::with_stories(&["A", "B", "C"].map(story)).script(&script);
    let mut live = project.start(&["--task", "B"]);
    live.wait_for("run_started");
    live.signal(Signal::KILL);
    live.wait().expect(-Signal::KILL.as_raw());
    project.assert_nothing_alive();
    let project = project.script(&good_script());
    resumed(&project, &[]).expect(0);
    assert_eq!(project.landed(), ["B"]);
}

#[test]
fn an_error_before_the_first_action_ends_the_loop_as_any_other() {
    let project = Project::with_stories(&[story("A")])
        .in_place()
        .script(&good_script());
    let hooks = project.repo.path(".git/hooks");
    std::fs::remove_dir_all(&hooks).unwrap();
    // A link to itself can't be listed, so there can be no guard.
    std::os::unix::fs::symlink("hooks", &hooks).unwrap();
    let ran = project.run(&[]).expect(1);
    let ended = ran.one("loop_ended");
    assert_eq!(ended["exitCode"], 1, "{ended}");
    let sentence = ended["sentence"].as_str().unwrap();
    assert!(sentence.contains("hooks"), "{sentence}");
    let listed = loops(&project, &["--all"]);
    assert_eq!(listed["loops"][0]["state"], "failed", "{listed}");

    std::fs::remove_file(&hooks).unwrap();
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}
