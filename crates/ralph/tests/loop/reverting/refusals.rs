//! What `ralph revert` refuses, by name, before anything is changed.

use serde_json::json;

use super::{landed, passing, ralph, rev};
use crate::support::{Project, good_script, story, story_after};

#[track_caller]
fn refused(project: &Project, args: &[&str], why: &str) {
    let tip = rev(project, "HEAD");
    ralph(project, args).expect(2).says(why);
    assert_eq!(rev(project, "HEAD"), tip);
    let kept = project.repo.git(["for-each-ref", "refs/ralph/reverted"]);
    assert_eq!(kept, "", "nothing was begun");
}

#[test]
fn an_iteration_that_there_is_not() {
    let project = landed();
    refused(
        &project,
        &["revert", "--iteration", "9"],
        "there is no iteration 9",
    );
}

#[test]
fn a_repository_in_which_ralph_never_ran() {
    let project = Project::with_stories(&[story("A")]);
    refused(
        &project,
        &["revert", "--iteration", "1"],
        "ralph has not run here yet",
    );
}

#[test]
fn an_iteration_that_landed_nothing() {
    let nothing = json!({"do": [{"say": "Task {id} complete"}]});
    let project = Project::with_stories(&[story("A")]).script(&json!({"default": [nothing]}));
    project.run(&["--once"]);
    refused(
        &project,
        &["revert", "--iteration", "1"],
        "iteration 1 landed nothing: no_change",
    );
}

#[test]
fn an_iteration_that_is_reverted_already() {
    let project = landed();
    ralph(&project, &["revert", "--iteration", "2"]).expect(0);
    for n in ["2", "3"] {
        ralph(&project, &["revert", "--iteration", n])
            .expect(2)
            .says(&format!("iteration {n} is reverted already"))
            .says("refs/ralph/reverted/");
    }
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_tree_with_changes_that_are_not_committed() {
    let project = landed();
    project.repo.file("B.txt", "mine\n");
    refused(
        &project,
        &["revert", "--iteration", "2"],
        "not committed: B.txt",
    );
    assert_eq!(project.repo.read("B.txt"), "mine\n");
    project.repo.git(["add", "B.txt"]);
    refused(
        &project,
        &["revert", "--iteration", "2"],
        "not committed: B.txt",
    );
}

#[test]
fn a_file_of_a_persons_where_a_deleted_one_would_come_back() {
    let project = Project::new();
    project
        .repo
        .file("old.txt", "old\n")
        .prd(&crate::support::prd(&[story("A")]))
        .commit("tasks");
    let script = json!({"default": [{"do": [
        {"run": "rm old.txt; echo A > A.txt"}, {"say": "Task A complete"},
    ]}]});
    let project = project.script(&script);
    project.run(&[]).expect(0);
    project.repo.file("old.txt", "mine\n");
    refused(
        &project,
        &["revert", "--iteration", "1"],
        "in the way: old.txt",
    );
    assert_eq!(project.repo.read("old.txt"), "mine\n");
}

#[test]
fn a_merge_in_progress() {
    let project = landed();
    let head = rev(&project, "HEAD");
    std::fs::write(project.repo.path(".git/MERGE_HEAD"), format!("{head}\n")).unwrap();
    refused(
        &project,
        &["revert", "--iteration", "2"],
        "a merge is in progress",
    );
}

#[test]
fn another_branch() {
    let project = landed();
    project.repo.git(["switch", "-q", "main"]);
    refused(
        &project,
        &["revert", "--iteration", "2"],
        "iteration 2 landed on branch ralph/work, but HEAD is on main",
    );
}

#[test]
fn a_commit_that_somebody_amended_is_theirs_now() {
    let project = landed();
    project.repo.file("more.txt", "more\n");
    project.repo.git(["add", "more.txt"]);
    project.repo.git(["commit", "-q", "--amend", "--no-edit"]);
    let why = "the commit of iteration 3";
    refused(&project, &["revert", "--iteration", "3"], why);
    let why = "commits that are not ralph's would go";
    refused(&project, &["revert", "--iteration", "2"], why);
}

#[test]
fn an_iteration_that_ralph_was_killed_in() {
    let stories = [
        story("A"),
        story_after("B", &["A"]),
        story_after("C", &["B"]),
    ];
    let project = Project::with_stories(&stories).script(&good_script());
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended:2");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    refused(
        &project,
        &["revert", "--iteration", "1"],
        "iteration 2 has no end",
    );
    project.run(&[]).expect(0);
    ralph(&project, &["revert", "--iteration", "1"]).expect(0);
    assert_eq!(passing(&project), [""; 0]);
}
