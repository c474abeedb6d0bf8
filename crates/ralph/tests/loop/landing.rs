//! Work that is as it should be: what lands, in which order, and what the commits look like.

use serde_json::json;

use crate::support::{Project, good_attempt, good_script, story, story_after};

#[test]
fn tasks_land_one_commit_each_in_the_order_of_their_dependencies() {
    let project = Project::with_stories(&[
        story_after("C", &["B"]),
        story("A"),
        story_after("B", &["A"]),
    ])
    .script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
    assert_eq!(ran.stop()["why"], "all_complete");
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work");
    assert_eq!(project.leftovers(), [""; 0]);
    project.assert_nothing_alive();
}

#[test]
fn a_commit_says_what_was_done_what_verified_it_and_where_it_comes_from() {
    let project = Project::with_stories(&[story("A")])
        .config("verification:\n  commands:\n    - [\"true\"]\n")
        .script(&good_script());
    let ran = project.run(&[]).expect(0);
    let message = project.repo.git(["log", "-1", "--format=%B"]);
    let loop_id = ran.one("loop_started")["loopId"]
        .as_str()
        .unwrap()
        .to_owned();
    let iteration = ran.one("iteration_started")["iterationId"]
        .as_str()
        .unwrap()
        .to_owned();
    let expected = format!(
        "feat: Write A\n\n\
         Verified by ralph:\n- true (passed)\n- test -f A.txt (passed)\n\n\
         Ralph-Task: A\nRalph-Loop: {loop_id}\nRalph-Iteration: {iteration}"
    );
    assert_eq!(message.trim_end(), expected);
    let author = project.repo.git(["log", "-1", "--format=%an <%ae>"]);
    assert_eq!(author, "Test Person <person@test.invalid>");
}

#[test]
fn a_tracked_task_file_changes_in_the_commit_of_the_work() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD~1"), ["A.txt", "prd.json"]);
    assert_eq!(project.files_of("HEAD"), ["B.txt", "prd.json"]);
    for commit in ["HEAD~1", "HEAD"] {
        assert_eq!(
            project.diff_lines(commit, "prd.json"),
            ["-      \"passes\": false", "+      \"passes\": true"]
        );
    }
}

#[test]
fn a_task_file_that_git_does_not_track_is_updated_and_not_committed() {
    let project = Project::with_untracked_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD~1"), ["A.txt"]);
    assert_eq!(project.files_of("HEAD"), ["B.txt"]);
    assert!(project.passes("A") && project.passes("B"));
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_label_chooses_the_type_of_the_commit() {
    let mut bug = story("A");
    bug["labels"] = json!(["bug"]);
    let mut chore = story("B");
    chore["labels"] = json!(["docs"]);
    let project = Project::with_stories(&[bug, chore]).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["chore: Write B", "fix: Write A"]
    );
}

#[test]
fn a_failed_verification_is_put_right_within_the_iteration() {
    let script = json!({"default": [{
        "do": [{"write": {"path": "wrong.txt", "text": "x"}}, {"say": "Task {id} complete"}],
        "fix": [{"delete": "wrong.txt"}, {"write": {"path": "{id}.txt", "text": "x"}}, {"say": "Task {id} complete"}],
    }]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let runs: Vec<_> = ran.named("run_started");
    assert_eq!(runs.len(), 2);
    assert_eq!(
        (&runs[1]["run"], &runs[1]["fixOnly"]),
        (&json!(2), &json!(true))
    );
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
}

#[test]
fn the_next_attempt_starts_from_what_the_failed_one_left() {
    let script = json!({"default": [
        {"do": [{"write": {"path": "part.txt", "text": "x"}}, {"say": "Task {id} complete"}]},
        good_attempt(),
    ]});
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_verify_retries: 0\n")
        .script(&script);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "part.txt", "prd.json"]);
    assert_eq!(project.attempts().len(), 1);
}

/// B's first attempt writes `part.txt` and changes `shared.txt`, without being finished; then A lands.
fn half_of_b_then_a(shared_by_a: &str) -> Project {
    let script = json!({"tasks": {
        "A": [{"do": [
            {"write": {"path": "A.txt", "text": "A\n"}},
            {"write": {"path": "shared.txt", "text": shared_by_a}},
            {"say": "Task A complete"},
        ]}],
        "B": [
            {"do": [
                {"write": {"path": "part.txt", "text": "part\n"}},
                {"write": {"path": "shared.txt", "text": "1\n2\n3\n4\n5 by B\n"}},
                {"say": "Task B complete"},
            ]},
            good_attempt(),
        ],
    }});
    let project = Project::with_stories(&[story("A"), story("B")])
        .config("loop:\n  max_verify_retries: 0\n")
        .script(&script);
    project
        .repo
        .file("shared.txt", "1\n2\n3\n4\n5\n")
        .commit("shared");
    project.run(&["--task", "B", "--once"]).expect(3);
    project.run(&["--task", "A"]).expect(0);
    project
}

