//! A usage limit is the agent's, not the loop's: a run that is started anew knows of it.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{calls, claude, good, limited, one_story, record, seconds};
use crate::support::{Project, Ran, good_script, story, wait_until, write_program};

/// Runs until it waits, and is asked to end.
fn ended_while_it_waits(project: &Project, signal: Signal) -> Ran {
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    live.signal(signal);
    live.wait()
}

fn notices(ran: &Ran) -> Vec<String> {
    let notices = ran.named("notice");
    let text = |n: &Value| n["message"].as_str().unwrap().to_owned();
    notices.iter().map(text).collect()
}

fn waiting_until(project: &Project) -> Value {
    let status = project.ralph(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    status["waitingUntil"].clone()
}

#[allow(
    clippy::disallowed_methods,
    reason = "the test is about the real clock"
)]
fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

#[test]
fn however_a_wait_was_ended_the_next_run_waits_until_the_same_moment_and_says_so() {
    let project = claude(one_story(), 3600, &[limited(), good()]);
    let first = ended_while_it_waits(&project, Signal::TERM).expect(143);
    let reset = jiff::Timestamp::from_second(calls(&project)[0] + 3600).unwrap();
    let said = format!(
        "the usage limit of claude resets at {reset}: waiting; `--agent` or \
         `limits.on_usage_limit` choose otherwise"
    );
    assert_eq!(notices(&first), [""; 0]);
    for (signal, code) in [(Signal::INT, 130), (Signal::HUP, 129), (Signal::TERM, 143)] {
        let mut live = project.start(&[]);
        live.wait_for("waiting");
        assert_eq!(seconds(&waiting_until(&project)), reset.as_second());
        live.signal(signal);
        let ran = live.wait().expect(code);
        assert_eq!(ran.one("loop_started")["resumed"], false);
        assert_eq!(notices(&ran), [said.as_str()]);
        assert_eq!(ran.one("waiting")["until"], first.one("waiting")["until"]);
        assert_eq!(calls(&project).len(), 1, "nobody was asked");
    }
}

#[test]
fn after_the_moment_it_goes_on_by_itself() {
    let project = claude(one_story(), 8, &[limited(), good()]);
    ended_while_it_waits(&project, Signal::TERM).expect(143);
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let calls = calls(&project);
    assert_eq!(calls.len(), 2);
    assert!(calls[1] >= calls[0] + 8, "{calls:?}");
}

#[test]
fn a_limit_that_is_over_is_forgotten_also_where_one_stops_the_loop() {
    let project = claude(one_story(), 4, &[limited(), good()]);
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    live.signal(Signal::KILL);
    live.wait();
    let reset = calls(&project)[0] + 4;
    wait_until("the limit is over", || now() > reset);
    let project = project.env("RALPH_LIMITS_ON_USAGE_LIMIT", "stop");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn a_reset_that_nobody_knows_is_asked_for_again() {
    let words = json!([{"do": "usageLimitText", "text": "You've hit your limit"}]);
    let project = claude(one_story(), 0, &[words, good()]);
    ended_while_it_waits(&project, Signal::INT).expect(130);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn what_another_agent_did_since_does_not_make_it_forgotten() {
    let project = Project::with_stories(&[story("A"), story("B")]);
    let project = claude(project, 3600, &[limited(), good()]);
    ended_while_it_waits(&project, Signal::TERM).expect(143);
    let project = project.script(&good_script());
    let ran = project.run(&["--once"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let project = project.agent("claude");
    ended_while_it_waits(&project, Signal::TERM).expect(143);
    assert_eq!(calls(&project).len(), 1);
}

#[test]
fn whoever_wants_it_to_stop_at_a_limit_gets_it_asked_again() {
    let project = claude(one_story(), 3600, &[limited(), good()]);
    ended_while_it_waits(&project, Signal::TERM).expect(143);
    let project = project.env("RALPH_LIMITS_ON_USAGE_LIMIT", "stop");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn a_fallback_that_was_set_since_goes_on_at_once() {
    let project = one_story();
    let other = project.outside("other.sh");
    write_program(&other, "touch A.txt; echo Task A complete");
    let project = claude(project, 3600, &[limited()]);
    ended_while_it_waits(&project, Signal::TERM).expect(143);
    let agent = format!("command:{}", other.display());
    let project = project
        .env("RALPH_LIMITS_ON_USAGE_LIMIT", "fallback")
        .env("RALPH_LIMITS_FALLBACK_AGENT", &agent);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(record(&project, 2)["runs"][0]["agent"], agent);
    assert_eq!(calls(&project).len(), 1);
}

#[test]
fn a_reset_that_is_too_far_away_is_asked_about_again_by_whoever_starts_again() {
    let project = claude(one_story(), 300, &[limited()]).config("limits:\n  max_wait_minutes: 4\n");
    let first = project.run(&[]).expect(6);
    let again = project.run(&[]).expect(6);
    assert_eq!(again.stop()["why"], first.stop()["why"]);
    assert_eq!(notices(&again), [""; 0], "it does not wait");
    assert_eq!(calls(&project).len(), 2);
}
