//! A run is stopped after the call to a model that crosses its limit, whoever made it.

use serde_json::{Value, json};

use super::{record, stories};
use crate::support::Project;

/// A cent for each token that is written, nothing for what is read, nor for the calls of its own that the
/// fake agent makes with each tool.
const CENT_A_TOKEN: &str = "economics:\n  prices:\n    priced-*: {input: 0, output: 10000}\n    sonnet: {input: 0, output: 0}\n";

fn event(event: &Value) -> Value {
    json!({"do": "event", "event": event})
}

/// A call of the agent's own, as Claude Code streams it: how long it became comes last.
fn own_call(id: &str, model: &str, output: u64) -> Vec<Value> {
    let usage = |output: u64| {
        json!({"input_tokens": 5, "output_tokens": output,
               "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0})
    };
    let message = json!({"id": id, "model": model, "usage": usage(0),
                         "content": [{"type": "text", "text": "hm"}]});
    vec![
        event(&json!({"type": "stream_event", "parent_tool_use_id": null,
                      "event": {"type": "message_start", "message": message}})),
        event(&json!({"type": "assistant", "parent_tool_use_id": null, "message": message})),
        event(&json!({"type": "stream_event", "parent_tool_use_id": null,
                      "event": {"type": "message_delta", "usage": usage(output)}})),
    ]
}

/// A call of a subagent, whose stream says in one piece how long it became.
fn sub_call(id: &str, parent: &str, output: u64) -> Vec<Value> {
    vec![event(&json!({
        "type": "assistant", "parent_tool_use_id": parent,
        "message": {"id": id, "model": "priced-small", "content": [{"type": "text", "text": "x"}],
                    "usage": {"input_tokens": 5, "output_tokens": output,
                              "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}},
    }))]
}

/// How long what the agent does between two calls takes: long enough to be stopped in it, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolTakes {
    AWhile,
    NoTime,
}

/// Makes its calls one after the other, and notes each that it makes.
fn calling(project: Project, calls: &[Vec<Value>], tool: ToolTakes) -> Project {
    let made = project.outside("made");
    let mut actions: Vec<Value> = Vec::new();
    for call in calls {
        let note = format!("echo call >> {}", made.display());
        actions.push(json!({"do": "run", "command": note}));
        actions.extend(call.iter().cloned());
        if tool == ToolTakes::AWhile {
            actions.push(json!({"do": "sleepMs", "ms": 1000}));
        }
    }
    project.claude(&json!({"default": actions}))
}

fn calls_made(project: &Project) -> usize {
    let text = std::fs::read_to_string(project.outside("made")).unwrap();
    text.lines().count()
}

fn spent(project: &Project) -> Value {
    record(project, 1)["runs"][0]["ending"]["spentUsd"].clone()
}

#[test]
fn a_run_is_stopped_after_the_call_that_crosses_its_limit_and_makes_no_other() {
    let calls = [
        own_call("m1", "priced-large", 20),
        sub_call("s1", "toolu_1", 20),
        sub_call("s2", "toolu_2", 20),
        sub_call("s3", "toolu_1", 20),
        own_call("m2", "priced-large", 20),
    ];
    let project = calling(
        stories(&["A"]).config(CENT_A_TOKEN),
        &calls,
        ToolTakes::AWhile,
    );
    let ran = project.run(&["--max-cost=0.55"]).expect(5);
    assert_eq!(ran.verdicts(), ["A budget"]);
    assert_eq!(calls_made(&project), 3);
    assert_eq!(spent(&project), 0.6);
    assert!(!ran.all().contains("there is no price"), "{}", ran.all());
}

#[test]
fn a_limit_holds_for_the_default_models_of_claude_code_without_any_setting_of_prices() {
    // As its stream names them, with an API key and with an account: twice 20,000 tokens and 5, and the
    // fake agent's own call with each of its tools, which comes to $0.01011.
    for (announced, model, spent_usd) in [
        ("claude-opus-4-8[1m]", "claude-opus-4-8", 1.02027),
        ("claude-sonnet-5", "claude-sonnet-5", 0.42024),
    ] {
        let mut calls: Vec<Vec<Value>> = (1..=4)
            .map(|n| own_call(&format!("m{n}"), model, 20_000))
            .collect();
        let init = json!({"type": "system", "subtype": "init", "model": announced});
        calls[0].insert(0, event(&init));
        let project = calling(stories(&["A"]), &calls, ToolTakes::AWhile);
        let limit = format!("--max-cost={}", spent_usd * 0.9);
        let ran = project.run(&[&limit]).expect(5);
        assert_eq!(ran.verdicts(), ["A budget"], "{model}");
        assert_eq!(calls_made(&project), 2, "{model}");
        assert_eq!(spent(&project), spent_usd, "{model}");
        assert!(!ran.all().contains("there is no price"), "{}", ran.all());
    }
}

#[test]
fn a_limit_holds_for_a_model_that_only_its_family_has_a_price_for_and_that_is_said() {
    let calls: Vec<Vec<Value>> = (1..=4)
        .map(|n| own_call(&format!("m{n}"), "claude-opus-7", 20_000))
        .collect();
    let project = calling(stories(&["A"]), &calls, ToolTakes::AWhile);
    let ran = project.run(&["--max-cost=0.9"]).expect(5);
    assert_eq!(calls_made(&project), 2);
    let said = ran.named("notice");
    let says = |n: &&Value| {
        n["message"]
            == "there is no price for claude-opus-7: its cost is estimated by its family; `economics.prices` sets one"
    };
    assert_eq!(said.iter().filter(says).count(), 1, "{said:?}");
    let cost = project
        .ralph(&["cost", "--by", "model", "--json"])
        .output()
        .unwrap();
    let cost: Value = serde_json::from_slice(&cost.stdout).unwrap();
    let rows = cost["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row["key"] == "claude-opus-7")
        .unwrap();
    assert_eq!(row["estimatedTokens"], 40_010, "{row}");
}

#[test]
fn a_model_of_the_configuration_without_a_price_is_named_at_the_start() {
    let calls = [own_call("m1", "unheard-of", 20)];
    let config = "claude: {model: unheard-of}\n";
    let project = calling(stories(&["A"]).config(config), &calls, ToolTakes::NoTime);
    let ran = project.run(&["--max-iterations=1"]);
    let warnings = ran.named("warning");
    let says = |w: &&Value| {
        w["message"]
            == "there is no price for unheard-of: unless its agent tells it, what it costs is not known; `economics.prices` sets one"
    };
    assert_eq!(warnings.iter().filter(says).count(), 1, "{warnings:?}");
}

#[test]
fn an_answer_that_becomes_long_is_seen_when_it_has_ended() {
    let calls = [
        own_call("m1", "priced-large", 60),
        own_call("m2", "priced-large", 20),
    ];
    let project = calling(
        stories(&["A"]).config(CENT_A_TOKEN),
        &calls,
        ToolTakes::AWhile,
    );
    project.run(&["--max-cost=0.55"]).expect(5);
    assert_eq!(calls_made(&project), 1);
    assert_eq!(spent(&project), 0.6);
}

#[test]
fn a_model_without_a_price_is_named_once_where_a_limit_is_set() {
    let calls = [
        own_call("m1", "unheard-of", 20),
        own_call("m2", "unheard-of", 20),
    ];
    let said = |args: &[&str]| -> usize {
        let project = calling(
            stories(&["A"]).config(CENT_A_TOKEN),
            &calls,
            ToolTakes::NoTime,
        );
        let ran = project.run(args);
        let warnings = ran.named("warning");
        let says = |w: &&Value| {
            w["message"]
                == "there is no price for unheard-of: what may be spent can't be kept to while it works; `economics.prices` sets one"
        };
        warnings.iter().filter(says).count()
    };
    assert_eq!(said(&["--max-cost=0.55", "--max-iterations=2"]), 1);
    assert_eq!(said(&["--max-iterations=1"]), 0);
}
