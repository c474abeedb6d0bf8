//! `ralph config`.

use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::{ralph, ralph_with};

#[test]
fn every_value_has_its_origin() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "loop:\n  max_iterations: 7\n");
    let ran = ralph_with(&repo, &["config"], &[("RALPH_LOOP_MAX_ATTEMPTS", "2")]);
    let text = ran.text(0);
    let file = repo.path("ralph.yaml");
    assert!(
        text.contains(&format!("  max_iterations: 7  # {}:2\n", file.display())),
        "{text}"
    );
    assert!(
        text.contains("  max_attempts: 2  # env RALPH_LOOP_MAX_ATTEMPTS\n"),
        "{text}"
    );
    assert!(text.contains("agent: claude  # default\n"), "{text}");
}

#[test]
fn the_json_contract_of_one_key() {
    let repo = TestRepo::new();
    repo.file(
        "ralph.yaml",
        "loop:\n  max_iterations: 7\ngit:\n  sign_off: true\n",
    );
    let file = repo.path("ralph.yaml").display().to_string();
    let expected = json!({
        "configFile": file,
        "userFile": null,
        "values": [{
            "key": "loop.max_iterations",
            "value": 7,
            "origin": { "from": "file", "path": file, "line": 2 }
        }],
        "notes": [],
        "notInForce": [{
            "key": "git.sign_off",
            "value": true,
            "message": "ralph does not sign commits off yet"
        }]
    });
    let ran = ralph(&repo, &["config", "--json", "loop.max_iterations"]);
    assert_eq!(ran.json(0), expected);
    assert_eq!(
        ran.err,
        "warning: `git.sign_off: true` is not in force: ralph does not sign commits off yet\n"
    );
}

#[test]
fn a_section_is_printed_key_by_key_and_secrets_are_not() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "claude:\n  env:\n    KEY: s3cret\n");
    let ran = ralph(&repo, &["config", "loop.gutter"]);
    assert_eq!(
        ran.text(0),
        "loop.gutter.max_same_failure: 3  # default\nloop.gutter.max_churn_commits: 2  # default\n\
         loop.gutter.max_oscillations: 2  # default\nloop.gutter.diagnose: true  # default\n\
         loop.gutter.then: \"ask\"  # default\n"
    );
    for args in [
        &["config"][..],
        &["config", "--json"],
        &["config", "claude.env.KEY"],
    ] {
        let ran = ralph(&repo, args);
        assert!(ran.text(0).contains("(hidden)"), "{ran:?}");
        assert!(!ran.out.contains("s3cret"), "{ran:?}");
    }
}

#[test]
fn an_unknown_key_is_told_with_what_was_probably_meant() {
    let repo = TestRepo::new();
    assert_eq!(
        ralph(&repo, &["config", "loop.max_iteration"]).error(2),
        "error: unknown key `loop.max_iteration`; did you mean `loop.max_iterations`?\n"
    );
}

#[test]
fn the_schema_is_one_of_json_schema() {
    let repo = TestRepo::bare_folder();
    let schema = ralph(&repo, &["config", "schema"]).json(0);
    assert_eq!(
        schema["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    assert_eq!(schema["title"], "ralph.yaml");
}

#[test]
fn a_mistake_in_the_file_is_told_with_its_place() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "loop:\n  max_iterations: many\n");
    let ran = ralph(&repo, &["config"]);
    let said = ran.error(2);
    assert!(said.contains("ralph.yaml:2:"), "{said}");
    assert!(said.contains("loop.max_iterations"), "{said}");
}
