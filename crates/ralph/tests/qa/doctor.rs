//! What `ralph doctor` says of the browser.

use std::process::Command;

use serde_json::Value;

use crate::support::Site;

/// The check of the browser.
fn browser_check(site: &Site, vars: &[(&str, &str)]) -> Value {
    let mut command: Command = site.repo.command(env!("CARGO_BIN_EXE_ralph"));
    let output = command
        .args(["doctor", "--json"])
        .envs(vars.iter().copied())
        .output()
        .unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let checks = report["checks"].as_array().unwrap();
    let found: Vec<&Value> = checks
        .iter()
        .filter(|check| check["name"] == "browser")
        .collect();
    assert_eq!(found.len(), 1, "{report}");
    found[0].clone()
}

#[test]
fn the_browser_is_named_with_its_version_and_the_tested_ones() {
    let check = browser_check(&Site::greeting(), &[]);
    assert!(
        check["state"] == "ok" || check["state"] == "note",
        "{check}"
    );
    let message = check["message"].as_str().unwrap();
    for part in ["Chrom", ".", "/", "tested with version"] {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_browser_that_is_not_there_is_a_problem_where_flows_need_it() {
    let missing = [("RALPH_QA_BROWSER", "/nosuch/chrome")];
    let check = browser_check(&Site::greeting(), &missing);
    assert_eq!(check["state"], "problem", "{check}");
    assert!(
        check["message"]
            .as_str()
            .unwrap()
            .contains("/nosuch/chrome"),
        "{check}"
    );
}
