//! `ralph report`.

use ralph_core::{
    termination::Stop,
    verdict::{Halt, Verdict},
};
use ralph_engine::store::TaskHistory;
use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::{Written, asked, failed, ralph, shop, suggesting};

/// A loop with one of everything.
fn eventful() -> TestRepo {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "0190-L1");
    past.iteration(
        ("US-001", "Add a cart", 1),
        Verdict::Verified,
        |record, _| {
            record.unverified = true;
            record.said.block = suggesting(&[("Round prices", "In src/price.rs.")]);
            record.said.block.summary = Some("Added it.".into());
            record.said.block.learnings = vec!["Prices are in cents.".into()];
            record.said.block.decisions = vec!["No floats.".into()];
            record.said.foreign_claims = vec!["US-003".into()];
        },
    );
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    let refused = Verdict::Refused {
        reason: "it edits ralph.yaml".into(),
        halt: Halt::Attempt,
    };
    past.iteration(("US-002", "Show the cart", 2), refused, |record, state| {
        record.flags = vec!["the status of US-002 was put back".into()];
        *state = TaskHistory {
            attempts: 2,
            ..asked(&repo, "US-002", "Which currency?")
        };
    });
    past.end(&Stop::NothingReady);
    repo
}

fn highlights() -> serde_json::Value {
    json!([
        {
            "taskId": "US-001", "iteration": 1, "kind": "learning",
            "text": "Prices are in cents."
        },
        { "taskId": "US-001", "iteration": 1, "kind": "decision", "text": "No floats." }
    ])
}

fn now() -> serde_json::Value {
    json!({
        "tasks": {
            "total": 3, "completed": 1, "ready": 0, "waiting": 1, "blocked": 0, "failed": 0,
            "skipped": 0, "inProgress": 0, "asking": 1
        },
        "next": null,
        "questions": [{ "id": null, "taskId": "US-002", "question": "Which currency?" }],
        "blocked": [
            { "taskId": "US-002", "by": ["it is set aside: a question is open"] },
            { "taskId": "US-003", "by": ["US-002 is open"] }
        ],
        "skipped": []
    })
}

fn timeline() -> serde_json::Value {
    json!([
        {
            "iteration": 1, "taskId": "US-001", "title": "Add a cart", "attempt": 1,
            "startedAt": "2026-01-02T03:01:00Z", "endedAt": "2026-01-02T03:03:30Z",
            "verdict": "verified", "unverified": true, "reverted": false, "commit": "1c0ffee1234567890",
            "tokens": 1200, "costUsd": 0.25, "spentUsd": null
        },
        {
            "iteration": 2, "taskId": "US-002", "title": "Show the cart", "attempt": 1,
            "startedAt": "2026-01-02T03:01:00Z", "endedAt": "2026-01-02T03:03:30Z",
            "verdict": "failed", "unverified": false, "reverted": false, "commit": null,
            "tokens": 1200, "costUsd": 0.25, "spentUsd": null
        },
        {
            "iteration": 3, "taskId": "US-002", "title": "Show the cart", "attempt": 2,
            "startedAt": "2026-01-02T03:01:00Z", "endedAt": "2026-01-02T03:03:30Z",
            "verdict": "refused", "unverified": false, "reverted": false, "commit": null,
            "tokens": 1200, "costUsd": 0.25, "spentUsd": null
        }
    ])
}

/// Of records from before calls to models were kept.
fn nothing_accounted() -> serde_json::Value {
    json!({
        "spentUsd": 0, "calls": 0,
        "tokens": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "costUsd": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "estimatedUsd": 0, "unknownTokens": 0, "unpricedTokens": 0, "estimatedTokens": 0, "toldUsd": 0, "toldByTableUsd": 0, "differenceUsd": 0.0,
        "toolCalls": 0, "tokensPerToolCall": null, "cacheHitRate": null,
        "models": [], "forecasts": []
    })
}

