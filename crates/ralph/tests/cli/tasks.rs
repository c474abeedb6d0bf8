//! `ralph tasks`.

use ralph_core::verdict::Verdict;
use ralph_testkit::TestRepo;
use serde_json::{Value, json};

use crate::support::{Written, failed, ralph, shop, suggesting};

fn us_002() -> Value {
    json!({
        "id": "US-002",
        "title": "Show the cart",
        "description": "Show in src/page.rs what the Cart holds, a line an item.",
        "acceptance": ["`cargo test page` passes"],
        "files": [],
        "notes": null,
        "expectsChange": true,
        "parentId": null,
        "dependsOn": ["US-001"],
        "status": "open",
        "verify": ["cargo test page"],
        "labels": [],
        "area": null,
        "priority": 2,
        "attempts": null,
        "maxAttempts": null,
        "createdAt": null,
        "updatedAt": null,
        "kind": "leaf",
        "standing": "ready",
        "ready": true,
        "blockedBy": [],
        "file": "prd.json",
        "line": 14,
        "column": 5
    })
}

#[test]
fn the_json_contract_of_the_list() {
    let repo = shop();
    let listed = ralph(&repo, &["tasks", "list", "--json"]).json(0);
    assert_eq!(listed["source"], "prd.json");
    assert_eq!(listed["tasks"].as_array().unwrap().len(), 3);
    assert_eq!(listed["tasks"][1], us_002());
    let third = &listed["tasks"][2];
    assert_eq!(third["standing"], "waiting");
    assert_eq!(
        third["blockedBy"],
        json!([{ "id": "US-002", "why": "US-002 is open" }])
    );
}

#[test]
fn the_list_lines_up_and_can_be_narrowed() {
    let repo = shop();
    assert_eq!(
        ralph(&repo, &["tasks", "list"]).text(0),
        "US-001  completed  Add a cart\n\
         US-002  ready      Show the cart\n\
         US-003  waiting    Empty the cart  US-002 is open\n"
    );
    let only = |args: &[&str]| ralph(&repo, args).text(0).to_owned();
    assert_eq!(
        only(&["tasks", "list", "--ready"]),
        "US-002  ready  Show the cart\n"
    );
    assert_eq!(
        only(&["tasks", "list", "--status", "completed"]),
        "US-001  completed  Add a cart\n"
    );
    assert_eq!(only(&["tasks", "list", "--status", "failed"]), "no tasks\n");
}

#[test]
fn containers_are_shown_as_such_in_every_format() {
    let repo = TestRepo::new();
    repo.file(
        ".ralph/tasks/all.yaml",
        "- {id: F, title: Feature}\n- {id: F1, title: one, parentId: F, status: completed}\n\
         - {id: F2, title: two, parentId: F, status: in_progress}\n",
    );
    assert_eq!(
        ralph(&repo, &["tasks", "list"]).text(0),
        "F   container    Feature (1/2)\nF1  completed    one\nF2  in progress  two\n"
    );
}

#[test]
fn the_json_contract_of_one_task() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-002", "Show the cart", 1), failed(), |_, state| {
        state.kept_ref = Some("refs/ralph/attempts/L1-US-002-1".into());
    });
    let mut expected = us_002();
    expected["children"] = json!([]);
    expected["dependants"] = json!(["US-003"]);
    expected["history"] = json!({
        "attempts": 1,
        "lastVerdict": "failed",
        "question": null,
        "blocked": null,
        "keptRef": "refs/ralph/attempts/L1-US-002-1",
        "iterations": [{
            "iteration": 1,
            "attempt": 1,
            "startedAt": "2026-01-02T03:01:00Z",
            "endedAt": "2026-01-02T03:03:30Z",
            "verdict": "failed",
            "outcome": "failed",
            "resultCommit": null, "reverted": false
        }]
    });
    let shown = ralph(&repo, &["tasks", "show", "US-002", "--json"]);
    assert_eq!(shown.json(0), expected);
    let text = ralph(&repo, &["tasks", "show", "US-002"])
        .text(0)
        .to_owned();
    for part in [
        "US-002 Show the cart\nstatus      open (ready)\nplace       prd.json:14:5\n",
        "needed by   US-003\n",
        "\nverify\n  - cargo test page\n",
        "\nhistory\n  iteration 1  attempt 1  failed",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn an_unknown_id_is_told_with_what_was_probably_meant() {
    let repo = shop();
    assert_eq!(
        ralph(&repo, &["tasks", "show", "us_2"]).error(2),
        "error: there is no task us_2 in prd.json\nhint: did you mean US-002?\n"
    );
}

#[test]
fn a_new_task_follows_the_style_of_its_file() {
    let repo = shop();
    let ran = ralph(
        &repo,
        &[
            "tasks",
            "add",
            "Pay",
            "--description",
            "Pay in src/pay.rs.",
            "--acceptance",
            "a",
            "--acceptance",
            "b",
            "--verify",
            "cargo test pay",
            "--depends-on",
            "US-003",
            "--label",
            "area=pay",
            "--priority",
            "4",
        ],
    );
    assert_eq!(ran.text(0), "added US-004 to prd.json\n");
    let file: Value = serde_json::from_str(&repo.read("prd.json")).unwrap();
    assert_eq!(
        file["userStories"][3],
        json!({
            "id": "US-004", "title": "Pay", "priority": 4, "passes": false,
            "description": "Pay in src/pay.rs.", "acceptanceCriteria": ["a", "b"],
            "verify": ["cargo test pay"], "dependsOn": ["US-003"], "labels": ["area=pay"]
        })
    );
    assert_eq!(file["userStories"][0]["passes"], true);
}

#[test]
fn what_would_break_the_tasks_is_refused_before_anything_is_written() {
    let repo = shop();
    let before = repo.read("prd.json");
    let cases: [(&[&str], &str); 5] = [
        (
            &["tasks", "add", "x", "--id", "US-002"],
            "there is a task US-002 already: Show the cart",
        ),
        (
            &["tasks", "add", "x", "--depends-on", "US-03"],
            "task US-004 depends on US-03, which does not exist; did you mean US-003?",
        ),
        (
            &["tasks", "add", "x", "--id", "../x"],
            "a task id can't start with '.'",
        ),
        (&["tasks", "add", " "], "a title is one line, and not empty"),
        (
            &["tasks", "add", "x", "--id", "Q", "--depends-on", "Q"],
            "task Q depends on itself",
        ),
    ];
    for (args, said) in cases {
        let ran = ralph(&repo, args);
        assert!(
            ran.error(2).starts_with(&format!("error: {said}\n")),
            "{ran:?}"
        );
        assert_eq!(repo.read("prd.json"), before);
    }
}

#[test]
fn a_task_that_would_close_a_circle_is_refused() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"T1","title":"one","dependsOn":["T2"]}]"#,
    );
    let ran = ralph(&repo, &["tasks", "add", "two", "--depends-on", "T1"]);
    assert!(
        ran.error(2)
            .contains("tasks wait for each other: T1 → T2 → T1"),
        "{ran:?}"
    );
    assert_eq!(
        ralph(&repo, &["tasks", "add", "two"]).text(0),
        "added T2 to tasks.json\n"
    );
}

