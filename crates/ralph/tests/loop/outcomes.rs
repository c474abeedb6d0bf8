//! How a loop ends when not all is well, and what the exit code says of it.

use serde_json::json;

use crate::support::{Project, good_attempt, good_script, story, story_after};

/// A story that nothing can verify.
fn hopeless(id: &str) -> serde_json::Value {
    let mut story = story(id);
    story["verify"] = json!([format!("echo \"no $RANDOM luck\"; exit 7")]);
    story
}

const NO_RETRIES: &str = "loop:\n  max_verify_retries: 0\n";

fn claims_nothing_done() -> serde_json::Value {
    json!({"do": [{"say": "Task {id} complete"}]})
}

fn escalates() -> serde_json::Value {
    json!({"do": [
        {"write": {"path": "draft.txt", "text": "x"}},
        {"say": "<escalate type=\"stuck\">\n<summary>two ways</summary>\n<question>Which database is it to be?</question>\n</escalate>"},
    ]})
}

#[test]
fn an_escalation_waits_while_others_are_done_and_then_a_person_is_needed() {
    let script = json!({"tasks": {"A": [escalates()]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A"), story("B")]).script(&script);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A escalated", "B verified"]);
    let question = ran.one("question");
    assert_eq!(
        (&question["id"], &question["task"]),
        (&json!(1), &json!("A"))
    );
    assert_eq!(
        question["escalation"]["question"],
        "Which database is it to be?"
    );
    assert_eq!(ran.stop()["why"], "question");
    assert_eq!(project.landed(), ["B"]);
    assert_eq!(project.attempts().len(), 1, "what it wrote is kept");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_question_is_shown_to_people_too() {
    let project = Project::with_stories(&[story("A")]).script(&json!({"default": [escalates()]}));
    for args in [&[][..], &["-q"][..]] {
        let ran = project.run_for_people(args).expect(4);
        assert!(
            ran.all().contains("Which database is it to be?"),
            "{}",
            ran.all()
        );
    }
}

#[test]
fn a_question_waits_over_runs_until_the_task_says_something_else_and_charges_nobody() {
    let script = json!({"tasks": {"A": [escalates()]}, "default": [good_attempt()]});
    let project = Project::with_stories(&[story("A"), story_after("B", &["A"])]).script(&script);
    project.run(&[]).expect(4);
    let project = project.script(&good_script());
    let ran = project.run(&[]).expect(4);
    assert!(ran.named("iteration_started").is_empty());
    assert_eq!(ran.one("question")["task"], "A", "it is said again");

    let edited = project
        .repo
        .read("prd.json")
        .replace("Write A", "Write A with SQLite");
    project.repo.file("prd.json", &edited);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("iteration_started")[0]["attempt"], 1);
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(
        project.files_of("HEAD~1"),
        ["A.txt", "draft.txt", "prd.json"]
    );
}

#[test]
fn once_with_an_escalation_needs_a_person() {
    let project = Project::with_stories(&[story("A")]).script(&json!({"default": [escalates()]}));
    project.run(&["--once"]).expect(4);
}

#[test]
fn a_task_out_of_attempts_is_blocked_in_its_file_and_the_loop_needs_a_person() {
    let script = json!({"tasks": {"A": [claims_nothing_done()]}, "default": [good_attempt()]});
    let project = Project::new()
        .config("loop:\n  max_attempts: 2\n")
        .script(&script);
    let tasks = "- id: A\n  title: A\n  status: open\n- id: B\n  title: B\n  status: open\n";
    project
        .repo
        .file(".ralph/tasks/all.yaml", tasks)
        .commit("tasks");
    let ran = project.run(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["A no_change", "A no_change", "B unverified"]
    );
    assert_eq!(ran.one("task_blocked")["task"], "A");
    let blocked =
        "- id: A\n  title: A\n  status: blocked\n- id: B\n  title: B\n  status: completed\n";
    assert_eq!(project.repo.read(".ralph/tasks/all.yaml"), blocked);
    let again = project.run(&[]).expect(4);
    assert!(again.named("iteration_started").is_empty());
    let why = &again.one("loop_ended")["blocked"][0];
    assert_eq!(why["task"], "A");
}

#[test]
fn a_task_that_a_person_opens_again_has_all_its_attempts() {
    let script = json!({"default": [claims_nothing_done()]});
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 2\n")
        .script(&script);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A no_change", "A no_change"]);
    let text = project.repo.read("prd.json");
    assert!(text.contains("blocked"), "{text}");
    project.repo.git(["checkout", "-q", "--", "prd.json"]);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A no_change", "A no_change"]);
    let attempts: Vec<_> = ran.named("iteration_started");
    assert_eq!(attempts[0]["attempt"], 1);
}

#[test]
fn the_same_failure_again_and_again_asks_a_person() {
    let script = json!({"default": [good_attempt()]});
    let project = Project::with_stories(&[hopeless("A"), story("B")])
        .config("loop:\n  max_verify_retries: 0\n  max_attempts: 9\n  gutter:\n    max_same_failure: 2\n")
        .script(&script);
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A failed", "A failed", "B verified"]);
    assert_eq!(ran.one("question")["task"], "A");
}

#[test]
fn a_usage_limit_ends_the_run_and_charges_nobody() {
    let script = json!({"tasks": {"A": [
        {"do": [{"write": {"path": "half.txt", "text": "x"}}, {"limit": "2030-01-01T00:00:00Z"}]},
    ]}});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let ran = project.run(&[]).expect(6);
    assert_eq!(ran.stop()["why"], "usage_limit");
    assert_eq!(ran.stop()["resetsAt"], "2030-01-01T00:00:00Z");
    assert_eq!(project.leftovers(), [""; 0]);
    let project = project.script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 1);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "half.txt", "prd.json"]);
}

