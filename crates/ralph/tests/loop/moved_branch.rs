//! A person who works on the branch while an agent does: their commits stay, and the agent's change lands on
//! them or is kept.

use serde_json::{Value, json};

use crate::support::{Live, Project, good_attempt, story, wait_until};

/// Does this, says that it has begun, and goes on when it is told.
fn waits(shell: &str) -> Value {
    json!({"do": [
        {"run": format!("{shell}; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done")},
        {"say": "Task A complete"},
    ]})
}

fn layered(script: &Value) -> Project {
    let project = Project::with_stories(&[story("A")])
        .script(script)
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    project
        .repo
        .file("shared.txt", lines)
        .file("other.txt", "base\n");
    project.repo.commit("files");
    project
}

fn begun(project: &Project, args: &[&str]) -> Live {
    let live = project.start(args);
    wait_until("the agent has begun", || {
        project.repo.home().join("begun").exists()
    });
    live
}

fn go(project: &Project) {
    std::fs::write(project.repo.home().join("go"), "").unwrap();
}

#[test]
fn a_change_lands_on_what_a_person_committed_meanwhile() {
    let project = layered(
        &json!({"default": [waits("echo x > A.txt; sed -i 's/9/9 by the agent/' shared.txt")]}),
    );
    let live = begun(&project, &[]);
    project
        .repo
        .file("other.txt", "person\n")
        .file("shared.txt", "1 by a person\n2\n3\n4\n5\n6\n7\n8\n9\n")
        .commit("by a person");
    go(&project);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["feat: Write A", "by a person"]
    );
    assert_eq!(
        project.repo.read("shared.txt"),
        "1 by a person\n2\n3\n4\n5\n6\n7\n8\n9 by the agent\n"
    );
    assert_eq!(project.repo.read("other.txt"), "person\n");
    assert_eq!(
        project.files_of("HEAD"),
        ["A.txt", "prd.json", "shared.txt"]
    );
    assert_eq!(project.leftovers(), [""; 0]);
    assert_eq!(project.attempts(), [""; 0]);
    let record: Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    let parent = project.repo.git(["rev-parse", "HEAD~1"]);
    assert_eq!(record["baseCommit"], parent.trim());
}

