//! Handoffs that somebody asks for: the agent in its last words, or a person from another terminal.

use serde_json::{Value, json};

use super::{QUICK, finishes, full, heeds, one_task, run, say};
use crate::support::{Live, Project, story};

fn half() -> Value {
    run("echo half > half-A.txt")
}

/// The first iteration ends by itself with these last words; the second finds the half.
fn after_saying(words: &str) -> (Project, Vec<String>) {
    let project = one_task(&[vec![half(), say(words)]]);
    let ran = project.run(&[]).expect(0);
    assert!(ran.named("handoff_asked").is_empty());
    let verdicts = ran.verdicts();
    (project, verdicts)
}

#[test]
fn an_agent_that_asks_for_it_in_its_last_words_hands_over() {
    let words = "<ralph>\nhandoff: too large for one context\nnext: the other half\n</ralph>";
    let (project, verdicts) = after_saying(words);
    assert_eq!(verdicts, ["A handoff", "A verified"]);
    assert_eq!(project.iteration(1)["trigger"], "explicit_request");
    let prompt = project.prompt_of(2);
    let reason = "It handed over: the agent asks for it: too large for one context.\n";
    assert!(prompt.contains(reason), "{prompt}");
    assert!(prompt.contains("It said what is next: the other half\n"));
}

#[test]
fn a_phase_that_is_over_hands_over_to_the_next() {
    let testing = "<ralph>\nphase: testing\nsummary: written, not tested\n</ralph>";
    let (project, verdicts) = after_saying(testing);
    assert_eq!(verdicts, ["A handoff", "A verified"]);
    assert_eq!(project.iteration(1)["trigger"], "phase_complete");
    let prompt = project.prompt_of(2);
    assert!(
        prompt.contains("the work went from planning on to testing"),
        "{prompt}"
    );
    // The same phase again is no boundary: it is an attempt like any other.
    let again = vec![half(), say(testing)];
    let project = one_task(&[again.clone(), again]).env("RALPH_LOOP_MAX_ITERATIONS", "2");
    let ran = project.run(&[]);
    assert_eq!(ran.verdicts(), ["A handoff", "A failed"], "{}", ran.all());
}

/// Says that it has begun, and waits in a tool until the test lets it go on.
fn waits(project: &Project) -> Vec<Value> {
    let go = project.outside("go");
    vec![run(&format!(
        "echo half > half-A.txt; while [ ! -e {} ]; do sleep 0.02; done",
        go.display()
    ))]
}

fn tool_runs(live: &mut Live) {
    while live.wait_for("agent")["kind"] != "tool" {}
}

#[test]
fn a_person_can_have_the_running_agent_hand_over() {
    let project = Project::with_stories(&[story("A")]).config(QUICK);
    let mut first = waits(&project);
    first.extend([heeds(), say("Stopped.\n<ralph>\nnext: go on\n</ralph>")]);
    let project = project.claude(&json!({
        "cases": [{"iteration": 1, "actions": first}], "default": finishes(),
    }));
    let mut live = project.start(&[]);
    tool_runs(&mut live);
    let told: Value =
        serde_json::from_str(&project.told(&["intervene", "handoff", "--json"])).unwrap();
    assert_eq!(
        told,
        json!({
            "id": 1, "command": "intervene", "state": "done", "hint": null,
            "sentence": "the agent that works at A (iteration 1) is asked to wrap up, and a fresh one goes on",
        })
    );
    assert_eq!(
        project.told(&["intervene", "handoff"]),
        "the agent that works at A (iteration 1) was asked to wrap up already\n"
    );
    std::fs::write(project.outside("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let asked = ran.one("handoff_asked");
    assert_eq!(asked["trigger"], "explicit_request");
    assert_eq!(asked["sentence"], "a person asked for it");
}

#[test]
fn an_agent_that_can_be_told_nothing_and_tells_nothing_of_itself_is_ended_when_a_person_asks() {
    let project = Project::with_stories(&[story("A")]).config(QUICK);
    let project = project.command(
        "if [ $RALPH_ITERATION = 1 ]; then echo half > half-A.txt; echo begun; sleep 1000; fi\n\
         test -e half-A.txt && mv half-A.txt A.txt; echo 'Task A complete'",
    );
    let mut live = project.start(&[]);
    while live.wait_for("agent")["text"] != "begun" {}
    project.told(&["intervene", "handoff"]);
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
    let ending = &project.iteration(1)["runs"][0]["ending"];
    assert_eq!(
        *ending,
        json!({"how": "handed_off", "trigger": "explicit_request"})
    );
    project.assert_nothing_alive();
}

#[test]
fn where_no_agent_works_there_is_nothing_to_intervene_in() {
    let project = Project::with_stories(&[story("A")]).script(&crate::support::good_script());
    for choice in ["handoff", "more-time", "terminate"] {
        let error = project.refused(&["intervene", choice]);
        assert!(error.contains("no agent works here now"), "{error}");
    }
    let error = project.refused(&["intervene", "hand-over"]);
    assert!(error.contains("invalid value 'hand-over'"), "{error}");
    // It does not wait for the next agent.
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn with_handing_over_turned_off_only_a_person_asks_for_it() {
    let project = Project::with_stories(&[story("A")])
        .config("handoff: {enabled: false}\nloop: {stop_grace_seconds: 1}\n");
    let words = "Nearly.\n<ralph>\nhandoff: tired\n</ralph>";
    let project = project.claude(&json!({
        "cases": [{"iteration": 1, "actions": [full(), half(), run("true"), say(words)]}],
        "default": finishes(),
    }));
    let project = project.env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0");
    let ran = project.run(&["--max-iterations", "1"]);
    assert_eq!(ran.verdicts(), ["A failed"], "{}", ran.all());
    assert!(ran.named("handoff_asked").is_empty());
}