#[test]
fn claude_at_its_limit_ends_the_run_and_charges_nobody() {
    let scenario = json!({"default": [{"do": "rateLimited", "resetsAt": 1_893_456_000}]});
    let project = Project::with_stories(&[story("A")]).claude(&scenario);
    let ran = project.run(&[]).expect(6);
    assert_eq!(ran.verdicts(), ["A limit_hit"]);
    assert_eq!(ran.stop()["resetsAt"], "2030-01-01T00:00:00Z");
}

#[test]
fn an_agent_that_is_not_installed_is_said_by_name_with_a_hint() {
    let project = Project::with_stories(&[story("A")]).agent("command:no-such-agent-anywhere");
    project
        .run(&[])
        .expect(6)
        .says("program not found: no-such-agent-anywhere")
        .says("ralph doctor");
    assert_eq!(
        project.repo.branch(),
        "refs/heads/main",
        "nothing was begun"
    );
    let project = project.script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(
        ran.one("iteration_started")["attempt"],
        1,
        "nobody is charged"
    );
}

#[test]
fn claude_that_is_not_installed_is_said_by_name() {
    let project = Project::with_stories(&[story("A")])
        .agent("claude")
        .env("RALPH_CLAUDE_COMMAND", "[\"no-such-claude\"]");
    project.run(&[]).expect(6).says("no-such-claude");
}

