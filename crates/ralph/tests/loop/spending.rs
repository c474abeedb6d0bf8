//! Tokens and money from an agent's stream to `ralph cost`, and budgets that hold a loop back.

mod budgets;
mod foreseeing;
mod real_claude;

use ralph_core::economics::{Caller, TokenRecord};
use serde_json::{Value, json};

use crate::support::{Project, story};

pub(super) fn stories(ids: &[&str]) -> Project {
    let stories: Vec<Value> = ids.iter().map(|id| story(id)).collect();
    Project::with_stories(&stories)
}

/// What `ralph` prints as JSON.
pub(super) fn said(project: &Project, args: &[&str]) -> Value {
    serde_json::from_str(&text(project, args)).unwrap()
}

pub(super) fn text(project: &Project, args: &[&str]) -> String {
    let ran = project.ralph(args).output().unwrap();
    let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{args:?}: {errors}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The calls of an iteration, as the journal has them.
pub(super) fn calls(project: &Project, n: u32) -> Vec<TokenRecord> {
    let record = project.repo.read(format!(".ralph/logs/iteration-{n}.json"));
    let record: Value = serde_json::from_str(&record).unwrap();
    let id = record["iterationId"].as_str().unwrap().into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut journal = ralph_engine::store::open(&project.repo.data_dir())
            .await
            .unwrap();
        journal.token_records(&id).await.unwrap()
    })
}

/// An answer of a subagent, with what it used.
fn subagent(id: &str, model: &str, output: u64) -> Value {
    json!({"do": "event", "event": {
        "type": "assistant", "parent_tool_use_id": "toolu_1",
        "message": {"id": id, "model": model, "content": [{"type": "text", "text": "looking"}],
                    "usage": {"input_tokens": 500, "output_tokens": output,
                              "cache_read_input_tokens": 4000, "cache_creation_input_tokens": 0}},
    }})
}

fn result(cost: f64, models: &Value) -> Value {
    json!({"do": "event", "event": {
        "type": "result", "subtype": "success", "is_error": false, "num_turns": 2,
        "result": "Task A complete", "total_cost_usd": cost, "terminal_reason": "completed",
        "usage": {}, "modelUsage": models, "permission_denials": [],
    }})
}

fn model_usage(input: u64, output: u64, read: u64, write: u64) -> Value {
    json!({"inputTokens": input, "outputTokens": output, "cacheReadInputTokens": read,
           "cacheCreationInputTokens": write, "costUSD": 0.0, "contextWindow": 200_000})
}

