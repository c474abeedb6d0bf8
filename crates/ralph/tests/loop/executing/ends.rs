//! Whatever ends an execution: its exit code, and what `results.md` says of it.

use serde_json::json;

use super::shop::{Shop, Tracked, task};

const FAILS: &str = "pathlib.Path('other.txt').write_text(str(N))\nlog()\ndone()";

#[test]
fn a_task_out_of_attempts_halts_everything() {
    let mut first = task("T1", &[]);
    first["max_attempts"] = json!(2);
    let shop = Shop::with(&[first, task("T2", &[])], Tracked::Yes, FAILS);
    let shop = shop.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = shop.execute(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["T1 failed", "T1 failed"]);
    assert_eq!(
        ran.stop(),
        json!({"why": "attempts", "task": "T1", "attempts": 2, "max": 2})
    );
    assert_eq!(shop.standing(), ["T1 blocked 2", "T2 pending 0"]);
    assert_eq!(shop.log(), ["1 T1 attempted", "2 T1 attempted"]);
    let results = shop.read("results.md");
    assert!(
        results.contains("Stopped with work left: task T1 is out of attempts: 2 of 2 failed."),
        "{results}"
    );
    assert!(
        results.contains("- **T1** Write T1 (blocked, 2 of 2 attempts)\n"),
        "{results}"
    );
    assert!(
        results.contains("- **T2** Write T2 (open, 0 of 3 attempts)\n"),
        "{results}"
    );
    shop.assert_readable_by_the_workflows_tool();
}

#[test]
fn the_same_failure_as_often_as_there_are_attempts_is_a_question_and_halts_too() {
    let shop = Shop::with(&[task("T1", &[]), task("T2", &[])], Tracked::Yes, FAILS);
    let shop = shop.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = shop.execute(&[]).expect(4);
    assert_eq!(
        ran.verdicts(),
        ["T1 failed", "T1 failed", "T1 diagnosed", "T1 failed"]
    );
    assert_eq!(ran.stop()["why"], "attempts");
    assert!(
        shop.read("results.md").contains("a person is asked:"),
        "{}",
        shop.read("results.md")
    );
}

#[test]
fn a_diagnosis_takes_no_attempt_away() {
    let shop = Shop::with(&[task("T1", &[])], Tracked::Yes, FAILS);
    let shop = shop.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = shop.execute(&[]).expect(4);
    let expected = ["T1 failed", "T1 failed", "T1 diagnosed", "T1 failed"];
    assert_eq!(ran.verdicts(), expected, "three attempts are the limit");
}

#[test]
fn a_task_that_came_without_attempts_left_halts_before_anybody_starts() {
    let mut spent = task("T1", &[]);
    spent["attempts"] = json!(3);
    let shop = Shop::with(&[spent, task("T2", &[])], Tracked::Yes, "whole()");
    let ran = shop.execute(&[]).expect(4);
    assert_eq!(ran.verdicts(), [""; 0]);
    assert_eq!(
        ran.stop(),
        json!({"why": "attempts", "task": "T1", "attempts": 3, "max": 3})
    );
    assert!(shop.is_there("results.md"));
}

#[test]
fn who_wants_it_goes_on_with_other_tasks() {
    let mut first = task("T1", &[]);
    first["max_attempts"] = json!(1);
    let python = "whole() if TASK == 'T2' else done()";
    let shop = Shop::with(&[first, task("T2", &[])], Tracked::Yes, python);
    shop.project
        .repo
        .file("ralph.yaml", "loop: {on_max_attempts: block}\n")
        .commit("config");
    let ran = shop.execute(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["T1 no_change", "T2 verified"]);
    assert_eq!(ran.stop()["why"], "nothing_ready");
}

#[test]
fn the_limit_of_iterations_is_said_in_the_results_and_the_next_run_goes_on() {
    let shop = Shop::new("whole()");
    let ran = shop.execute(&["--iterations", "1"]).expect(3);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 1}));
    let results = shop.read("results.md");
    assert!(
        results.contains("the limit of one iteration is reached"),
        "{results}"
    );
    let hint = "`ralph execute shop` goes on; `--iterations N` allows more";
    assert!(results.contains(hint), "{results}");
    assert_eq!(ran.one("loop_ended")["hint"], hint);
    assert!(results.contains("- 1 of 2 tasks are complete"), "{results}");
    shop.execute(&[]).expect(0);
    let results = shop.read("results.md");
    assert!(results.contains("Every task is complete."), "{results}");
    assert!(results.contains("iteration 1, 1 attempt"), "{results}");
    assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
}

