//! The user's folder and index after a landing that was cut off, or that met a lock: any later command brings
//! them along, and takes away what was left.

use std::fs::File;

use serde_json::json;

use crate::support::{Live, Project, Ran, good_script, story, wait_until};

fn layered() -> Project {
    let script = json!({"default": [{"do": [
        {"run": "echo x > A.txt; echo agent > changed.txt; rm gone.txt; git rm -q --cached .env; echo .env > .gitignore"},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project
        .repo
        .file("changed.txt", "base\n")
        .file("gone.txt", "base\n")
        .file(".env", "mine\n")
        .file("mine.txt", "base\n");
    project.repo.commit("files");
    project
}

fn layers_left(project: &Project) -> usize {
    let folder = project.data_dir().join("layers");
    std::fs::read_dir(folder).into_iter().flatten().count()
}

#[test]
fn a_landing_that_is_cut_off_is_finished_by_whatever_command_comes_next() {
    for point in ["committed", "folder-followed", "landed"] {
        for command in [&["status"][..], &["tasks", "list"], &["logs"], &["report"]] {
            let project = layered();
            let ran = project.run_with("RALPH_FAILPOINT", point);
            assert_eq!(ran.code(), -9, "{point}: {}", ran.all());
            assert_eq!(project.landed(), ["A"], "{point}");
            Live::start(project.ralph(command)).wait().expect(0);
            let how = format!("{point}, {command:?}");
            assert_eq!(project.leftovers(), [""; 0], "{how}");
            assert_eq!(project.repo.read("changed.txt"), "agent\n", "{how}");
            assert!(!project.repo.exists("gone.txt"), "{how}");
            assert_eq!(project.repo.git(["ls-files", ".env"]), "", "{how}");
            assert_eq!(project.repo.read(".env"), "mine\n", "{how}");
            project.run(&[]).expect(0);
            assert_eq!(project.landed(), ["A"], "{how}");
            assert_eq!(project.repo.read(".env"), "mine\n", "{how}");
            assert_eq!(project.leftovers(), [""; 0], "{how}");
            assert_eq!(layers_left(&project), 0, "{how}");
        }
    }
}

#[test]
fn what_a_person_has_staged_and_edited_since_stays() {
    let project = layered();
    let ran = project.run_with("RALPH_FAILPOINT", "committed");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    project
        .repo
        .file("mine.txt", "staged\n")
        .git(["add", "mine.txt"]);
    project.repo.file("changed.txt", "person\n");
    Live::start(project.ralph(&["status"])).wait().expect(0);
    assert_eq!(
        project.repo.git(["diff", "--cached", "--name-only"]),
        "mine.txt"
    );
    assert_eq!(project.repo.git(["diff", "--name-only"]), "changed.txt");
    assert_eq!(project.repo.read("changed.txt"), "person\n");
    assert!(!project.repo.exists("gone.txt"));
    assert_eq!(project.repo.read("A.txt"), "x\n");
}

#[test]
fn a_person_who_went_on_elsewhere_keeps_the_folder() {
    let project = layered();
    let ran = project.run_with("RALPH_FAILPOINT", "committed");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    project.repo.git(["checkout", "-q", "-f", "main"]);
    Live::start(project.ralph(&["status"])).wait();
    assert_eq!(project.repo.read("changed.txt"), "base\n");
    assert!(project.repo.exists("gone.txt") && !project.repo.exists("A.txt"));
}

/// Holds the lock of the index from when the agent has begun until the run is over, as a person's git would.
fn run_beside_a_lock(project: &Project) -> Ran {
    let live = project.start(&[]);
    wait_until("the agent has begun", || {
        project.repo.home().join("begun").exists()
    });
    let lock = project.repo.root().join(".git/index.lock");
    // Held by this process: a lock that no one has open is stale.
    let held = File::create_new(&lock).unwrap();
    std::fs::write(project.repo.home().join("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert!(lock.exists(), "it is not ralph's to remove");
    drop(held);
    std::fs::remove_file(&lock).unwrap();
    ran
}

const WAITS: &str = "touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; ";

#[test]
fn a_lock_of_a_persons_git_is_named_and_the_index_follows_later() {
    for mode in ["overlay", "in_place"] {
        let shell = format!("{WAITS} echo x > A.txt; echo agent > changed.txt; rm gone.txt");
        let script = json!({"default": [{"do": [{"run": shell}, {"say": "Task A complete"}]}]});
        let project = layered().script(&script).env("RALPH_WORKSPACE_MODE", mode);
        let ran = run_beside_a_lock(&project);
        assert_eq!(project.landed(), ["A"], "{mode}");
        assert!(
            ran.all().contains("index.lock is locked by"),
            "{}",
            ran.all()
        );
        assert_eq!(project.repo.read("changed.txt"), "agent\n", "{mode}");
        Live::start(project.ralph(&["status"])).wait().expect(0);
        assert_eq!(project.leftovers(), [""; 0], "{mode}");
    }
}

#[test]
fn several_commits_that_met_a_lock_are_followed_at_once() {
    let shell = format!("{WAITS} echo x > $RALPH_TASK_ID.txt");
    let script = json!({"default": [{"do": [{"run": shell}, {"say": "Task {id} complete"}]}]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    run_beside_a_lock(&project);
    assert_eq!(project.landed(), ["A", "B"]);
    Live::start(project.ralph(&["tasks", "list"]))
        .wait()
        .expect(0);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_persons_own_settings_of_git_stay_after_a_kill() {
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let ran = project.run_with("RALPH_FAILPOINT", "agent-running");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    project.repo.git(["config", "alias.mine", "status"]);
    project.repo.file(".git/hooks/post-merge", "#!/bin/sh\n");
    project
        .repo
        .file("ralph.yaml", "loop:\n  max_attempts: 7\n");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.git(["config", "alias.mine"]), "status");
    assert!(project.repo.exists(".git/hooks/post-merge"));
    assert!(project.repo.read("ralph.yaml").contains("max_attempts: 7"));
}

#[test]
fn layers_without_an_iteration_to_go_on_with_are_swept_by_any_command() {
    let project = layered();
    // Its iteration is recorded: nothing goes on with what is left.
    let ran = project.run_with("RALPH_FAILPOINT", "recorded");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    Live::start(project.ralph(&["status"])).wait().expect(0);
    assert_eq!(layers_left(&project), 0);
}

#[test]
fn the_layer_of_an_interrupted_iteration_is_not_swept_by_others() {
    let half = "echo half > half-$RALPH_ITERATION.txt";
    let script = json!({"default": [{"do": [{"run": half}, {"say": "Task A complete"}]}]});
    let project = Project::with_stories(&[story("A")])
        .script(&script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    Live::start(project.ralph(&["status"])).wait().expect(0);
    let other = Project::with_stories(&[story("B")])
        .script(&good_script())
        .env("RALPH_WORKSPACE_MODE", "overlay")
        .env("RALPH_DATA_DIR", project.data_dir());
    other.run(&[]).expect(0);
    project.run(&["--once"]);
    let attempts = project.attempts();
    let files = |attempt: &String| project.repo.git(["ls-tree", "--name-only", attempt]);
    let kept = attempts.iter().any(|a| files(a).contains("half-1.txt"));
    assert!(kept, "what it wrote is kept: {attempts:?}");
}
