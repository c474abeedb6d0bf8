//! Budgets: an iteration that there is no money for is not begun, and one that is short of it waits.

use serde_json::{Value, json};

use super::{said, stories};
use crate::support::Project;

/// Four tasks, each at 40 cents, which are told when a run has ended.
fn at_forty_cents(config: &str) -> Project {
    stories(&["A", "B", "C", "D"])
        .config(config)
        .claude(&json!({"default": [
            {"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x"},
            {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
            {"do": "result", "cost": 0.4},
        ]}))
}

fn budget(action: &str) -> Value {
    json!({"scope": "project", "per": "day", "usd": 1, "action": action})
}

#[test]
fn a_budget_that_is_spent_denies_the_next_iteration_also_to_another_run() {
    let project = at_forty_cents("budgets: [{scope: project, per: total, usd: 0.8}]\n");
    let ran = project.run(&[]).expect(5);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(
        ran.stop(),
        json!({"why": "budget_denied", "spentUsd": 0.8, "reserveUsd": null,
               "budget": {"scope": "project", "per": "total", "usd": 0.8, "action": "deny"}})
    );
    let again = project.run(&[]).expect(5);
    assert!(again.verdicts().is_empty());
    let end = again.one("loop_ended");
    assert_eq!(
        end["sentence"],
        "the project's budget of $0.80 in total is used up: $0.80 are spent"
    );
    assert_eq!(
        end["hint"],
        "`ralph cost` shows what was spent; `budgets` in ralph.yaml allows more, and `ralph run` goes on"
    );
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn an_iteration_that_the_rest_can_not_fund_is_not_begun() {
    let project = at_forty_cents("budgets: [{scope: loop, per: total, usd: 1.5}]\n");
    let ran = project.run(&[]).expect(5);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
    assert_eq!(ran.stop()["reserveUsd"], 0.4);
    assert_eq!(
        ran.one("loop_ended")["sentence"],
        "the loop's budget of $1.50 in total can't fund another iteration: $0.30 are left, and one may cost $0.40"
    );
}

#[test]
fn a_running_agent_is_stopped_where_a_budget_ends() {
    let project = stories(&["A"])
        .config("budgets: [{scope: task, per: total, usd: 0.5}]\n")
        .script(&json!({"default": [{"do": [
            {"usage": {"input": 10, "output": 10, "cost": 0.2}},
            {"usage": {"input": 10, "output": 10, "cost": 0.4}},
            "hang",
        ]}]}));
    let ran = project.run(&[]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    let stop = json!({"why": "budget", "spentUsd": 0.6, "maxUsd": 0.5,
                      "budget": {"scope": "task", "per": "total", "usd": 0.5, "action": "deny"}});
    assert_eq!(ran.stop(), stop);
    let end = ran.one("loop_ended");
    assert_eq!(
        end["sentence"],
        "the task's budget of $0.50 in total is used up: $0.60 are spent"
    );
    assert_eq!(
        end["hint"],
        "`ralph cost` shows what was spent; `budgets` in ralph.yaml allows more, then `ralph unblock --task ID` opens the task again"
    );
    assert_eq!(
        said(&project, &["cost", "--json"])["total"]["spentUsd"],
        0.6
    );
}

/// A is dear, B is not.
fn dear_a(config: &str) -> Project {
    stories(&["A", "B"]).config(config).script(&json!({
        "tasks": {"A": [{"do": [
            {"usage": {"input": 10, "output": 10, "cost": 0.6}},
            "hang",
        ]}]},
        "default": [{"do": [
            {"usage": {"input": 10, "output": 10, "cost": 0.1}},
            {"write": {"path": "{id}.txt", "text": "x"}},
            {"say": "Task {id} complete"},
        ]}],
    }))
}

#[test]
fn a_task_that_has_used_its_budget_up_is_set_aside_and_the_others_go_on() {
    let project = dear_a("budgets: [{scope: task, per: total, usd: 0.5}]\n");
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A budget", "B verified"]);
    assert_eq!(
        ran.one("task_blocked")["reason"],
        "stopped by its cost: the task's budget of $0.50 in total is used up: $0.60 are spent"
    );
    assert_eq!(ran.stop()["why"], "nothing_ready");
    assert_eq!(project.landed(), ["B"]);
    // Opened again, it is still without money: that is said before anybody works.
    let unblocked = project.ralph(&["unblock", "--task", "A"]).output().unwrap();
    assert!(unblocked.status.success());
    let again = project.run(&[]).expect(5);
    assert!(again.verdicts().is_empty());
    assert_eq!(
        again.one("task_blocked")["reason"],
        "the task's budget of $0.50 in total is used up: $0.60 are spent"
    );
    assert_eq!(again.stop()["why"], "budget_denied");
}

#[test]
fn the_budget_of_a_project_that_speaks_while_an_agent_runs_ends_the_loop_and_is_named() {
    let project = dear_a("budgets: [{scope: project, per: day, usd: 0.5}]\n");
    let ran = project.run(&["--max-cost=9"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    let end = ran.one("loop_ended");
    assert_eq!(
        end["sentence"],
        "the project's budget of $0.50 a day is used up: $0.60 are spent"
    );
    assert_eq!(
        end["hint"],
        "`ralph cost` shows what was spent; `budgets` in ralph.yaml allows more, and `ralph run` goes on"
    );
    assert!(ran.named("task_blocked").is_empty());
}

#[test]
fn a_budget_that_only_alerts_says_so_once_and_stops_nothing() {
    let config = json!({"budgets": [budget("alert_only")]}).to_string();
    let project = at_forty_cents(&config);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts().len(), 4);
    let alerts: Vec<String> = ran
        .named("budget_alert")
        .into_iter()
        .filter_map(|event| Some(event["sentence"].as_str()?.to_owned()))
        .collect();
    assert_eq!(
        alerts,
        [
            "the project's budget of $1.00 a day is nearly used up: $0.80 are spent",
            "the project's budget of $1.00 a day is used up: $1.20 are spent",
        ]
    );
}

#[test]
fn every_budget_sends_an_alert_of_its_own_and_the_journal_keeps_it() {
    let config = json!({"budgets": [
        {"scope": "organisation", "per": "month", "usd": 0.9, "action": "alert_only"},
        {"scope": "project", "per": "day", "usd": 1.0, "action": "deny"},
        {"scope": "loop", "per": "total", "usd": 1.0, "action": "throttle"},
        {"scope": "task", "per": "total", "usd": 0.4, "action": "alert_only"},
    ], "economics": {"throttle_seconds": 0}});
    let project = at_forty_cents(&config.to_string());
    let ran = project.run(&[]).expect(5);
    let alerts = ran.named("budget_alert");
    let told = |scope: &str| -> Vec<f64> {
        let of = |e: &&Value| e["budget"]["scope"] == scope;
        let spent = |e: &Value| e["spentUsd"].as_f64().unwrap();
        alerts.iter().filter(of).map(spent).collect()
    };
    assert_eq!(told("organisation"), [0.8, 1.2]);
    assert_eq!(told("project"), [0.8, 1.2]);
    assert_eq!(told("loop"), [0.8, 1.2]);
    assert_eq!(told("task"), [0.4, 0.4, 0.4], "each task has its own");
    let tasks: Vec<&Value> = alerts
        .iter()
        .map(|e| &e["task"])
        .filter(|t| t.is_string())
        .collect();
    assert_eq!(tasks, ["A", "B", "C"]);
    let health = project.ralph(&["health", "--json"]).output().unwrap();
    let health: Value = serde_json::from_slice(&health.stdout).unwrap();
    let last = health["here"]["events"]
        .as_array()
        .unwrap()
        .last()
        .unwrap()
        .clone();
    assert_eq!(last["event"], "budget_alert", "{health}");
}

#[test]
fn a_budget_that_throttles_makes_an_iteration_wait_and_denies_at_its_end() {
    let config = json!({"budgets": [budget("throttle")], "economics": {"throttle_seconds": 1}});
    let project = at_forty_cents(&config.to_string());
    let ran = project.run(&[]).expect(5);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
    let waits = ran.named("waiting");
    assert_eq!(waits.len(), 1);
    assert_eq!(waits[0]["reason"], "budget");
    assert_eq!(
        waits[0]["detail"],
        "the project's budget of $1.00 a day is nearly used up: $0.80 are spent"
    );
    assert_eq!(ran.stop()["why"], "budget_denied");
}
