//! What the command line asks for: how far to go, on which tasks, from which source.

use serde_json::json;

use crate::support::{Project, good_script, story};

fn three() -> Project {
    Project::with_stories(&[story("A"), story("B"), story("C")]).script(&good_script())
}

#[test]
fn once_is_one_iteration_and_exits_zero_when_it_was_verified() {
    let project = three();
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.stop()["why"], "once_done");
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn once_exits_three_when_its_iteration_was_not_verified() {
    let script = json!({"default": [{"do": [{"say": "Task {id} complete"}]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    project.run(&["--once"]).expect(3);
    assert!(project.landed().is_empty());
}

#[test]
fn the_limit_of_iterations_counts_this_run_of_the_command() {
    for args in [&["--max-iterations", "2"][..], &["--max-iterations=2"][..]] {
        let project = three();
        let ran = project.run(args).expect(3);
        assert_eq!(ran.stop(), json!({"why": "iterations", "max": 2}));
        assert_eq!(project.landed(), ["A", "B"]);
        project.run(args).expect(0);
        assert_eq!(project.landed(), ["A", "B", "C"]);
    }
}

#[test]
fn a_limit_that_is_no_number_is_refused_and_not_taken_for_a_prompt() {
    let project = three();
    let before = project.repo.head();
    project.run(&["--max-iterations=-1"]).expect(2);
    project.run(&["--max-iterations=x"]).expect(2);
    assert_eq!(project.repo.head(), before);
}

#[test]
fn one_task_is_worked_on_alone() {
    let project = three();
    let ran = project.run(&["--task", "B"]).expect(0);
    assert_eq!(ran.stop()["why"], "all_complete");
    assert_eq!(project.landed(), ["B"]);
    assert!(!project.passes("A"));
}

#[test]
fn a_task_that_is_not_there_is_an_error_and_changes_nothing() {
    let project = three();
    let before = project.repo.head();
    project.run(&["--task", "Z"]).expect(2).says("Z");
    assert_eq!(project.repo.head(), before);
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn the_only_source_is_found_wherever_it_usually_lies() {
    for place in [
        "prd.json",
        "PRD.json",
        "scripts/ralph/prd.json",
        ".artefacts/demo/tasks.json",
    ] {
        let project = Project::new().script(&good_script());
        let tasks = json!({"userStories": [story("A")]}).to_string();
        project.repo.file(place, tasks).commit("tasks");
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.one("loop_started")["source"], place);
        assert_eq!(project.landed(), ["A"]);
    }
}

#[test]
fn several_sources_are_an_error_that_names_them() {
    let project = three();
    project.repo.file(
        ".artefacts/demo/tasks.json",
        json!({"tasks": [{"id": "X", "title": "x", "status": "pending"}]}).to_string(),
    );
    let ran = project.run(&[]).expect(2);
    let said = ran.stderr();
    assert!(
        said.contains("prd.json") && said.contains(".artefacts/demo/tasks.json"),
        "{said}"
    );
    assert!(said.contains("hint: "), "{said}");
    project.run(&["prd.json"]).expect(0);
}

#[test]
fn no_source_is_an_error_with_a_hint() {
    let project = Project::new().script(&good_script());
    project
        .run(&[])
        .expect(2)
        .says("found no tasks")
        .says("hint: ");
}

#[test]
fn nothing_left_to_do_is_success_and_starts_no_agent() {
    let project = three();
    project.run(&[]).expect(0);
    let head = project.repo.head();
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.stop()["why"], "all_complete");
    assert!(ran.named("iteration_started").is_empty());
    assert_eq!(project.repo.head(), head);
}

#[test]
fn a_higher_number_follows_the_last_one_also_in_a_later_run() {
    let project = three();
    project.run(&["--once"]).expect(0);
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.one("iteration_started")["iteration"], 2);
}

#[test]
fn an_unknown_agent_is_an_error_with_a_hint() {
    let project = Project::with_stories(&[story("A")]).agent("clude");
    project
        .run(&[])
        .expect(2)
        .says("unknown agent `clude`; did you mean `claude`?")
        .says("ralph agent list");
}
