//! A report covers its feature: all loops of the task file or of the parent task, which are kept apart. The
//! number of iterations is the same wherever it is told.

use serde_json::{Value, json};

use crate::support::{Live, Project, good_script, story};

fn told(project: &Project, args: &[&str]) -> Value {
    let output = project.ralph(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn completed(project: &Project, args: &[&str]) -> Vec<String> {
    let report = told(project, &[&["report", "--json"], args].concat());
    let completed = report["completed"].as_array().unwrap().iter();
    completed
        .map(|one| one["taskId"].as_str().unwrap().to_owned())
        .collect()
}

fn below(id: &str, parent: &str) -> Value {
    let mut task = story(id);
    task["parentId"] = json!(parent);
    task.as_object_mut().unwrap().remove("passes");
    task
}

#[test]
fn a_report_covers_all_loops_of_the_feature_and_keeps_parents_apart() {
    let tasks = json!({"tasks": [
        {"id": "login", "title": "Login"}, below("A", "login"), below("B", "login"),
        {"id": "cart", "title": "Cart"}, below("C", "cart"),
    ]});
    let project = Project::new().script(&good_script());
    project
        .repo
        .file("tasks.json", tasks.to_string())
        .commit("tasks");
    let parent = |id: &str| {
        project
            .repo
            .file(".ralph/parent-task-id", format!("{id}\n"));
    };
    parent("login");
    project.run(&["tasks.json", "--once"]).expect(0);
    project.run(&["tasks.json"]).expect(0);
    assert_eq!(completed(&project, &[]), ["A", "B"]);
    assert_eq!(completed(&project, &["--last"]), ["B"]);
    parent("cart");
    project.run(&["tasks.json"]).expect(0);
    assert_eq!(
        completed(&project, &[]),
        ["C"],
        "the other parent's are not its own"
    );
    assert_eq!(completed(&project, &["--all"]), ["A", "B", "C"]);
    assert_eq!(told(&project, &["report", "--json"])["parent"], "cart");
    // Going on with the first one again.
    parent("login");
    project.run(&["tasks.json"]).expect(0);
    assert_eq!(completed(&project, &[]), ["A", "B"]);
}

#[test]
fn the_number_of_iterations_is_the_same_everywhere() {
    let project = Project::with_stories(&["A", "B", "C"].map(story)).script(&good_script());
    let mut killed = project.run_command(&[]);
    killed.env("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(Live::start(killed).wait().code(), -9);
    project.run(&["--max-iterations", "2"]).expect(3);
    project.run(&[]).expect(0);
    let report = told(&project, &["report", "--json"]);
    let loops = told(&project, &["loops", "--json"]);
    let listed = loops["loops"].as_array().unwrap().iter();
    let listed: i64 = listed.map(|l| l["iterations"].as_i64().unwrap()).sum();
    let timeline = report["timeline"].as_array().unwrap().len();
    // One that died with ralph, and one a task.
    assert_eq!(report["iterations"], 4);
    assert_eq!((listed, timeline), (4, 4));
    let last = told(&project, &["status", "--json"])["lastIteration"]["iteration"].clone();
    assert_eq!(last, 4);
}
