//! A forecast that was made of a loop, and what came true of it; and how well tokens were used.

use serde_json::{Value, json};

use super::{said, stories, subagent, text};
use crate::support::Project;

/// Tasks at these amounts, in this order: A, B, C, …
fn at(costs: &[f64]) -> Project {
    let ids = ["A", "B", "C", "D", "E", "F", "G"];
    let mut tasks = serde_json::Map::new();
    for (id, cost) in ids.iter().zip(costs) {
        let actions = json!([{"do": [
            {"usage": {"input": 1000, "output": 200, "cost": cost}},
            {"run": format!("echo x > {id}.txt")},
            {"say": "Task {id} complete"},
        ]}]);
        tasks.insert((*id).to_owned(), actions);
    }
    stories(&ids[..costs.len()]).script(&json!({ "tasks": tasks }))
}

fn report_json(project: &Project) -> Value {
    let folder = project.repo.data_dir().join("ralph-loops");
    let loops = std::fs::read_dir(folder).unwrap();
    let mut reports: Vec<_> = loops
        .map(|l| l.unwrap().path().join("report.json"))
        .collect();
    reports.sort();
    let newest = std::fs::read_to_string(reports.last().unwrap()).unwrap();
    serde_json::from_str(&newest).unwrap()
}

#[test]
fn a_forecast_is_kept_when_three_tasks_are_finished_and_compared_in_the_report() {
    // 0.10, 0.20 and 0.30 foresee 0.20 a task; the two that are left cost 0.15 and 0.35.
    let project = at(&[0.1, 0.2, 0.3, 0.15, 0.35]);
    project.run(&["--max-iterations", "4"]).expect(3);
    let so_far = text(&project, &["cost", "--forecast"]);
    // Of nine draws of two, one comes to 0.20 and one to 0.60.
    assert!(
        so_far.contains(
            ": forecast $0.40 ($0.20 to $0.60) for 2 tasks, so far $0.15 with 1 of 2 finished\n"
        ),
        "{so_far}"
    );
    let mut forecast = report_json(&project)["forecast"].clone();
    assert_eq!(forecast["result"], "open");
    assert_eq!(forecast["cameToUsd"], 0.15);

    // In one go, the loop itself sees it come true.
    let project = at(&[0.1, 0.2, 0.3, 0.15, 0.35]);
    project.run(&[]).expect(0);
    forecast = report_json(&project)["forecast"].clone();
    assert!(forecast["madeAt"].as_str().is_some(), "{forecast}");
    for (field, value) in [
        ("spentBeforeUsd", json!(0.6)),
        ("finishedBefore", json!(3)),
        ("finishedTasks", json!(3)),
        ("remainingTasks", json!(2)),
        ("factor", json!(1)),
        ("expectedUsd", json!(0.4)),
        ("highUsd", json!(0.6)),
        ("cameToUsd", json!(0.5)),
        ("finishedSince", json!(2)),
        ("result", json!("within")),
    ] {
        assert_eq!(forecast[field], value, "{field}: {forecast}");
    }
    let report = said(&project, &["report", "--json"]);
    let mut listed = report["economics"]["forecasts"][0].clone();
    assert_eq!(listed["loopId"], report["loops"][0]["id"]);
    listed.as_object_mut().unwrap().remove("loopId");
    assert_eq!(listed, forecast);
    let sentence = "for 2 tasks, came to $0.50: within the range";
    let shown = text(&project, &["report"]);
    assert!(shown.contains(sentence), "{shown}");
    let page = text(&project, &["report", "--format", "html"]);
    assert!(page.contains(sentence), "the page has it");
}

