//! `ralph loops`, and a journal that this ralph does not know.

use ralph_core::{termination::Stop, verdict::Verdict};
use serde_json::{Value, json};

use crate::support::{Written, failed, ralph, shop};

#[test]
fn the_json_contract_is_as_the_document_shows_it() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(document).unwrap();
    let section = text.split("\n## ralph loops\n").nth(1).unwrap();
    let block = section.split("```json\n").nth(1).unwrap();
    let mut expected: Value = serde_json::from_str(block.split("```").next().unwrap()).unwrap();

    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, _| {});
    past.end(&Stop::AllComplete);
    expected["loops"][0]["worktree"] = json!(repo.root());
    assert_eq!(ralph(&repo, &["loops", "--json"]).json(0), expected);
}

#[test]
fn a_loop_that_is_not_over_and_has_no_process_is_shown_as_interrupted() {
    let repo = shop();
    Written::begin(&repo, "prd.json", "L1");
    let listed = ralph(&repo, &["loops", "--json"]).json(0);
    assert_eq!(listed["loops"][0]["state"], "running");
    assert_eq!(listed["loops"][0]["alive"], false);
    assert_eq!(listed["loops"][0]["reason"], Value::Null);
}

#[test]
fn before_anything_ran_there_are_none() {
    let repo = shop();
    let expected = json!({"loops": [], "more": false});
    assert_eq!(ralph(&repo, &["loops", "--json"]).json(0), expected);
}

#[test]
fn a_journal_of_a_newer_ralph_is_refused_by_name() {
    let repo = shop();
    Written::begin(&repo, "prd.json", "L1");
    let path = repo.data_dir().join("ralph.db");
    let done = repo
        .command("sqlite3")
        .args(["-cmd", ".timeout 10000"])
        .arg(&path)
        .arg("INSERT INTO _sqlx_migrations VALUES (9999, 'new', '2026-01-01', 1, x'00', 0)")
        .status()
        .expect("sqlite3 is installed");
    assert!(done.success());
    let output = repo
        .command(env!("CARGO_BIN_EXE_ralph"))
        .arg("loops")
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{error}");
    let named = format!(
        "the journal {} was written by a newer ralph",
        path.display()
    );
    assert!(error.contains(&named), "{error}");
}
