//! `ralph cost` and `ralph tokens`: their JSON is a contract, and docs/json.md has it word for word.

mod budgets;
mod prices;

use ralph_core::{
    dollars::Dollars,
    economics::{Caller, ModelCall, Prices, Tokens, account},
};
use ralph_engine::store::TokenUsage;
use ralph_testkit::TestRepo;
use serde_json::{Value, json};

use crate::support::{Written, ralph, shop};

const DOCS: &str = include_str!("../../../../docs/json.md");

/// One call of Opus and one of a subagent, of which the agent says that they cost 2.5 cents.
fn accounts() -> TokenUsage {
    let call =
        |model: &str, caller, [input, output, cache_read, cache_write]: [u64; 4]| ModelCall {
            model: Some(model.into()),
            caller,
            tokens: Tokens {
                input,
                output,
                cache_read,
                cache_write,
            },
            told: None,
        };
    let calls = [
        call("claude-opus-4-8", Caller::Agent, [1_000, 200, 8_000, 1_000]),
        call("claude-haiku-4-5", Caller::Subagent, [500, 40, 0, 0]),
    ];
    let told = Some(Dollars::told(0.025));
    TokenUsage {
        records: account(
            (1, "claude"),
            &calls,
            told,
            &Prices::with(&Default::default()),
        ),
        tool_calls: 4,
    }
}

fn spent() -> TestRepo {
    let repo = shop();
    let mut written = Written::begin(&repo, "prd.json", "0190c1f2");
    written.accounted(("US-001", "Add a cart", 1), &accounts());
    repo
}

/// The example of the documents below a heading.
fn documented(heading: &str) -> Value {
    let after = DOCS.split_once(&format!("\n## {heading}\n")).unwrap().1;
    let block = after.split_once("```json\n").unwrap().1;
    serde_json::from_str(block.split_once("```").unwrap().0).unwrap()
}

fn opus() -> Value {
    json!({
        "spentUsd": 0.024164, "calls": 1,
        "tokens": {"input": 1000, "output": 200, "cacheRead": 8000, "cacheWrite": 1000},
        "costUsd": {"input": 0.005, "output": 0.005, "cacheRead": 0.004, "cacheWrite": 0.00625},
        "estimatedUsd": 0, "unknownTokens": 0, "unpricedTokens": 0, "estimatedTokens": 0,
        "toldUsd": 0.024164, "toldByTableUsd": 0.02025, "differenceUsd": 0.003914,
    })
}

fn haiku() -> Value {
    json!({
        "spentUsd": 0.000836, "calls": 1,
        "tokens": {"input": 500, "output": 40, "cacheRead": 0, "cacheWrite": 0},
        "costUsd": {"input": 0.0005, "output": 0.0002, "cacheRead": 0, "cacheWrite": 0},
        "estimatedUsd": 0, "unknownTokens": 0, "unpricedTokens": 0, "estimatedTokens": 0,
        "toldUsd": 0.000836, "toldByTableUsd": 0.0007, "differenceUsd": 0.000136,
    })
}

fn both() -> Value {
    json!({
        "spentUsd": 0.025, "calls": 2,
        "tokens": {"input": 1500, "output": 240, "cacheRead": 8000, "cacheWrite": 1000},
        "costUsd": {"input": 0.0055, "output": 0.0052, "cacheRead": 0.004, "cacheWrite": 0.00625},
        "estimatedUsd": 0, "unknownTokens": 0, "unpricedTokens": 0, "estimatedTokens": 0,
        "toldUsd": 0.025, "toldByTableUsd": 0.02095, "differenceUsd": 0.00405,
    })
}

fn with(more: &Value, mut figures: Value) -> Value {
    let fields = figures.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    figures
}

#[test]
fn cost_is_told_as_it_is_documented() {
    let repo = spent();
    let cost = ralph(&repo, &["cost", "--by", "model", "--forecast", "--json"]).json(0);
    let expected = json!({
        "by": "model", "since": null,
        "rows": [
            with(&json!({"key": "claude-opus-4-8"}), opus()),
            with(&json!({"key": "claude-haiku-4-5"}), haiku()),
        ],
        "more": false,
        "total": both(),
        "pricesAsOf": "2026-11-16",
        "forecast": {
            "loopId": "0190c1f2", "finishedTasks": 1, "remainingTasks": 2, "range": null,
            "earlier": null,
        },
    });
    assert_eq!(cost, expected);
    assert_eq!(documented("ralph cost"), expected);
}

#[test]
fn tokens_are_told_as_they_are_documented() {
    let repo = spent();
    let used = ralph(&repo, &["tokens", "--json"]).json(0);
    let expected = with(
        &json!({
            "loopId": "0190c1f2",
            "toolCalls": 4, "tokensPerToolCall": 2685.0, "cacheHitRate": 0.7619047619047619,
            "costPerVerifiedTaskUsd": 0.025,
            "context": {
                "iteration": 1, "tokens": 50_000, "window": 200_000, "utilisation": 0.25,
            },
            "parts": [
                with(
                    &json!({"model": "claude-opus-4-8", "agent": "claude", "caller": "agent"}),
                    opus(),
                ),
                with(
                    &json!({"model": "claude-haiku-4-5", "agent": "claude", "caller": "subagent"}),
                    haiku(),
                ),
            ],
            "pricesAsOf": "2026-11-16",
        }),
        both(),
    );
    assert_eq!(used, expected);
    assert_eq!(documented("ralph tokens"), expected);
}

