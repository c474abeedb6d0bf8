//! Handoffs because something is used up: time, money, and the patience for handoffs themselves.

use serde_json::{Value, json};

use super::{heeds, one_task, run, say, scenario};
use crate::support::{Project, story};

#[test]
fn an_agent_whose_time_is_nearly_over_is_asked_while_it_still_has_some() {
    let project = Project::with_stories(&[story("A")])
        .config("loop: {max_minutes_per_iteration: 0.2, stop_grace_seconds: 1}\n");
    let go = project.outside("go");
    let waits = format!(
        "echo half > half-A.txt; while [ ! -e {} ]; do sleep 0.02; done",
        go.display()
    );
    let first = vec![run(&waits), heeds(), say("Stopped.")];
    let project = project.claude(&scenario(&[first]));
    let mut live = project.start(&[]);
    let asked = live.wait_for("handoff_asked");
    assert_eq!(asked["trigger"], "timeout");
    let sentence = asked["sentence"].as_str().unwrap();
    assert!(
        sentence.ends_with(" s of its 11 s are left")
            || sentence.ends_with(" s of its 12 s are left"),
        "{sentence}"
    );
    std::fs::write(go, "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"]);
}

#[test]
fn an_agent_that_has_used_up_most_of_the_money_hands_over_and_the_next_one_is_not_asked_again() {
    // It says what it costs as it goes, and can't be told anything: it is ended where its turn is.
    let dear = json!({"default": [{"do": [
        {"usage": {"input": 10, "output": 10, "cost": 0.85}},
        {"run": "echo half >> half-A.txt"},
        "hang",
    ]}]});
    let project = Project::with_stories(&[story("A")])
        .config("loop: {stop_grace_seconds: 1}\n")
        .script(&dear);
    let ran = project.run(&["--max-cost", "1"]).expect(5);
    assert_eq!(ran.verdicts(), ["A handoff", "A budget"]);
    let asked = ran.one("handoff_asked");
    assert_eq!(asked["trigger"], "token_budget");
    assert_eq!(
        asked["sentence"],
        "$0.85 of $1.00 are spent, more than 80 %"
    );
    let log = project.repo.read(".ralph/logs/iteration-2.txt");
    let left = "It handed over: $0.85 of $1.00 are spent, more than 80 %; \
                $0.15 of $1.00 are left now.";
    assert!(log.contains(left), "{log}");
}

#[test]
fn what_the_calls_of_an_agent_come_to_counts_where_it_tells_its_cost_only_at_its_end() {
    // Nine cents a turn, of which the ninth is beyond 80 %.
    let usage = json!({"do": "usage", "input": 30_000, "cacheCreation": 0, "cacheRead": 0});
    let mut first = vec![usage, run("echo half > half-A.txt")];
    first.extend(vec![run("true"); 8]);
    first.extend([heeds(), say("Stopped.")]);
    let project = Project::with_stories(&[story("A")])
        .config(
            "loop: {stop_grace_seconds: 1}\neconomics: {prices: {'*': {input: 3, output: 15}}}\n",
        )
        .claude(&scenario(&[first]));
    let ran = project.run(&["--max-cost", "1"]).expect(0);
    assert_eq!(ran.verdicts(), ["A handoff", "A verified"], "{}", ran.all());
    assert_eq!(ran.one("handoff_asked")["trigger"], "token_budget");
}

/// Hands over in its last words; whether its work is another each time.
fn hands_over(work: &str) -> Vec<Value> {
    vec![run(work), say("<ralph>\nhandoff: again\n</ralph>")]
}

#[test]
fn handoffs_that_change_nothing_are_no_progress() {
    let same = hands_over("echo half > half-A.txt");
    let project = one_task(&vec![same; 9]);
    let ran = project.run(&[]);
    // The first one brought something; the next three did not.
    assert_eq!(ran.verdicts(), ["A handoff"; 4], "{}", ran.all());
    assert_eq!(ran.stop()["why"], "no_progress");
}

#[test]
fn one_handoff_too_many_is_a_failed_attempt() {
    let more = hands_over("echo more >> half-A.txt");
    let project = one_task(&vec![more; 5])
        .env("RALPH_HANDOFF_MAX_IN_A_ROW", "4")
        .env("RALPH_LOOP_MAX_ATTEMPTS", "1");
    let ran = project.run(&[]);
    let mut expected = vec!["A handoff"; 4];
    expected.push("A agent_error");
    assert_eq!(ran.verdicts(), expected, "{}", ran.all());
    let record = project.iteration(5);
    assert_eq!(
        record["message"],
        "it was handed over 4 times in a row already, which is all that `handoff.max_in_a_row` \
         allows, and again because it was asked for"
    );
    assert_eq!(record["attempt"], 1);
    assert!(
        ran.named("task_blocked")[0]["reason"]
            .as_str()
            .unwrap()
            .starts_with("1 of 1 attempts failed")
    );
}

#[test]
fn an_own_template_without_a_place_for_it_is_told_of_once() {
    let project = one_task(&[super::wraps_up()]);
    let template = "Id: {{ task.id }} of {{ count.iteration }}\n";
    project
        .repo
        .file(".ralph/prompts/iteration.md", template)
        .commit("template");
    let ran = project.run(&[]).expect(0);
    let warnings = ran.named("warning");
    let about: Vec<_> = warnings
        .iter()
        .filter(|w| w["message"].as_str().unwrap().contains("continuation"))
        .collect();
    assert_eq!(about.len(), 1, "{warnings:?}");
    assert_eq!(project.prompt_of(2).lines().next(), Some("Id: A of 2"));
}

#[test]
fn an_agent_that_goes_on_after_an_interruption_is_told_where_the_other_stopped() {
    let hang = json!({"do": "hang"});
    let first = vec![run("echo half > half-A.txt"), say("begun"), hang];
    let project = one_task(&[first]);
    let mut live = project.start(&[]);
    while live.wait_for("agent")["text"] != "begun" {}
    live.signal(rustix::process::Signal::INT);
    live.wait().expect(130);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let prompt = project.prompt_of(2);
    assert!(prompt.contains("## Handoff from Iteration 1"), "{prompt}");
    assert!(
        prompt.contains("Go on with task A. Last time: interrupted."),
        "{prompt}"
    );
}