#[test]
fn it_is_verified_as_it_lands_and_again_when_a_person_commits_during_that() {
    let mut own = story("A");
    own["verify"] = json!([
        "test -f A.txt && cat other.txt >> \"$HOME/verified\" && touch \"$HOME/verifying\" && \
         while [ ! -e \"$HOME/go-on\" ]; do sleep 0.05; done"
    ]);
    let project = layered(&json!({"default": [waits("echo x > A.txt")]}));
    project.repo.prd(&crate::support::prd(&[own])).commit("own");
    let live = begun(&project, &[]);
    project.repo.file("other.txt", "first\n").commit("first");
    go(&project);
    wait_until("it is verified", || {
        project.repo.home().join("verifying").exists()
    });
    project.repo.file("other.txt", "second\n").commit("second");
    std::fs::write(project.repo.home().join("go-on"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(
        project.repo.log_subjects()[..3],
        ["feat: Write A", "second", "first"]
    );
    let verified = std::fs::read_to_string(project.repo.home().join("verified")).unwrap();
    assert_eq!(
        verified, "first\nsecond\n",
        "each time on what it would land on"
    );
    assert_eq!(ran.named("run_started").len(), 1, "the agent runs once");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_change_that_breaks_on_what_a_person_committed_does_not_land() {
    let mut own = story("A");
    own["verify"] = json!(["test -f A.txt && grep -q base other.txt"]);
    let project = layered(&json!({"default": [waits("echo x > A.txt")]}));
    project.repo.prd(&crate::support::prd(&[own])).commit("own");
    let live = begun(&project, &["--once"]);
    project
        .repo
        .file("other.txt", "person\n")
        .commit("by a person");
    go(&project);
    let ran = live.wait().expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert_eq!(project.repo.log_subjects()[0], "by a person");
    assert_eq!(project.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_change_that_conflicts_is_kept_and_charged_to_no_one() {
    // One that is not charged is the first attempt again.
    let once = "echo x > A.txt; [ -e \"$HOME/begun\" ] || echo agent > other.txt";
    let script = json!({"default": [waits(once)]});
    let project = layered(&script);
    let live = begun(&project, &[]);
    project
        .repo
        .file("other.txt", "person\n")
        .commit("by a person");
    go(&project);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A overtaken", "A verified"]);
    let ended = ran.named("iteration_ended");
    let reason = ended[0]["reason"].as_str().unwrap();
    assert!(reason.contains("other.txt"), "{reason}");
    let started = ran.named("iteration_started");
    assert_eq!(started[1]["attempt"], 1, "no attempt is charged");
    assert_eq!(project.attempts().len(), 1, "the work is kept");
    assert_eq!(
        project
            .repo
            .git(["show", &format!("{}:other.txt", project.attempts()[0])]),
        "agent"
    );
    assert_eq!(project.repo.read("other.txt"), "person\n");
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["feat: Write A", "by a person"]
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_person_who_rewrites_the_branch_stops_the_loop() {
    let project = layered(&json!({"default": [waits("echo x > A.txt")]}));
    let live = begun(&project, &[]);
    project
        .repo
        .git(["commit", "-q", "--amend", "--allow-empty", "-m", "amended"]);
    go(&project);
    let ran = live.wait().expect(4);
    assert_eq!(ran.verdicts(), ["A refused"]);
    assert!(ran.all().contains("rewritten"), "{}", ran.all());
    assert_eq!(project.repo.log_subjects()[0], "amended");
    assert_eq!(project.attempts().len(), 1);
    assert_eq!(project.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_person_who_leaves_the_branch_keeps_the_folder_as_it_is() {
    let project = layered(&json!({"default": [waits("echo x > A.txt; echo agent > other.txt")]}));
    let live = begun(&project, &[]);
    project.repo.git(["checkout", "-q", "main"]);
    go(&project);
    live.wait();
    assert_eq!(project.repo.git(["show", "ralph/work:other.txt"]), "agent");
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(project.repo.read("other.txt"), "base\n");
    assert!(!project.repo.exists("A.txt"));
    let status = project
        .repo
        .git(["status", "--porcelain", "--", "other.txt", "A.txt"]);
    assert_eq!(status, "");
}

#[test]
fn a_commit_of_a_person_while_ralph_is_down_is_landed_on() {
    for point in ["agent-recorded", "verified", "land-intended"] {
        let project = layered(&json!({"default": [good_attempt()]}));
        let ran = project.run_with("RALPH_FAILPOINT", point);
        if ran.code() != -9 {
            // The only verification is the one that lands.
            assert_eq!(point, "verified");
            continue;
        }
        project
            .repo
            .file("other.txt", "person\n")
            .commit("by a person");
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{point}");
        assert_eq!(
            project.repo.log_subjects()[..2],
            ["feat: Write A", "by a person"],
            "{point}"
        );
        assert_eq!(project.repo.read("other.txt"), "person\n", "{point}");
        assert_eq!(project.leftovers(), [""; 0], "{point}");
    }
}

#[test]
fn a_task_that_a_person_commits_meanwhile_is_worked_on_next() {
    let shell = "echo x > $RALPH_TASK_ID.txt; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done";
    let script = json!({"default": [{"do": [{"run": shell}, {"say": "Task {id} complete"}]}]});
    let project = layered(&script);
    let live = begun(&project, &[]);
    project
        .repo
        .prd(&crate::support::prd(&[story("A"), story("B")]))
        .commit("another task");
    go(&project);
    live.wait().expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(project.passes("A") && project.passes("B"));
    assert_eq!(
        project.repo.log_subjects()[..3],
        ["feat: Write B", "feat: Write A", "another task"]
    );
    assert_eq!(
        project.diff_lines("HEAD~1", "prd.json"),
        ["-      \"passes\": false", "+      \"passes\": true"]
    );
    assert_eq!(project.leftovers(), [""; 0]);
}