#[test]
fn a_question_an_interruption_and_a_limit_of_the_configuration_have_results_too() {
    let asks = "print('<escalate type=\"stuck\">\\n<summary>S</summary>\\n<question>Which port?</question>\\n</escalate>')";
    let shop = Shop::new(asks);
    let ran = shop.execute(&[]).expect(4);
    assert_eq!(ran.stop()["why"], "question");
    assert!(
        shop.read("results.md")
            .contains("a person is asked: Which port?")
    );
    let shop = Shop::new("time.sleep(1000)");
    let mut live = shop.start(&[]);
    live.wait_for("run_started");
    live.signal(rustix::process::Signal::INT);
    live.wait().expect(130);
    assert!(
        shop.read("results.md")
            .contains("stopped by Ctrl-C (SIGINT)")
    );
    assert_eq!(shop.log(), ["1 T1 attempted"]);
    assert_eq!(shop.standing(), ["T1 pending 1", "T2 pending 0"]);
    let shop = Shop::new("whole()");
    shop.project
        .repo
        .file("ralph.yaml", "loop: {max_iterations: 1}\n")
        .commit("config");
    let ran = shop.execute(&[]).expect(3);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 1}));
}

#[test]
fn without_any_command_the_work_is_unverified_and_said_to_be() {
    let mut bare = task("T1", &[]);
    bare.as_object_mut().unwrap().remove("verify");
    let shop = Shop::with(&[bare], Tracked::Yes, "whole()");
    shop.execute(&[]).expect(0);
    let results = shop.read("results.md");
    assert!(
        results.contains("- 1 task completed without any verify command"),
        "{results}"
    );
    assert!(
        results.contains("  - **unverified**: there is no verify command for it\n"),
        "{results}"
    );
}

#[test]
fn status_shows_what_was_executed_also_where_other_tasks_lie_about() {
    let shop = Shop::new("whole()");
    let other = r#"{"userStories":[{"id":"X","title":"x","passes":false}]}"#;
    shop.project
        .repo
        .file("prd.json", other)
        .commit("other tasks");
    shop.execute(&["--iterations", "1"]).expect(3);
    let output = shop.project.ralph(&["status", "--json"]).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["source"], ".artefacts/shop/tasks.json");
    assert_eq!(status["tasks"]["completed"], 1);
    let output = shop
        .project
        .ralph(&["cost", "--forecast"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn resume_knows_that_it_was_an_execution() {
    let shop = Shop::new("whole()");
    shop.execute(&["--once"]).expect(0);
    let agent = format!("command:{}", shop.project.outside("agent.sh").display());
    let command = shop.project.ralph(&["resume", "--json", "--agent", &agent]);
    let ran = crate::support::Live::start(command).wait().expect(0);
    assert_eq!(ran.verdicts(), ["T2 verified"]);
    assert_eq!(shop.log(), ["1 T1 completed", "2 T2 completed"]);
    assert!(ran.stderr().contains("starting `ralph execute shop`"));
    assert_eq!(ran.one("loop_started")["command"], "ralph execute shop");
}

#[test]
fn an_iteration_taken_back_stays_in_the_log_and_its_task_is_done_again() {
    let shop = Shop::new("whole()");
    shop.execute(&[]).expect(0);
    let command = shop
        .project
        .ralph(&["revert", "--iteration", "2", "--json"]);
    crate::support::Live::start(command).wait().expect(0);
    assert_eq!(shop.project.landed(), ["T1"]);
    shop.execute(&[]).expect(0);
    assert_eq!(shop.project.landed(), ["T1", "T2"]);
    assert_eq!(
        shop.log(),
        ["1 T1 completed", "2 T2 completed", "3 T2 completed"]
    );
}