#[test]
fn calls_of_subagents_are_told_apart_and_all_calls_come_to_what_the_agent_says() {
    let models = json!({
        "claude-opus-4-8": model_usage(100, 50, 12_000, 3_000),
        "claude-haiku-4-5": model_usage(1_000, 30, 8_000, 0),
    });
    let project = stories(&["A"])
        .claude(&json!({"default": [
            {"do": "write", "path": "A.txt", "text": "x"},
            subagent("sub-1", "claude-haiku-4-5", 10),
            subagent("sub-1", "claude-haiku-4-5", 10),
            subagent("sub-2", "claude-haiku-4-5", 20),
            result(0.1, &models),
        {"do": "exit", "code": 0},
        ]}))
        .env("RALPH_CLAUDE_MODEL", "claude-opus-4-8");
    project.run(&[]).expect(0);
    let calls = calls(&project, 1);
    let seen: Vec<(&str, Caller, u64)> = calls
        .iter()
        .map(|c| (c.model.as_deref().unwrap(), c.caller, c.tokens.output))
        .collect();
    assert_eq!(
        seen,
        [
            ("claude-opus-4-8", Caller::Agent, 1),
            ("claude-haiku-4-5", Caller::Subagent, 10),
            ("claude-haiku-4-5", Caller::Subagent, 20),
            ("claude-opus-4-8", Caller::Rest, 49),
        ]
    );
    let tokens = said(&project, &["tokens", "--json"]);
    assert_eq!(
        tokens["tokens"],
        json!({"input": 1_100, "output": 80, "cacheRead": 20_000, "cacheWrite": 3_000})
    );
    assert_eq!(tokens["spentUsd"], 0.1);
    assert_eq!(tokens["toldUsd"], 0.1);
    // 0.0005 + 0.00125 + 0.006 + 0.01875 of Opus, 0.001 + 0.00015 + 0.0008 of Haiku.
    assert_eq!(tokens["toldByTableUsd"], 0.02845);
    assert_eq!(tokens["toolCalls"], 1);
    let callers: Vec<&str> = tokens["parts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|part| part["caller"].as_str().unwrap())
        .collect();
    assert_eq!(callers.len(), 3);
    assert!(callers.contains(&"subagent"), "{callers:?}");
}

/// Three tasks at 10, 20 and 30 cents, and one that is left.
fn three_of_four() -> Project {
    three_of_four_in(stories(&["A", "B", "C", "D"]))
}

fn three_of_four_in(project: Project) -> Project {
    let at = |cost: f64| {
        json!([{"do": [
            {"usage": {"input": 1000, "output": 200, "cost": cost}},
            {"write": {"path": "{id}.txt", "text": "x"}},
            {"say": "Task {id} complete"},
        ]}])
    };
    let script = json!({"tasks": {"A": at(0.1), "B": at(0.2), "C": at(0.3), "D": at(0.1)}});
    let project = project.script(&script);
    project.run(&["--max-iterations", "3"]).expect(3);
    project
}

#[test]
fn what_was_spent_is_the_same_whatever_it_is_grouped_by() {
    let project = three_of_four();
    for by in ["task", "model", "day", "loop"] {
        let cost = said(&project, &["cost", "--by", by, "--json"]);
        assert_eq!(cost["by"], by);
        assert_eq!(cost["total"]["spentUsd"], 0.6, "{by}");
        let rows = cost["rows"].as_array().unwrap();
        let cents: f64 = rows
            .iter()
            .map(|row| row["spentUsd"].as_f64().unwrap())
            .sum();
        assert!((cents - 0.6).abs() < 1e-9, "{by}: {cost}");
        assert_eq!(rows.len(), if by == "task" { 3 } else { 1 });
    }
    let cost = said(&project, &["cost", "--json", "--limit", "1"]);
    assert_eq!(
        (&cost["rows"][0]["key"], &cost["more"]),
        (&json!("C"), &json!(true))
    );
    let none = said(&project, &["cost", "--json", "--since", "2999-01-01"]);
    assert_eq!(
        (&none["rows"], &none["total"]["spentUsd"]),
        (&json!([]), &json!(0))
    );
}

#[test]
fn what_agents_say_is_compared_with_what_the_prices_make() {
    let stories = stories(&["A", "B", "C", "D"]);
    let prices = "economics: {prices: {script: {input: 10, output: 50}}}\n";
    let project = three_of_four_in(stories.config(prices));
    let shown = text(&project, &["cost"]);
    // Three calls, each of 1,000 tokens at one cent a thousand and 200 at five.
    let compared = "agents say $0.60 where these make $0.06 (+$0.54), and theirs counts";
    assert!(shown.contains(compared), "{shown}");
    assert!(!shown.contains("without a price"), "{shown}");
}

#[test]
fn a_person_sees_bars_sums_and_what_has_no_price() {
    let project = three_of_four();
    let shown = text(&project, &["cost"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(
        lines[1],
        "C     $0.30  ████████████████████  1.2k    ?      ?       –           –"
    );
    assert!(
        lines[2].starts_with("B     $0.20  █████████████▍"),
        "{shown}"
    );
    assert!(
        shown.contains("\ntotal $0.60, 3 calls to models, 3.6k tokens\n"),
        "{shown}"
    );
    assert!(!shown.contains("these make"), "nothing to compare: {shown}");
    assert!(
        shown.contains("3.6k tokens are of models without a price; `economics.prices` sets one"),
        "{shown}"
    );
    let csv = text(&project, &["cost", "--csv"]);
    assert_eq!(csv.lines().count(), 4);
    assert_eq!(
        csv.lines().nth(1),
        Some(
            "C,0.300000,1,1000,200,0,0,0.000000,0.000000,0.000000,0.000000,1200,0.300000,0.000000,0.000000,0"
        )
    );
    let tokens = text(&project, &["tokens"]);
    assert!(tokens.contains("3.6k tokens in 3 calls, $0.60"), "{tokens}");
}

#[test]
fn the_forecast_is_made_from_this_loops_finished_tasks() {
    let project = three_of_four();
    let forecast = &said(&project, &["cost", "--forecast", "--json"])["forecast"];
    assert_eq!(forecast["finishedTasks"], 3);
    assert_eq!(forecast["remainingTasks"], 1);
    assert_eq!(
        forecast["range"],
        json!({"finishedTasks": 3, "remainingTasks": 1, "factor": 1,
               "lowUsd": 0.1, "expectedUsd": 0.2, "highUsd": 0.3})
    );
    let shown = text(&project, &["cost", "--forecast"]);
    assert!(
        shown.ends_with("forecast 1 task is left: $0.20, in eight cases of ten $0.10 to $0.30; by 3 finished ones\n"),
        "{shown}"
    );
    let many = project.env("RALPH_ECONOMICS_MULTI_AGENT", "true");
    let forecast = &said(&many, &["cost", "--forecast", "--json"])["forecast"];
    assert_eq!(forecast["range"]["factor"], 15);
    assert_eq!(forecast["range"]["expectedUsd"], 3);
}

#[test]
fn prices_of_the_project_are_shown_and_used() {
    let project = stories(&["A"])
        .config("economics:\n  prices:\n    scr*: {input: 100, output: 1000}\n")
        .script(&json!({"default": [{"do": [
            {"usage": {"input": 1000, "output": 200}},
            {"write": {"path": "{id}.txt", "text": "x"}},
            {"say": "Task {id} complete"},
        ]}]}));
    assert_eq!(text(&project, &["cost"]), "nothing spent yet\n");
    assert_eq!(text(&project, &["tokens"]), "no loops yet\n");
    project.run(&[]).expect(0);
    let prices = said(&project, &["cost", "prices", "--json"]);
    assert_eq!(
        prices["prices"][0],
        json!({"model": "scr*", "own": true, "source": "config", "basis": "listed", "input": 100, "output": 1000,
               "cacheRead": 100, "cacheWrite": 100})
    );
    assert_eq!(prices["asOf"], "2026-11-16");
    let cost = said(&project, &["cost", "--by", "model", "--json"]);
    assert_eq!(cost["rows"][0]["key"], "script");
    assert_eq!(cost["rows"][0]["spentUsd"], 0.3);
    assert_eq!(
        cost["rows"][0]["costUsd"],
        json!({"input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0})
    );
    assert_eq!(cost["rows"][0]["unpricedTokens"], 0);
}

#[test]
fn what_was_spent_before_a_crash_counts_once() {
    for point in [
        "agent-recorded",
        "land-intended",
        "committed",
        "landed",
        "recorded",
    ] {
        let project = stories(&["A"]).script(&json!({"default": [{"do": [
            {"usage": {"input": 10, "output": 5, "cost": 0.1}},
            {"usage": {"input": 10, "output": 5, "cost": 0.2}},
            {"write": {"path": "{id}.txt", "text": "x"}},
            {"say": "Task {id} complete"},
        ]}]}));
        assert_eq!(project.run_with("RALPH_FAILPOINT", point).code(), -9);
        project.run(&[]).expect(0);
        let cost = said(&project, &["cost", "--json"]);
        assert_eq!(cost["total"]["spentUsd"], 0.3, "{point}");
        assert_eq!(cost["total"]["calls"], 2, "{point}");
    }
}