#[test]
fn the_json_contract() {
    let repo = eventful();
    let expected = json!({
        "source": "prd.json", "parent": null, "wholeFeature": true,
        "loops": [{
            "id": "0190-L1",
            "state": "ended",
            "source": "prd.json",
            "branch": "ralph/shop",
            "agent": "script:demo.yaml",
            "startedAt": "2026-01-02T03:00:00Z",
            "endedAt": "2026-01-02T04:00:00Z",
            "pausedAt": null,
            "stop": { "why": "nothing_ready" },
            "sentence": "work is left, but no task is ready",
            "cleanCheck": null
        }],
        "iterations": 3,
        "seconds": 450.0,
        "agentSeconds": 360.0,
        "verifySeconds": 13.5,
        "usage": {
            "inputTokens": 3000, "outputTokens": 600, "cacheReadTokens": 0, "cacheWriteTokens": 0,
            "costUsd": 0.75, "contextTokens": 0
        },
        "metrics": {
            "verifiedCommits": 0, "verifiedShare": 0.0, "completedTasks": 1, "verifiedTasks": 0,
            "iterationsPerTask": 3.0, "recoveries": 0, "meanSecondsToRecovery": null,
            "notRecovered": 1, "costPerVerifiedTaskUsd": null, "iterationsPerFeature": null
        },
        "commits": [{
            "commit": "1c0ffee1234567890", "taskId": "US-001", "title": "Add a cart", "iteration": 1,
            "squashedInto": null
        }],
        "reverted": [],
        "completed": [{
            "taskId": "US-001", "title": "Add a cart", "iteration": 1, "attempt": 1,
            "unverified": true, "commit": "1c0ffee1234567890",
            "verifiedBy": [{
                "command": "cargo test", "outcome": "exit code 0", "seconds": 4.5,
                "againstBaseline": "same"
            }],
            "summary": "Added it."
        }],
        "failedAttempts": [
            {
                "taskId": "US-002", "title": "Show the cart", "iteration": 2, "attempt": 1,
                "verdict": "failed", "sentence": "verification failed: cargo test"
            },
            {
                "taskId": "US-002", "title": "Show the cart", "iteration": 3, "attempt": 2,
                "verdict": "refused", "sentence": "refused: it edits ralph.yaml"
            }
        ],
        "diagnoses": [],
        "verification": [
            { "command": "cargo test", "runs": 3, "passed": 1, "failed": 2, "seconds": 13.5 }
        ],
        "flows": [],
        "highlights": highlights(),
        "flagged": [
            { "taskId": "US-001", "iteration": 1, "what": "claimed that task US-003 is complete" },
            { "taskId": "US-002", "iteration": 3, "what": "the status of US-002 was put back" }
        ],
        "suggestions": [{
            "number": 1, "iteration": 1, "title": "Round prices", "description": "In src/price.rs."
        }],
        "questions": [],
        "timeline": timeline(),
        "economics": nothing_accounted(),
        "now": now()
    });
    assert_eq!(ralph(&repo, &["report", "--json"]).json(0), expected);
}

#[test]
fn the_text_says_plainly_what_was_not_verified_and_what_is_left() {
    let repo = eventful();
    assert_eq!(
        ralph(&repo, &["report"]).text(0),
        "# prd.json on ralph/shop

1 task completed (1 unverified), 1 commit, 3 iterations, 7m 30s, 3.6k tokens, $0.75.
It ended: work is left, but no task is ready.

## Figures

- 0 of 3 iterations ended with a verified commit (0 %)
- 3.0 iterations per completed task
- no task recovered from a failure; 1 task has not recovered
- time spent by agents: 6m 00s, by verification: 14s

## Commits

- 1c0ffee1 US-001 Add a cart

## Completed

- US-001 Add a cart — unverified: no verify command for it
  the agent says: Added it.

## Attempts that did not land

- iteration 2, US-002, attempt 1: verification failed: cargo test
- iteration 3, US-002, attempt 2: refused: it edits ralph.yaml

## Verification

- `cargo test`: 3 runs, 1 passed, 2 failed, 14s

## Highlights from agents

- learnt (US-001): Prices are in cents.
- decided (US-001): No floats.

## Blocked

- US-002: it is set aside: a question is open
- US-003: US-002 is open

## Open questions

- US-002: Which currency?

## Flags

- iteration 1, US-001: claimed that task US-003 is complete
- iteration 3, US-002: the status of US-002 was put back

## Suggested by agents

- 1. Round prices (iteration 1)
- `ralph tasks add --from-suggestions N` adds one as a task

## Remaining work

- 2 of 3 tasks: 0 ready, 1 with a question, 1 waiting, 0 blocked, 0 failed
- `ralph status` shows what blocks what; `ralph unblock --task ID` or `ralph retry --task ID` opens a task again
"
    );
}

