//! A fallback that can't work at all: the agent of the loop is waited for instead.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{calls, claude, good, limited, one_story, seconds};
use crate::support::Project;

fn with_missing_fallback(ahead: u32, more: &str) -> Project {
    let config = format!(
        "limits:\n  on_usage_limit: fallback\n  \
         fallback_agent: {{name: other, command: [no-such-agent], dialect: text}}\n{more}"
    );
    claude(one_story(), ahead, &[limited(), good()]).config(&config)
}

#[test]
fn it_is_said_and_the_agent_goes_on_after_its_reset() {
    let project = with_missing_fallback(5, "");
    // Neither is the iteration that was asked for.
    let ran = project.run(&["--once", "--max-iterations", "1"]).expect(0);
    let verdicts = ["A limit_hit", "A agent_unavailable", "A verified"];
    assert_eq!(ran.verdicts(), verdicts);
    let reset = jiff::Timestamp::from_second(calls(&project)[0] + 5).unwrap();
    let warnings = ran.named("warning");
    let said = |words: &str| {
        let texts = warnings.iter().map(|w| w["message"].as_str().unwrap());
        texts.filter(|text| text.contains(words)).count()
    };
    assert_eq!(said("other can't go on in place of claude: "), 1);
    let waits = format!("waiting until claude is tried again at {reset}");
    assert_eq!(said(&waits), 1, "{warnings:?}");
    let calls = calls(&project);
    assert!(
        calls.len() == 2 && calls[1] >= reset.as_second(),
        "{calls:?}"
    );
}

#[test]
fn status_says_until_when_and_a_run_that_is_started_anew_waits_as_well() {
    let project = with_missing_fallback(3600, "");
    for _ in 0..2 {
        let mut live = project.start(&[]);
        live.wait_for("waiting");
        let status = project.ralph(&["status", "--json"]).output().unwrap();
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        let reset = calls(&project)[0] + 3600;
        assert_eq!(seconds(&status["waitingUntil"]), reset, "{status}");
        live.signal(Signal::TERM);
        live.wait().expect(143);
        assert_eq!(calls(&project).len(), 1);
    }
}

#[test]
fn a_reset_that_is_too_far_away_ends_the_loop() {
    let project = with_missing_fallback(300, "  max_wait_minutes: 4\n");
    let ran = project.run(&[]).expect(6);
    assert_eq!(ran.stop()["why"], json!("agent_unavailable"));
    assert_eq!(ran.named("waiting"), [Value::Null; 0]);
    assert_eq!(calls(&project).len(), 1);
}
