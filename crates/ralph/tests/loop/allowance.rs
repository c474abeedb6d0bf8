//! Limits and spending belong to the loop: `resume` and `monitor --restart` go on with what is left of them, only
//! a person's new `ralph run` gives a new allowance. Calls of a killed run count too.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, Ran, good_script, story};

fn stories() -> Vec<Value> {
    ["A", "B", "C", "D", "E", "F"].map(story).into()
}

fn resume(project: &Project, args: &[&str]) -> Ran {
    let agent = project.agent_word();
    let all = [&["resume", "--json", "--agent", &agent][..], args].concat();
    Live::start(project.ralph(&all)).wait()
}

/// An agent that tells that it has cost so much, and does the task.
fn costs(usd: f64) -> Value {
    json!({"default": [{"do": [
        {"usage": {"input": 10, "output": 10, "cost": usd}},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"say": "Task {id} complete"},
    ]}]})
}

/// An agent that tells that it has cost so much, and hangs.
fn costs_and_hangs(usd: f64) -> Value {
    json!({"default": [{"do": [
        {"usage": {"input": 10, "output": 10, "cost": usd}},
        {"say": "begun"},
        "hang",
    ]}]})
}

/// Kills a run once its agent has told what it cost.
fn kill_with_agent(mut live: Live) {
    live.wait_for("run_started");
    loop {
        let event = live.wait_for("agent");
        if event.to_string().contains("begun") {
            break;
        }
    }
    live.signal(Signal::KILL);
    live.wait().expect(-9);
}

fn spent(project: &Project) -> f64 {
    let output = project.ralph(&["cost", "--json"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let cost: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    cost["total"]["spentUsd"]
        .as_f64()
        .unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn a_killed_loop_goes_on_with_the_iterations_that_are_left() {
    let project = Project::with_stories(&stories()).script(&good_script());
    let args = ["--max-iterations", "3"];
    let mut killed = project.run_command(&args);
    killed.env("RALPH_FAILPOINT", "recorded");
    assert_eq!(Live::start(killed).wait().code(), -9);
    assert_eq!(project.landed(), ["A"]);
    let ran = resume(&project, &[]).expect(3);
    assert_eq!(ran.verdicts(), ["B verified", "C verified"]);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 3}));
    let nth: Vec<_> = ran
        .named("iteration_started")
        .iter()
        .map(|e| e["nth"].clone())
        .collect();
    assert_eq!(nth, [2, 3]);
    // Nothing is left, however often it is resumed.
    let ran = resume(&project, &[]).expect(3);
    assert_eq!(ran.verdicts(), [""; 0]);
    // A person's new run has a new allowance.
    project.run(&["--max-iterations", "2"]).expect(3);
    assert_eq!(project.landed(), ["A", "B", "C", "D", "E"]);
}

#[test]
fn a_run_of_a_person_gives_an_interrupted_loop_a_new_allowance() {
    let project = Project::with_stories(&stories()).script(&good_script());
    let mut killed = project.run_command(&["--max-iterations", "2"]);
    killed.env("RALPH_FAILPOINT", "recorded");
    assert_eq!(Live::start(killed).wait().code(), -9);
    let ran = project.run(&["--max-iterations", "2"]).expect(3);
    assert_eq!(ran.one("loop_started")["resumed"], true);
    assert_eq!(ran.verdicts(), ["B verified", "C verified"]);
    // That one is what a resume has the rest of.
    assert_eq!(resume(&project, &[]).expect(3).verdicts(), [""; 0]);
}

#[test]
fn iterations_whose_agent_died_with_ralph_count_so_that_kills_can_not_go_on_for_ever() {
    let project = Project::with_stories(&stories()).script(&costs_and_hangs(0.5));
    kill_with_agent(project.start(&["--max-iterations", "2"]));
    let agent = project.agent_word();
    let again = || Live::start(project.ralph(&["resume", "--json", "--agent", &agent]));
    kill_with_agent(again());
    let ran = again().wait().expect(3);
    assert_eq!(ran.stop(), json!({"why": "iterations", "max": 2}));
    assert_eq!(ran.named("run_started").len(), 0, "{}", ran.all());
    project.assert_nothing_alive();
}

#[test]
fn calls_of_a_killed_run_are_read_back_into_the_journal_and_count_against_the_limit() {
    let project = Project::with_stories(&stories()).script(&costs_and_hangs(0.75));
    kill_with_agent(project.start(&["--max-cost", "2"]));
    let agent = project.agent_word();
    let again = || Live::start(project.ralph(&["resume", "--json", "--agent", &agent]));
    kill_with_agent(again());
    // The third is stopped while it runs, by what the two before it left.
    let ran = again().wait().expect(5);
    let stop = json!({"why": "budget", "spentUsd": 2.25, "maxUsd": 2});
    assert_eq!(ran.stop(), stop);
    let ran = again().wait().expect(5);
    assert_eq!(ran.stop(), stop);
    assert_eq!(ran.named("run_started").len(), 0, "{}", ran.all());
    assert!((spent(&project) - 2.25).abs() < 1e-9, "{}", spent(&project));
}

#[test]
fn the_limit_of_the_cost_is_not_begun_on_where_the_rest_can_not_fund_an_iteration() {
    let project = Project::with_stories(&stories()).script(&costs(0.7));
    let ran = project.run(&["--max-cost", "2.7"]).expect(5);
    // Three cost 2.10; with 0.60 left a fourth of 0.70 would be cut off.
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
    assert_eq!(
        ran.one("loop_ended")["sentence"],
        "the limit of $2.70 can't fund another iteration: $0.60 are left, and one may cost $0.70"
    );
    assert_eq!(ran.stop()["reserveUsd"], 0.7);
}

#[test]
fn zero_iterations_mean_no_limit() {
    let project = Project::with_stories(&stories())
        .config("loop:\n  max_iterations: 1\n")
        .script(&good_script());
    let ran = project.run(&["--max-iterations", "0"]).expect(0);
    assert_eq!(ran.one("loop_started")["maxIterations"], 0);
    assert_eq!(project.landed().len(), 6);
    let people = Project::with_stories(&[story("A")]).script(&good_script());
    let text = people
        .run_for_people(&["--max-iterations=0"])
        .expect(0)
        .all();
    assert!(text.contains("limits  no limit of iterations"), "{text}");
}

#[test]
fn the_time_of_earlier_processes_counts() {
    let slow = json!({"default": [{"do": [
        {"run": "sleep 2"},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"say": "Task {id} complete"},
    ]}]});
    let project = Project::with_stories(&stories()).script(&slow);
    let mut killed = project.run_command(&["--max-minutes", "0.05"]);
    killed.env("RALPH_FAILPOINT", "recorded");
    assert_eq!(Live::start(killed).wait().code(), -9);
    assert_eq!(project.landed(), ["A"]);
    // Two of three seconds are gone: the next one is cut off by what is left.
    let ran = resume(&project, &[]).expect(3);
    assert_eq!(ran.stop()["why"], "minutes");
    assert_eq!(project.landed(), ["A"], "{}", ran.all());
}