#[test]
fn the_last_loop_one_by_its_id_and_all_of_them() {
    let repo = eventful();
    let mut past = Written::begin(&repo, "prd.json", "0191-L2");
    past.iteration(("US-002", "Show the cart", 3), Verdict::Verified, |_, _| {});
    let ids = |args: &[&str]| {
        let report = ralph(&repo, args).json(0);
        let loops = report["loops"].as_array().unwrap().clone();
        let ids: Vec<String> = loops.iter().map(|l| l["id"].to_string()).collect();
        (ids.join(" "), report["iterations"].clone())
    };
    assert_eq!(
        ids(&["report", "--json"]),
        ("\"0190-L1\" \"0191-L2\"".into(), json!(4)),
        "the feature"
    );
    assert_eq!(
        ids(&["report", "--json", "--last"]),
        ("\"0191-L2\"".into(), json!(1))
    );
    let text = ralph(&repo, &["report"]).text(0).to_owned();
    assert!(
        text.starts_with("# prd.json on ralph/shop, 2 loops\n"),
        "{text}"
    );
    let says =
        "It covers all loops of this feature; `ralph report --last` is about the last one only.";
    assert!(text.contains(says), "{text}");
    assert_eq!(
        ids(&["report", "--json", "--loop", "0190"]),
        ("\"0190-L1\"".into(), json!(3))
    );
    assert_eq!(
        ids(&["report", "--json", "--all"]),
        ("\"0190-L1\" \"0191-L2\"".into(), json!(4))
    );
    let ran = ralph(&repo, &["report", "--loop", "019"]);
    assert!(
        ran.error(2)
            .contains("more than one loop has an id that begins with 019"),
        "{ran:?}"
    );
    let ran = ralph(&repo, &["report", "--loop", "x"]);
    assert!(ran.error(2).contains("there is no loop x"), "{ran:?}");
}

#[test]
fn a_report_is_made_also_when_the_task_file_is_gone() {
    let repo = eventful();
    repo.remove("prd.json");
    assert_eq!(
        ralph(&repo, &["report", "--json"]).json(0)["now"],
        json!(null)
    );
    let text = ralph(&repo, &["report"]).text(0).to_owned();
    assert!(text.contains("prd.json can't be read;"), "{text}");
}

/// Results of flows as ralph keeps them beside the logs of an iteration.
fn kept_flows() -> serde_json::Value {
    let viewport = json!({"width": 1280, "height": 720, "mobile": false});
    let step = |outcome: &str, failure: serde_json::Value| {
        json!({
            "number": 2, "line": 7, "action": "click", "step": "click button \"Pay\"", "note": null,
            "outcome": outcome, "seconds": 0.5, "failure": failure, "picture": null
        })
    };
    let flow = |name: &str, passed: bool, step: serde_json::Value| {
        json!({
            "flow": name, "description": null, "file": format!(".ralph/flows/{name}.yaml"),
            "viewport": viewport, "passed": passed, "seconds": 1.5, "steps": [step], "pages": [],
            "console": [], "network": []
        })
    };
    let failure = json!({
        "kind": "not_found", "expected": "a button \"Pay\"", "actual": "there is no <button>", "nearest": []
    });
    json!({
        "version": 1, "passed": false, "browser": "Chromium 150", "seconds": 3.0, "serverLog": [],
        "flows": [
            flow("greet", true, step("passed", json!(null))),
            flow("checkout", false, step("failed", failure)),
        ]
    })
}

#[test]
fn flows_of_an_iteration_are_told_with_the_page_of_their_pictures() {
    let repo = eventful();
    let kept = kept_flows().to_string();
    repo.file(".ralph/logs/iteration-2-qa/report.json", kept);
    let told = ralph(&repo, &["report", "--json"]).json(0);
    let expected = json!([{
        "taskId": "US-002", "iteration": 2, "passed": ["greet"],
        "failed": [{
            "flow": "checkout", "file": ".ralph/flows/checkout.yaml", "line": 7,
            "sentence": "click button \"Pay\": there is no <button>"
        }],
        "page": ".ralph/logs/iteration-2-qa/report.html"
    }]);
    assert_eq!(told["flows"], expected);
    let text = ralph(&repo, &["report"]);
    let says = "## Flows in the browser\n\n\
                - iteration 2, US-002: 1 passed, 1 failed; `.ralph/logs/iteration-2-qa/report.html`\n  \
                passed: greet\n  \
                failed: checkout, .ralph/flows/checkout.yaml:7: click button \"Pay\": there is no <button>\n";
    assert!(text.text(0).contains(says), "{}", text.out);
    let page = ralph(&repo, &["report", "--format", "html"]);
    let page = page.text(0);
    assert!(page.contains("Flows in the browser"), "{page}");
    assert!(page.contains("there is no &lt;button&gt;"), "{page}");
    // What is not as ralph wrote it is left out.
    repo.file(".ralph/logs/iteration-2-qa/report.json", "{}");
    let told = ralph(&repo, &["report", "--json"]).json(0);
    assert_eq!(told["flows"], json!([]));
}
