//! An API that is overloaded, failing or out of reach: asked again before it is held against anybody.

use rustix::process::Signal;
use serde_json::{Value, json};

use super::{attempts, calls, claude, good, one_story, record};
use crate::support::good_script;

fn overloaded() -> Value {
    json!([
        {"do": "append", "path": "half.txt", "text": "x"},
        {"do": "apiError", "status": 529, "error": "overloaded", "text": "API Error: 529 Overloaded"},
    ])
}

/// Waits as config says, without a wait of its own.
fn at_once(retries: u32) -> String {
    format!("limits:\n  overload_retries: {retries}\n  overload_wait_seconds: 0\n")
}

#[test]
fn it_is_asked_again_within_the_iteration_and_the_tree_stays_as_it_is() {
    let runs = [overloaded(), overloaded(), good()];
    let project = claude(one_story(), 0, &runs).config("limits:\n  overload_wait_seconds: 1\n");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(attempts(&ran), [1]);
    let waiting = ran.named("waiting");
    let details: Vec<&Value> = waiting.iter().map(|w| &w["detail"]).collect();
    let (one, two) = (
        "try 1 of 6: API Error: 529 Overloaded",
        "try 2 of 6: API Error: 529 Overloaded",
    );
    assert_eq!(details, [one, two]);
    assert!(waiting.iter().all(|w| w["reason"] == "overload"));
    let took: Vec<f64> = waiting
        .iter()
        .map(|w| w["seconds"].as_f64().unwrap())
        .collect();
    assert!(
        (0.5..=2.0).contains(&took[0]) && (1.5..=4.0).contains(&took[1]),
        "{took:?}"
    );
    let record = record(&project, 1);
    let ends: Vec<&Value> = record["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| &r["ending"]["how"])
        .collect();
    assert_eq!(ends, ["overloaded", "overloaded", "finished"]);
    assert_eq!(project.repo.read("half.txt"), "xx");
}

#[test]
fn an_api_that_never_comes_back_stops_the_loop_and_charges_nobody() {
    let project = claude(one_story(), 0, &[overloaded()]).config(&at_once(1));
    let ran = project.run(&[]).expect(7);
    assert_eq!(ran.verdicts(), ["A overloaded"; 3]);
    assert_eq!(ran.stop(), json!({"why": "errors", "count": 3}));
    assert_eq!(attempts(&ran), [1, 1, 1]);
    assert_eq!(calls(&project).len(), 6, "each iteration tries twice");
    let ran = project.script(&good_script()).run(&[]).expect(0);
    assert_eq!(attempts(&ran), [1], "nothing was charged");
}

#[test]
fn without_retries_it_is_a_verdict_at_once() {
    let project = claude(one_story(), 0, &[overloaded()]).config(&at_once(0));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A overloaded"]);
    assert_eq!(calls(&project).len(), 1);
}

#[test]
fn a_broken_network_is_asked_again_too() {
    let network = json!([{"do": "apiError", "status": null, "error": "unknown", "text": "API Error: Unable to connect to API"}]);
    let project = claude(one_story(), 0, &[network, good()]).config(&at_once(1));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
}

#[test]
fn ctrl_c_ends_the_wait_at_once() {
    let project =
        claude(one_story(), 0, &[overloaded()]).config("limits:\n  overload_wait_seconds: 100\n");
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    live.signal(Signal::INT);
    let ran = live.wait().expect(130);
    assert_eq!(ran.verdicts(), ["A interrupted"]);
    assert_eq!(calls(&project).len(), 1);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_wait_that_was_killed_goes_on_with_the_same_iteration() {
    let project = claude(one_story(), 0, &[overloaded(), good()])
        .env("RALPH_LIMITS_OVERLOAD_WAIT_SECONDS", "100");
    let mut live = project.start(&[]);
    live.wait_for("waiting");
    live.signal(Signal::KILL);
    live.wait();
    let project = project.env("RALPH_LIMITS_OVERLOAD_WAIT_SECONDS", "0");
    project.run(&[]).expect(0);
    let record = record(&project, 1);
    assert_eq!(record["verdict"], "verified");
    assert_eq!(record["attempt"], 1);
    assert_eq!(record["runs"].as_array().unwrap().len(), 2);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.read("half.txt"), "x", "the tree was kept");
}

#[test]
fn what_the_agent_wrote_into_the_task_file_is_not_believed_after_the_wait() {
    let tampers = json!([
        {"do": "run", "command": "sed -i 's/\"passes\": *false/\"passes\": true/' prd.json"},
        {"do": "apiError", "status": 529, "error": "overloaded", "text": "API Error: 529 Overloaded"},
    ]);
    let says = json!([{"do": "say", "text": "Task A complete"}]);
    let project = claude(one_story(), 0, &[tampers, says]).config(&at_once(1));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A no_change"]);
    assert!(!project.passes("A"));
    let flags = record(&project, 1)["flags"].to_string();
    assert!(flags.contains("task file"), "{flags}");
}
