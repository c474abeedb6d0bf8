//! `ralph qa lint` and `ralph qa schema`: flows checked without a browser.

use serde_json::Value;

use crate::support::{GREET, Site};

#[test]
fn flows_without_mistakes_pass() {
    let site = Site::greeting();
    site.qa(&["lint"])
        .expect(0)
        .prints(&["0 errors, 0 warnings"]);
}

#[test]
fn every_mistake_of_every_flow_is_told_at_once() {
    let site = Site::with_flows(&[
        ("a", "name: a\nsteps:\n  - clik: Greet\n  - wait: soon\n"),
        ("b", "name: b\nstep: []\n"),
    ]);
    let ran = site.qa(&["lint"]).expect(2);
    let all = format!("{}{}", ran.out, ran.err);
    for place in ["a.yaml:3", "a.yaml:4", "b.yaml:2"] {
        assert!(all.contains(place), "{place}: {all}");
    }
}

#[test]
fn findings_are_told_as_json_too() {
    let site = Site::with_flows(&[
        ("greet", GREET),
        ("bad", "name: bad\nsteps:\n  - clik: x\n"),
    ]);
    let ran = site.qa(&["lint", "--json"]).expect(2);
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let found = report["findings"].as_array().unwrap();
    let of_bad = found
        .iter()
        .find(|one| one["file"] == ".ralph/flows/bad.yaml");
    assert_eq!(of_bad.unwrap()["line"], 3, "{report}");
    assert_eq!(report["errors"], 1);
}

#[test]
fn the_schema_is_one_json_document() {
    let site = Site::bare();
    let ran = site.qa(&["schema"]).expect(0);
    let schema: Value = serde_json::from_str(&ran.out).unwrap();
    assert!(schema["properties"]["steps"].is_object(), "{schema}");
}
