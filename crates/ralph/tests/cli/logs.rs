//! `ralph logs`.

use ralph_core::verdict::Verdict;
use serde_json::json;

use crate::support::{Written, failed, ralph, shop};

#[test]
fn without_a_number_the_last_log_is_printed_and_escapes_are_written_out() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    repo.file(".ralph/logs/iteration-1.txt", "first\n");
    repo.file(".ralph/logs/iteration-2.txt", "second \x1b[2J\nend");
    assert_eq!(ralph(&repo, &["logs"]).text(0), "second \\x1b[2J\nend");
    assert_eq!(
        ralph(&repo, &["logs", "--iteration", "1"]).text(0),
        "first\n"
    );
}

#[test]
fn the_raw_stream_reaches_a_pipe_as_it_was_written() {
    let repo = shop();
    Written::begin(&repo, "prd.json", "L1").start("US-002", 1);
    repo.file(".ralph/logs/iteration-1.stream", "{\"a\":\"\x1b[2J\"}\r\n");
    assert_eq!(
        ralph(&repo, &["logs", "--raw"]).text(0),
        "{\"a\":\"\x1b[2J\"}\r\n"
    );
}

#[test]
fn an_iteration_that_is_not_there_is_told_with_those_that_are() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    assert_eq!(
        ralph(&repo, &["logs", "--iteration", "7"]).error(2),
        "error: there is no iteration 7; there is only iteration 1\n\
         hint: `ralph logs --list` lists the last ones\n"
    );
    past.start("US-002", 1);
    let said = ralph(&repo, &["logs", "--iteration", "7"]);
    assert!(said.error(2).contains("there are 1 to 2\n"), "{said:?}");
    let said = ralph(&repo, &["logs", "--json"]);
    assert!(
        said.error(2)
            .contains("iteration 2 has no record: it has not ended"),
        "{said:?}"
    );
    let said = ralph(&repo, &["logs"]);
    assert!(
        said.error(2)
            .contains(".ralph/logs/iteration-2.txt does not exist"),
        "{said:?}"
    );
}

#[test]
fn the_json_contract_of_a_record() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-002", "Show the cart", 2), failed(), |record, _| {
        record.flags = vec!["deletes a test".into()];
        record.feedback = Some("fix it".into());
    });
    let usage = json!({
        "inputTokens": 1000, "outputTokens": 200, "cacheReadTokens": 0, "cacheWriteTokens": 0,
        "costUsd": 0.25, "contextTokens": 0
    });
    let expected = json!({
        "iterationId": "L1-US-002-2",
        "iteration": 1,
        "loopId": "L1",
        "taskId": "US-002",
        "title": "Show the cart",
        "attempt": 2,
        "startedAt": "2026-01-02T03:01:00Z",
        "endedAt": "2026-01-02T03:03:30Z",
        "runs": [{
            "run": 1, "agent": "script:demo.yaml", "command": ["ralph", "__play-script"],
            "model": "script", "version": null, "ending": { "how": "finished" },
            "promptBytes": 900, "turns": 3,
            "context": { "window": 200_000, "turns": [50_000], "utilisation": [0.25] }, "denied": [], "seconds": 120.0, "usage": usage
        }],
        "branch": "ralph/shop",
        "baseCommit": "b45e",
        "resultCommit": null,
        "keptRef": null,
        "filesChanged": [{ "path": "src/cart.rs", "kind": "added" }],
        "verification": [{
            "run": 1, "command": "cargo test", "outcome": "exit code 0", "passed": false,
            "seconds": 4.5, "againstBaseline": "same", "signature": null, "tail": ""
        }],
        "unverified": false,
        "verdict": "failed",
        "command": "cargo test",
        "signature": "5168",
        "outcome": "failed",
        "feedback": "fix it",
        "flags": ["deletes a test"],
        "said": {
            "claimed": true, "foreignClaims": [], "promise": null, "escalation": null,
            "block": {
                "summary": null, "learnings": [], "decisions": [], "assumptions": [],
                "constraints": [], "blocked": [], "follow_ups": [], "phase": null,
                "handoff": null, "next": null, "broken": null
            },
            "finalMessage": "Task complete"
        },
        "guidance": [],
        "usage": usage,
        "healthState": "healthy",
    });
    assert_eq!(ralph(&repo, &["logs", "--json"]).json(0), expected);
}

#[test]
fn a_record_is_read_from_its_file_where_the_journal_is_gone() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    let record = past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    repo.file(
        ".ralph/logs/iteration-1.json",
        serde_json::to_string(&record).unwrap(),
    );
    drop(past);
    std::fs::remove_dir_all(repo.data_dir()).unwrap();
    let found = ralph(&repo, &["logs", "--json"]).json(0);
    assert_eq!(found["taskId"], "US-001");
}

#[test]
fn the_json_contract_of_the_list_and_its_limit() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    let expected = json!({ "iterations": [{
        "iteration": 2,
        "loopId": "L1",
        "taskId": "US-002",
        "title": "Show the cart",
        "attempt": 1,
        "startedAt": "2026-01-02T03:01:00Z",
        "endedAt": "2026-01-02T03:03:30Z",
        "verdict": "failed",
        "outcome": "failed",
        "resultCommit": null, "reverted": false
    }] });
    let listed = ralph(&repo, &["logs", "--list", "-n", "1", "--json"]);
    assert_eq!(listed.json(0), expected);
    let text = ralph(&repo, &["logs", "--list"]).text(0).to_owned();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines[0].starts_with("2  US-002  Show the cart  failed"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("1  US-001  Add a cart     verified  1c0ffee1"),
        "{text}"
    );
}

#[test]
fn following_where_nothing_runs_says_so_and_shows_the_last_one() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    repo.file(".ralph/logs/iteration-1.txt", "first\nsecond \x1b[2J\n");
    let ran = ralph(&repo, &["logs", "-f"]);
    assert_eq!(
        ran.text(0),
        "── iteration 1: US-002, attempt 1 ──\nfirst\nsecond \\x1b[2J\n"
    );
    assert_eq!(
        ran.err,
        "no loop is running here; showing the last iteration\n"
    );
    let ran = ralph(&repo, &["logs", "-f", "--tail", "1"]);
    assert!(ran.text(0).ends_with("──\nsecond \\x1b[2J\n"), "{ran:?}");
}

#[test]
fn following_where_ralph_never_ran_is_an_error() {
    let ran = ralph(&shop(), &["logs", "--follow"]);
    assert!(
        ran.error(2).contains("ralph has not run here yet"),
        "{ran:?}"
    );
}

#[test]
fn only_the_last_lines_are_printed_where_they_are_asked_for() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    repo.file(".ralph/logs/iteration-1.txt", "one\ntwo\nthree\n");
    assert_eq!(
        ralph(&repo, &["logs", "--tail", "2"]).text(0),
        "two\nthree\n"
    );
}