#[test]
fn errors_of_the_agent_in_a_row_end_the_loop() {
    let script = json!({"default": [{"do": [{"fail": "the API is down"}]}]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .config("loop:\n  max_attempts: 9\n")
        .script(&script);
    let ran = project.run(&[]).expect(7);
    assert_eq!(ran.stop(), json!({"why": "errors", "count": 3}));
}

#[test]
fn no_progress_on_the_only_task_ends_the_loop() {
    let script = json!({"default": [claims_nothing_done()]});
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_attempts: 9\n")
        .script(&script);
    let ran = project.run(&[]).expect(7);
    assert_eq!(ran.stop(), json!({"why": "no_progress", "iterations": 3}));
}

#[test]
fn work_that_is_left_but_not_ready_says_what_blocks_what() {
    let project = Project::new().script(&good_script());
    let tasks =
        "- {id: A, title: A, status: blocked}\n- {id: B, title: B, status: open, dependsOn: [A]}\n";
    project
        .repo
        .file(".ralph/tasks/all.yaml", tasks)
        .commit("tasks");
    let ran = project.run(&[]).expect(4);
    let blocked = ran.one("loop_ended")["blocked"].clone();
    assert_eq!(blocked.as_array().unwrap().len(), 2, "{blocked}");
    assert_eq!(blocked[1]["task"], "B");
    assert!(
        blocked[1]["by"][0].as_str().unwrap().contains('A'),
        "{blocked}"
    );
}

#[test]
fn a_red_start_is_said_before_any_work_and_nothing_lands_on_it() {
    let config = format!("{NO_RETRIES}verification:\n  commands:\n    - \"echo broken; exit 3\"\n");
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    let names: Vec<_> = ran.events().iter().map(|e| e["event"].clone()).collect();
    let at = |name: &str| names.iter().position(|n| n == name).unwrap();
    assert!(at("baseline_ended") < at("iteration_started"));
    let red = ran.one("baseline_ended")["red"].clone();
    assert!(
        red[0].as_str().unwrap().contains("echo broken; exit 3"),
        "{red}"
    );
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert!(project.landed().is_empty());
    let ended = ran.named("verify_ended");
    let broken = ended
        .iter()
        .filter(|e| e["againstBaseline"] == "already_broken");
    assert_eq!(broken.count(), 1);
}

#[test]
fn a_known_failure_does_not_block_where_the_config_allows_it() {
    let config =
        "verification:\n  known_failures: allow\n  commands:\n    - \"echo broken; exit 3\"\n";
    let project = Project::with_stories(&[story("A")])
        .config(config)
        .script(&good_script());
    project.run(&[]).expect(0);
    let message = project.repo.git(["log", "-1", "--format=%B"]);
    assert!(
        message.contains("echo broken; exit 3 (known failure, as at the start)"),
        "{message}"
    );
}

#[test]
fn another_failure_than_the_known_one_blocks_all_the_same() {
    let config = format!(
        "{NO_RETRIES}verification:\n  known_failures: allow\n  commands:\n    - \"if test -f A.txt; then echo worse; else echo broken; fi; exit 3\"\n"
    );
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert!(project.landed().is_empty());
}

#[test]
fn what_the_change_breaks_is_told_from_what_was_broken() {
    let config = format!("{NO_RETRIES}verification:\n  commands:\n    - \"! test -f A.txt\"\n");
    let project = Project::with_stories(&[story("A")])
        .config(&config)
        .script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    let ended = ran.named("verify_ended");
    assert!(
        ended.iter().any(|e| e["againstBaseline"] == "regressed"),
        "{ended:?}"
    );
}

#[test]
fn a_task_without_any_verify_command_is_completed_as_unverified() {
    let mut plain = story("A");
    plain.as_object_mut().unwrap().remove("verify");
    let project = Project::with_stories(&[plain]).script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("landed")["unverified"], true);
    let message = project.repo.git(["log", "-1", "--format=%B"]);
    assert!(
        message.contains("Unverified: no verify command"),
        "{message}"
    );
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    assert!(record.contains("\"unverified\": true"), "{record}");
}

#[test]
fn minutes_that_are_over_stop_the_agent_and_the_loop_and_charge_nobody() {
    let script = json!({"default": [{"do": [{"write": {"path": "a.txt", "text": "x"}}, "hang"]}]});
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  stop_grace_seconds: 1\n")
        .script(&script);
    let ran = project.run(&["--max-minutes", "0.04"]).expect(3);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    assert_eq!(ran.stop()["why"], "minutes");
    assert_eq!(project.leftovers(), [""; 0]);
    project.assert_nothing_alive();
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(
        ran.one("iteration_started")["attempt"],
        1,
        "nobody is charged"
    );
}

#[test]
fn a_wrong_configuration_is_refused_with_the_right_word() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_iteration: 3\n")
        .script(&good_script());
    project
        .run(&[])
        .expect(2)
        .says("max_iteration")
        .says("max_iterations");
}