#[test]
fn an_attempt_that_is_gone_on_with_takes_back_nothing_that_landed_since() {
    let project = half_of_b_then_a("1 by A\n2\n3\n4\n5\n");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(project.passes("A") && project.passes("B"));
    let show = |path: &str| project.repo.git(["show", &format!("HEAD:{path}")]);
    assert_eq!(show("A.txt"), "A");
    assert_eq!(show("part.txt"), "part");
    assert_eq!(show("shared.txt"), "1 by A\n2\n3\n4\n5 by B");
}

#[test]
fn an_attempt_that_does_not_fit_what_landed_since_is_begun_anew() {
    let project = half_of_b_then_a("1\n2\n3\n4\n5 by A\n");
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    let show = |path: &str| project.repo.git(["show", &format!("HEAD:{path}")]);
    assert_eq!(show("A.txt"), "A");
    assert_eq!(show("shared.txt"), "1\n2\n3\n4\n5 by A");
    assert!(!project.repo.exists("part.txt"));
    let said = ran.named("notice");
    assert!(
        said.iter()
            .any(|n| n["message"].as_str().unwrap().contains("does not fit")),
        "{said:?}"
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn an_agent_gets_the_prompt_on_stdin_and_is_told_of_the_last_failure() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_verify_retries: 0\n")
        .command("cat > \"$HOME/prompt-$RALPH_ATTEMPT\"\nif [ $RALPH_ATTEMPT = 1 ]; then echo x > other.txt; else echo x > A.txt; fi\necho \"Task A complete\"");
    project.run(&[]).expect(0);
    let prompt =
        |n: u32| std::fs::read_to_string(project.repo.home().join(format!("prompt-{n}"))).unwrap();
    assert!(prompt(1).contains("Write A") && prompt(1).contains("test -f A.txt"));
    assert!(!prompt(1).contains("verification failed"), "{}", prompt(1));
    assert!(
        prompt(2).contains("verification failed: test -f A.txt"),
        "{}",
        prompt(2)
    );
    assert!(prompt(2).contains("other.txt"), "{}", prompt(2));
}

#[test]
fn a_change_that_passes_without_a_claim_is_kept_and_the_rest_is_asked_for() {
    let script = json!({"default": [
        {"do": [{"write": {"path": "{id}.txt", "text": "x"}}, {"say": "half of it is there"}]},
        {"do": [{"write": {"path": "more.txt", "text": "x"}}, {"say": "Task {id} complete"}]},
    ]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A unclaimed", "A verified"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "more.txt", "prd.json"]);
}

#[test]
fn untracked_files_of_the_user_are_not_committed() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.repo.file("notes/mine.txt", "mine\n");
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    assert_eq!(project.leftovers(), ["?? notes/mine.txt"]);
}

#[test]
fn what_verification_creates_is_not_committed() {
    let mut made = story("A");
    made["verify"] = json!(["echo built > built.txt && test -f A.txt"]);
    let project = Project::with_stories(&[made]).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
}

#[test]
fn formatters_run_before_the_tree_is_verified_and_committed() {
    let project = Project::with_stories(&[story("A")])
        .config("verification:\n  format:\n    - \"echo formatted >> A.txt\"\n  commands:\n    - \"! test -f A.txt || grep -q formatted A.txt\"\n")
        .script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "A\nformatted");
}

#[test]
fn a_task_that_expects_no_change_lands_without_one() {
    let mut check = story("A");
    check["expectsChange"] = json!(false);
    check["verify"] = json!(["test -f README.md"]);
    let project = Project::with_stories(&[check])
        .script(&json!({"default": [{"do": [{"say": "Task A complete"}]}]}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(project.files_of("HEAD"), ["prd.json"]);
    assert!(project.passes("A"));
}

#[test]
fn every_iteration_leaves_a_record_and_a_log_to_read() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.run(&[]).expect(0);
    let record: serde_json::Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    assert_eq!(record["taskId"], "A");
    assert_eq!(record["verdict"], "verified");
    assert_eq!(record["outcome"], "success");
    assert_eq!(record["resultCommit"], project.repo.head());
    assert_eq!(record["verification"][0]["command"], "test -f A.txt");
    let log = project.repo.read(".ralph/logs/iteration-1.txt");
    assert!(
        log.contains("Task A complete") && log.contains("$ test -f A.txt"),
        "{log}"
    );
    assert!(project.repo.read(".ralph/progress.md").contains("Write A"));
}