#[test]
fn a_loop_that_starts_learns_from_the_one_before_it_and_is_told_when_it_was_wrong() {
    let project = at(&[0.1, 0.1, 0.1, 0.5]);
    project.run(&["--max-iterations", "3"]).expect(3);
    project.run(&[]).expect(0);
    let forecast = &report_json(&project)["forecast"];
    assert_eq!(
        (&forecast["finishedBefore"], &forecast["spentBeforeUsd"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(forecast["result"], "above");
    let shown = text(&project, &["report"]);
    assert!(
        shown
            .contains("forecast $0.10 ($0.10 to $0.10) for 1 task, came to $0.50: above the range"),
        "{shown}"
    );
}

/// Three tasks of an agent that has a subagent, at 10 cents each, and one that is left.
#[test]
fn subagents_that_are_in_the_history_are_not_reckoned_with_again() {
    let project = stories(&["A", "B", "C", "D"]).claude(&json!({"default": [
        {"do": "write", "path": "{{RALPH_TASK_ID}}.txt", "text": "x"},
        subagent("sub-1", "claude-haiku-4-5", 10),
        {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
        {"do": "result", "cost": 0.1},
    ]}));
    project.run(&["--max-iterations", "3"]).expect(3);
    let many = project.env("RALPH_ECONOMICS_MULTI_AGENT", "true");
    let forecast = &said(&many, &["cost", "--forecast", "--json"])["forecast"]["range"];
    assert_eq!(forecast["factor"], 1);
    assert_eq!(forecast["expectedUsd"], 0.1);
}

#[test]
fn how_well_tokens_were_used_is_in_tokens_and_in_the_report() {
    // In two runs 1,000 tokens are read, of which 600 cached, and 200 written; each uses one tool. 30
    // cents in all, for one verified task.
    let run = |path: &str, [input, cached, output]: [u64; 3], cost: f64| {
        json!([
            {"do": "usage", "input": input, "cacheRead": cached, "cacheCreation": 0, "output": output},
            {"do": "write", "path": path, "text": "x"},
            {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
            {"do": "result", "cost": cost},
        ])
    };
    let project = stories(&["A", "B"])
        .config("loop: {max_verify_retries: 0}\n")
        .claude(&json!({"cases": [
            // Each run has two messages: the tool's and the claim.
            {"task": "A", "actions": run("A.txt", [200, 300, 50], 0.1)},
            {"task": "B", "actions": run("wrong.txt", [0, 0, 50], 0.2)},
        ]}))
        .env("RALPH_CLAUDE_MODEL", "claude-opus-4-8");
    project.run(&["--max-iterations", "2"]).expect(3);
    let tokens = said(&project, &["tokens", "--json"]);
    // 1,200 tokens for 2 tool calls.
    assert_eq!(tokens["tokensPerToolCall"], 600.0);
    assert_eq!(tokens["cacheHitRate"], 0.6);
    let each = tokens["costPerVerifiedTaskUsd"].as_f64().unwrap();
    assert!((each - 0.3).abs() < 1e-9, "{tokens}");
    let shown = text(&project, &["tokens"]);
    for line in [
        "cache hit rate          60 %\n",
        "tokens per tool call    600 (2 tool calls)\n",
        "cost per verified task  $0.30\n",
    ] {
        assert!(shown.contains(line), "{line:?} in\n{shown}");
    }
    let report = said(&project, &["report", "--json"]);
    assert_eq!(report["economics"]["tokensPerToolCall"], 600.0);
    assert_eq!(report["economics"]["cacheHitRate"], 0.6);
    assert_eq!(report["economics"]["models"][0]["model"], "claude-opus-4-8");
    assert_eq!(report["economics"]["models"][0]["spentUsd"], 0.3);
    let each = report["metrics"]["costPerVerifiedTaskUsd"]
        .as_f64()
        .unwrap();
    assert!((each - 0.3).abs() < 1e-9, "{report}");
    let shown = text(&project, &["report"]);
    for line in [
        "- $0.30 per verified task\n",
        "- 600 tokens per tool call, over 2 tool calls\n",
        "- 60 % of the input tokens came from a cache\n",
    ] {
        assert!(shown.contains(line), "{line:?} in\n{shown}");
    }
    let page = text(&project, &["report", "--format", "html"]);
    for tile in [
        "Cache hit rate</span><b>60 %",
        "Tokens per tool call</span><b>600",
    ] {
        assert!(page.contains(tile), "{tile}");
    }
    let days = text(&project, &["cost", "--by", "day"]);
    assert!(days.starts_with("spent per day (UTC)\n$0.40 ┤\n"), "{days}");
    assert!(
        !days.contains('\u{1b}'),
        "no colours where nobody sees them"
    );
}