#[test]
fn the_first_task_of_all_makes_a_folder() {
    let repo = TestRepo::new();
    let ran = ralph(&repo, &["tasks", "add", "Say hello", "--verify", "true"]);
    assert_eq!(
        ran.text(0),
        "added say-hello to .ralph/tasks/say-hello.yaml\n"
    );
    assert!(repo.exists(".ralph/.gitignore"));
    let listed = ralph(&repo, &["tasks", "list"]);
    assert_eq!(listed.text(0), "say-hello  ready  Say hello\n");
    let ran = ralph(&repo, &["tasks", "add", "Say hello"]);
    assert_eq!(
        ran.text(0),
        "added say-hello-2 to .ralph/tasks/say-hello-2.yaml\n"
    );
}

#[test]
fn suggestions_are_listed_taken_by_number_and_marked_as_taken() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(
        ("US-001", "Add a cart", 1),
        Verdict::Verified,
        |record, _| {
            record.said.block = suggesting(&[
                ("Round prices", "In src/price.rs."),
                ("Sort\x1b[2J items", ""),
            ]);
        },
    );
    assert_eq!(
        ralph(&repo, &["tasks", "add", "--from-suggestions"]).text(0),
        "  1  Round prices  iteration 1\n     In src/price.rs.\n  2  Sort\\x1b[2J items  iteration 1\n\n\
         `ralph tasks add --from-suggestions N` adds one as a task\n"
    );
    let ran = ralph(&repo, &["tasks", "add", "--from-suggestions", "1"]);
    assert_eq!(ran.text(0), "added US-004 to prd.json\n");
    let shown = ralph(&repo, &["tasks", "show", "US-004", "--json"]).json(0);
    assert_eq!(shown["title"], "Round prices");
    assert_eq!(shown["description"], "In src/price.rs.");
    assert_eq!(shown["status"], "open");
    let listed = ralph(&repo, &["tasks", "add", "--from-suggestions"]);
    assert!(
        listed.text(0).starts_with("  2  Sort"),
        "its number stays: {listed:?}"
    );
    let before = repo.read("prd.json");
    for (numbers, said) in [
        (&["1"][..], "suggestion 1 is task US-004 already"),
        (&["2", "9"], "there is no suggestion 9"),
    ] {
        let args = [&["tasks", "add", "--from-suggestions"], numbers].concat();
        let ran = ralph(&repo, &args);
        assert!(ran.error(2).contains(said), "{ran:?}");
        assert_eq!(repo.read("prd.json"), before, "all or none");
    }
}

#[test]
fn a_task_that_a_run_would_not_take_is_said_to_be_one() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"F","title":"f"},{"id":"F1","title":"one","parentId":"F"}]"#,
    );
    repo.file(".ralph/parent-task-id", "F\n");
    let ran = ralph(&repo, &["tasks", "add", "other", "--id", "X"]);
    assert_eq!(ran.code, 0);
    assert!(
        ran.err.contains("limits `ralph run` to what is below F"),
        "{ran:?}"
    );
}
