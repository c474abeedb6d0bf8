//! Commands when no loop runs: obeyed at once, with the same words.

use serde_json::json;

use super::{scratch, waits_for_go};
use crate::support::{Project, good_script, story};

/// Claims, and changes nothing.
fn claims_only() -> serde_json::Value {
    json!({"default": [{"do": [{"say": "Task {id} complete"}]}]})
}

#[test]
fn pause_has_nothing_to_do_and_the_next_run_is_not_paused() {
    let (project, _) = scratch();
    assert_eq!(
        project.told(&["pause"]),
        "no loop is running here: nothing to pause\n"
    );
    project.run(&[]).expect(0);
}

#[test]
fn resume_starts_the_loop_again_on_the_same_tasks() {
    let (project, file) = scratch();
    project.run(&["--once"]).expect(0);
    // Another file that could be meant: the last loop's is.
    project
        .repo
        .file("tasks.json", std::fs::read_to_string(&file).unwrap());
    let script = project.outside("script.json");
    let agent = format!("script:{}", script.display());
    let output = project
        .order(&["resume", "--json", "--agent", &agent])
        .wait_with_output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{error}");
    assert_eq!(
        error,
        "no loop is running here: starting `ralph run prd.json`\n"
    );
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn skip_is_in_the_file_committed_and_counted_also_where_ralph_never_ran() {
    let (project, _) = scratch();
    let staged = project.repo.file("mine.txt", "x");
    staged.git(["add", "mine.txt"]);
    let said = project.told(&["skip", "--task", "A", "--reason", "no longer wanted"]);
    assert_eq!(
        said,
        "A is skipped: no longer wanted; prd.json is committed\n"
    );
    assert_eq!(project.files_of("HEAD"), ["prd.json"]);
    assert_eq!(
        project.leftovers(),
        ["A  mine.txt"],
        "what a person staged stays so"
    );
    let status = project.status();
    assert_eq!(status["tasks"]["skipped"], 1);
    let skipped = json!([{"taskId": "A", "title": "Write A", "why": "no longer wanted"}]);
    assert_eq!(status["skipped"], skipped);
    project.repo.git(["commit", "-qm", "mine"]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["B verified"]);
    let report: serde_json::Value =
        serde_json::from_str(&project.told(&["report", "--json"])).unwrap();
    assert_eq!(report["now"]["skipped"], skipped);
    assert!(project.told(&["report"]).contains("A: no longer wanted"));
    assert!(project.told(&["status"]).contains("no longer wanted"));
}

#[test]
fn an_untracked_task_file_is_changed_and_nothing_is_committed() {
    let project = Project::with_untracked_stories(&[story("A")]);
    let head = project.repo.git(["rev-parse", "HEAD"]);
    assert_eq!(
        project.told(&["skip", "--task", "A", "--reason", "x"]),
        "A is skipped: x\n"
    );
    assert_eq!(project.repo.git(["rev-parse", "HEAD"]), head);
    assert_eq!(project.story_in_file("A")["skipped"], true);
}

#[test]
fn a_task_file_is_not_committed_into_the_middle_of_a_merge() {
    let (project, _) = scratch();
    project.repo.git(["switch", "-qc", "other"]);
    project.repo.file("README.md", "other\n").commit("other");
    project.repo.git(["switch", "-q", "main"]);
    project.repo.file("README.md", "main\n").commit("main");
    let _ = project
        .repo
        .command("git")
        .args(["merge", "other"])
        .output()
        .unwrap();
    let error = project.refused(&["skip", "--task", "A", "--reason", "x"]);
    assert!(error.contains("a merge is in progress"), "{error}");
    assert_eq!(project.story_in_file("A").get("skipped"), None);
}

#[test]
fn words_are_in_the_next_prompt_and_in_those_of_the_same_task_after_it() {
    let project = Project::with_stories(&[story("A")]).config("loop:\n  max_verify_retries: 0\n");
    let prompts = project.outside("prompts");
    let project = project.command(&format!(
        "cat >> {p}; echo x > n-$RALPH_ATTEMPT.txt; [ $RALPH_ATTEMPT = 2 ] && echo x > A.txt\n\
         echo 'Task A complete'",
        p = prompts.display()
    ));
    assert_eq!(
        project.told(&["say", "Mind the gap."]),
        "it will be in the next prompt\n"
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    let prompts = std::fs::read_to_string(prompts).unwrap();
    assert_eq!(prompts.matches("Mind the gap.").count(), 2);
}

#[test]
fn a_dry_run_shows_the_words_and_does_not_use_them_up() {
    let (project, _) = scratch();
    project.told(&["say", "Mind the gap."]);
    for _ in 0..2 {
        let output = project.ralph(&["run", "--dry-run"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("Mind the gap."), "{text}");
    }
}

#[test]
fn a_task_out_of_attempts_is_unblocked_with_all_of_them() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 2\n")
        .script(&claims_only());
    let error = project.refused(&["unblock", "--task", "A"]);
    assert!(error.contains("A is not blocked"), "{error}");
    project.run(&[]).expect(4);
    let said = project.told(&["unblock", "--task", "A"]);
    assert_eq!(
        said,
        "A is open, with all its attempts; prd.json is committed\n"
    );
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 1);
}

#[test]
fn retry_opens_a_task_and_tells_its_next_agent() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 1\n")
        .script(&claims_only());
    project.run(&[]).expect(4);
    let said = project.told(&["retry", "--task", "A", "--feedback", "Write the file."]);
    assert_eq!(
        said,
        "A is open, with all its attempts; prd.json is committed; the next prompt has what you say\n"
    );
    let project = waits_for_go(project);
    project.go();
    project.run(&[]).expect(0);
    assert!(project.prompts().contains("Write the file."));
}