#[test]
fn where_nothing_ran_nothing_is_spent_and_every_field_is_there() {
    let repo = shop();
    let cost = ralph(&repo, &["cost", "--json"]).json(0);
    assert_eq!(
        (&cost["rows"], &cost["total"]["spentUsd"]),
        (&json!([]), &json!(0))
    );
    let used = ralph(&repo, &["tokens", "--json"]).json(0);
    assert_eq!(used["loopId"], Value::Null);
    assert_eq!(used["spentUsd"], 0);
}

/// Calls of a model that is listed, of one that only its family has a price for, and of an unknown one;
/// the agent says nothing of what they cost.
fn untold() -> TokenUsage {
    let call = |model: &str, input| ModelCall {
        model: Some(model.into()),
        tokens: Tokens {
            input,
            ..Tokens::default()
        },
        ..ModelCall::default()
    };
    let calls = [
        call("claude-opus-4-8", 100_000),
        call("claude-opus-7", 10_000),
        call("unheard-of", 700),
    ];
    TokenUsage {
        records: account(
            (1, "claude"),
            &calls,
            None,
            &Prices::with(&Default::default()),
        ),
        tool_calls: 0,
    }
}

#[test]
fn a_cost_that_is_not_known_is_a_question_mark_and_one_by_the_family_is_estimated() {
    let repo = shop();
    let mut written = Written::begin(&repo, "prd.json", "0190c1f2");
    written.accounted(("US-001", "Add a cart", 1), &untold());
    let text = ralph(&repo, &["cost", "--by", "model"]).text(0).to_owned();
    let row = |model: &str| {
        let line = text.lines().find(|line| line.starts_with(model)).unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let words: Vec<&str> = words.into_iter().filter(|w| !w.contains('█')).collect();
        words.join(" ")
    };
    assert_eq!(
        row("claude-opus-4-8"),
        "claude-opus-4-8 $0.50 100k $0.50 – – –"
    );
    assert!(
        row("claude-opus-7").starts_with("claude-opus-7 ~$0.05 "),
        "{text}"
    );
    assert_eq!(row("unheard-of"), "unheard-of ? 700 ? – – –");
    assert!(
        text.contains("total ~$0.55 + ?, 3 calls to models, 111k tokens\n"),
        "{text}"
    );
    assert!(
        text.contains(
            "~ estimated: 10.0k tokens are of models that only their family has a price for"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "? 700 tokens are of models without a price, and what 700 of them cost is not known"
        ),
        "{text}"
    );
    assert!(!text.contains("$0.00"), "{text}");
    let cost = ralph(&repo, &["cost", "--json"]).json(0);
    let total = &cost["total"];
    assert_eq!(
        [
            &total["spentUsd"],
            &total["estimatedUsd"],
            &total["estimatedTokens"],
            &total["unknownTokens"]
        ],
        [&json!(0.55), &json!(0.05), &json!(10_000), &json!(700)]
    );
    let used = ralph(&repo, &["tokens"]).text(0).to_owned();
    assert!(
        used.starts_with("loop 0190c1f2: 111k tokens in 3 calls, ~$0.55 + ?\n"),
        "{used}"
    );
    assert!(
        used.contains("~$0.55 + ?") && !used.contains("$0.00"),
        "{used}"
    );
    let csv = ralph(&repo, &["cost", "--by", "model", "--csv"])
        .text(0)
        .to_owned();
    assert!(
        csv.lines()
            .next()
            .unwrap()
            .ends_with(",estimated_usd,unknown_tokens"),
        "{csv}"
    );
    let status = ralph(&repo, &["status"]).text(0).to_owned();
    assert!(
        status.contains("~$0.55 + ? by this loop (`ralph cost` shows it)\n"),
        "{status}"
    );
    let report = ralph(&repo, &["report"]).text(0).to_owned();
    assert!(!report.contains("$0.00"), "{report}");
    ralph(&repo, &["report", "--output", "r.html"]).text(0);
    let page = repo.read("r.html");
    assert!(page.contains("<td class=\"n\">?</td>"), "{page}");
    assert!(
        page.contains("estimated by the family of the model"),
        "{page}"
    );
}

#[test]
fn a_day_that_is_none_is_refused() {
    let repo = shop();
    let ran = ralph(&repo, &["cost", "--since", "yesterday"]);
    let said = ran.error(2);
    assert!(
        said.contains("expected a date like 2026-01-31, or a number of days like 7d"),
        "{said}"
    );
    assert_eq!(
        ralph(&repo, &["cost", "--since", "7d"]).text(0),
        "nothing spent yet\n"
    );
}

#[test]
fn the_page_of_a_report_has_cost_by_model_and_kind() {
    let repo = spent();
    ralph(&repo, &["report", "--output", "r.html"]).text(0);
    let page = repo.read("r.html");
    let row = "<code>claude-haiku-4-5</code> <span class=\"faint\">claude</span></td><td>subagents</td>\
               <td class=\"n\">1</td><td class=\"n\">540</td><td class=\"n\">$0.0008</td>\
               <td class=\"n\">$0.0005</td><td class=\"n\">$0.0002</td><td class=\"n\">–</td>";
    assert!(page.contains(row), "{page}");
}
