//! A change of OpenSpec that ralph works through: OpenSpec itself, which owns the format, lists the same tasks as
//! done.

use std::process::{Command, Stdio};

use ralph_testkit::agents;
use serde_json::{Value, json};

use crate::support::Project;

const FILE: &str = "openspec/changes/add-cart/tasks.md";

const PROPOSAL: &str =
    "## Why\n\nShoppers lose what they picked.\n\n## What Changes\n\n- A cart keeps the goods.\n";

const SPEC: &str = "## ADDED Requirements\n\n### Requirement: Cart\n\nThe shop SHALL keep what a shopper picked.\n\n#### Scenario: Goods are kept\n\n- **WHEN** a shopper picks goods\n- **THEN** the cart has them\n";

const TASKS: &str = "## 1. Table\n\n- [x] 1.1 Add the table\n- [ ] 1.2 Add its index\n\n## 2. Page\n\n- [ ] 2.1 Show the cart\n- [ ] 2.2 Sum the cart\n- [ ] 2.3 Empty the cart\n";

fn change(project: &Project) {
    project
        .repo
        .file("openspec/changes/add-cart/proposal.md", PROPOSAL)
        .file("openspec/changes/add-cart/specs/cart/spec.md", SPEC)
        .file(FILE, TASKS)
        .commit("a change");
}

/// What OpenSpec prints about the project.
fn openspec(project: &Project, args: &[&str]) -> Value {
    let home = tempfile::tempdir().unwrap();
    let output = Command::new(agents::openspec())
        .args(args)
        .env_clear()
        .envs(agents::openspec_env(home.path()))
        .current_dir(project.repo.root())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The numbers of the tasks and if each is done, as OpenSpec tells an agent.
fn told_by_openspec(project: &Project) -> Vec<(String, bool)> {
    let told = openspec(
        project,
        &["instructions", "apply", "--change", "add-cart", "--json"],
    );
    let tasks = told["tasks"].as_array().unwrap().iter();
    let told = tasks.map(|task| {
        let text = task["description"].as_str().unwrap();
        let number = text.split(' ').next().unwrap();
        (number.to_owned(), task["done"].as_bool().unwrap())
    });
    told.collect()
}

/// The same as ralph lists it, without the headings.
fn listed_by_ralph(project: &Project) -> Vec<(String, bool)> {
    let output = project.ralph(&["tasks", "list", FILE, "--json"]).output();
    let listed: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
    let tasks = listed["tasks"].as_array().unwrap().iter();
    let tasks = tasks.filter(|task| task["kind"] == "leaf");
    let listed = tasks.map(|task| {
        let id = task["id"].as_str().unwrap();
        (id.to_owned(), task["status"] == "completed")
    });
    listed.collect()
}

fn counted_by_openspec(project: &Project) -> Value {
    let listed = openspec(project, &["list", "--json"]);
    let change = &listed["changes"][0];
    json!([
        change["name"],
        change["completedTasks"],
        change["totalTasks"],
        change["status"]
    ])
}

#[test]
fn openspec_lists_the_tasks_that_ralph_completed_as_done_and_a_blocked_one_as_not() {
    // The third task never passes.
    let project = Project::new()
        .config("loop:\n  max_attempts: 1\nverification:\n  commands:\n    - [\"test\", \"!\", \"-e\", \"done-2.2\"]\n")
        .command(r#"echo done > "done-$RALPH_TASK_ID"; echo "Task complete""#);
    change(&project);
    assert_eq!(
        counted_by_openspec(&project),
        json!(["add-cart", 1, 5, "in-progress"])
    );
    project.run(&[FILE]).expect(4);
    assert_eq!(project.landed(), ["1.2", "2.1", "2.3"]);
    let written = TASKS.replace("[ ]", "[x]").replace("[x] 2.2", "[!] 2.2");
    assert_eq!(project.repo.read(FILE), written);
    let done = [
        ("1.1", true),
        ("1.2", true),
        ("2.1", true),
        ("2.2", false),
        ("2.3", true),
    ];
    let done: Vec<(String, bool)> = done.map(|(id, done)| (id.to_owned(), done)).into();
    assert_eq!(listed_by_ralph(&project), done);
    assert_eq!(told_by_openspec(&project), done);
    assert_eq!(
        counted_by_openspec(&project),
        json!(["add-cart", 4, 5, "in-progress"])
    );
}

#[test]
fn a_change_is_complete_for_openspec_when_ralph_has_landed_its_last_task() {
    let project = Project::new()
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .command(r#"echo done > "done-$RALPH_TASK_ID"; echo "Task complete""#);
    change(&project);
    project.run(&[FILE]).expect(0);
    assert_eq!(
        counted_by_openspec(&project),
        json!(["add-cart", 5, 5, "complete"])
    );
}