#[test]
fn retry_opens_what_was_skipped() {
    let (project, _) = scratch();
    project.told(&["skip", "--task", "A", "--reason", "x"]);
    project.told(&["retry", "--task", "A"]);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let project = Project::with_stories(&[story("US-001"), story("US-002")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    let table: [(&[&str], &str); 7] = [
        (
            &["skip", "--task", "US-01", "--reason", "x"],
            "there is no task US-01 in prd.json",
        ),
        (
            &["skip", "--task", "us_2", "--reason", "x"],
            "did you mean US-002?",
        ),
        (
            &["skip", "--task", "US-001", "--reason", "x"],
            "US-001 is complete: there is nothing to skip",
        ),
        (
            &["skip", "--task", "US-002", "--reason", " "],
            "--reason is empty",
        ),
        (&["retry", "--task", "US-001"], "US-001 is complete"),
        (&["unblock", "--task", "US-002"], "US-002 is not blocked"),
        (&["say", ""], "what is to be said is empty"),
    ];
    for (args, expected) in table {
        let error = project.refused(args);
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    let head = project.repo.git(["log", "-1", "--format=%s"]);
    assert!(!head.contains("chore"), "{head}");
}

#[test]
fn a_task_file_that_can_not_be_read_refuses_the_command_and_does_not_keep_it() {
    let (project, file) = scratch();
    let good = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, "{").unwrap();
    let error = project.refused(&["skip", "--task", "A", "--reason", "x"]);
    assert!(error.contains("prd.json"), "{error}");
    std::fs::write(&file, good).unwrap();
    project.told(&["say", "hello"]);
    assert_eq!(project.story_in_file("A").get("skipped"), None);
}

#[test]
fn outside_of_a_repository_there_is_nothing_to_command() {
    let project = Project::of(ralph_testkit::TestRepo::bare_folder());
    project.repo.file("prd.json", r#"{"userStories": []}"#);
    let error = project.refused(&["say", "hello"]);
    assert!(error.contains("repository"), "{error}");
}
