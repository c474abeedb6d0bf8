//! `ralph lint`.

use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::{ralph, shop};

#[test]
fn tasks_that_are_right_pass() {
    let repo = shop();
    repo.file(
        "ralph.yaml",
        "verification:\n  commands: [[\"cargo\", \"test\"]]\n",
    );
    let ran = ralph(&repo, &["lint"]);
    assert_eq!(ran.text(0), "prd.json: 3 tasks, no problems found\n");
}

#[test]
fn findings_name_their_place_their_rule_and_what_to_do() {
    let repo = shop();
    let ran = ralph(&repo, &["lint"]);
    assert_eq!(
        ran.text(0),
        "prd.json:30:5: warning[no-verify] task US-003: no verify command: the task would be \
         completed as unverified\n  hint: add `verify` to the task or `verification.commands` to \
         ralph.yaml\n\nprd.json: 3 tasks, 0 errors, 1 warning\n"
    );
    assert_eq!(ralph(&repo, &["lint", "--deny-warnings"]).code, 2);
}

#[test]
fn the_json_contract() {
    let repo = shop();
    let expected = json!({
        "source": "prd.json",
        "tasks": 3,
        "errors": 0,
        "warnings": 1,
        "findings": [{
            "rule": "no-verify",
            "severity": "warning",
            "file": "prd.json",
            "line": 30,
            "column": 5,
            "task": "US-003",
            "message": "no verify command: the task would be completed as unverified",
            "hint": "add `verify` to the task or `verification.commands` to ralph.yaml"
        }]
    });
    assert_eq!(ralph(&repo, &["lint", "--json"]).json(0), expected);
}

#[test]
fn the_whole_path_of_a_circle_is_printed() {
    let repo = TestRepo::new();
    let tasks: Vec<_> = (0..40)
        .map(|n| json!({ "id": format!("t{n}"), "title": format!("task {n}"), "dependsOn": [format!("t{}", (n + 1) % 40)] }))
        .collect();
    repo.file("tasks.json", json!(tasks).to_string());
    let ran = ralph(&repo, &["lint"]);
    assert_eq!(ran.code, 2);
    let path: Vec<String> = (0..=40).map(|n| format!("t{}", n % 40)).collect();
    assert!(ran.out.contains(&path.join(" → ")), "{}", ran.out);
}

#[test]
fn a_file_that_does_not_parse_has_one_error() {
    let repo = TestRepo::new();
    repo.file("prd.json", "{\"userStories\": [\n  {\"id\": \"A\",}\n]}");
    let found = ralph(&repo, &["lint", "--json"]).json(2);
    assert_eq!(found["errors"], 1);
    assert_eq!(found["findings"][0]["rule"], "unreadable");
    assert_eq!(found["findings"][0]["line"], 2);
    let ran = ralph(&repo, &["lint"]);
    assert!(ran.text(2).starts_with("prd.json:2:"), "{ran:?}");
}

#[test]
fn a_folder_of_files_is_linted_with_the_place_in_each() {
    let repo = TestRepo::new();
    repo.file(".ralph/tasks/a.yaml", "id: A\ntitle: Same thing\n");
    repo.file(".ralph/tasks/b.yaml", "# b\nid: A\ntitle: Other\n");
    let ran = ralph(&repo, &["lint"]);
    assert!(
        ran.text(2)
            .contains(".ralph/tasks/b.yaml:2:1: error[duplicate-id] task A: 2 tasks have the id A"),
        "{ran:?}"
    );
}

#[test]
fn a_list_of_another_shape_is_said_to_be_read_and_odd_values_have_their_line() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "verification:\n  commands: [[\"true\"]]\n");
    let story = |id: &str, more: &str| {
        format!(
            r#"{{"id": "{id}", "title": "Show {id} in the cart", "description": "Show the number of items of {id} in src/cart.rs, as the header does.", "acceptance": ["`cart {id}` prints 3"], {more}}}"#
        )
    };
    let text = format!(
        "{{\"features\": [\n{{\"id\": \"F1\", \"title\": \"Cart\", \"userStories\": [\n{},\n{}\n]}}],\n\"bugs\": [{{\"id\": 1, \"title\": \"x\", \"status\": \"open\"}}]}}\n",
        story("A", r#""priority": "tracer-bullet", "passes": true"#),
        story("B", r#""status": "purple", "passes": false"#),
    );
    repo.file("prd.json", &text);
    let ran = ralph(&repo, &["lint"]);
    let said = ran.text(0);
    for line in [
        "prd.json:6:9: warning[not-read] the list `bugs` on line 6 looks like tasks too and is not read; the tasks are those of `features`\n",
        "warning[odd-value] task A: expected an integer as priority (1 goes before 2), found the text \"tracer-bullet\"; it is not read\n",
        "warning[unknown-status] task B: expected a status (open, in_progress, completed, blocked, failed, skipped), found \"purple\", which counts as open\n",
        "prd.json: tasks: `features[].userStories`, 2 leaves in 1 container; done: `passes`\n",
        "prd.json: 3 tasks, 0 errors, 3 warnings\n",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    assert!(said.contains("\nprd.json:3:"), "{said}");
    let json = ralph(&repo, &["lint", "--json"]).json(0);
    let reading =
        "prd.json: tasks: `features[].userStories`, 2 leaves in 1 container; done: `passes`";
    assert_eq!(json["reading"], json!([reading]));
    let listed = ralph(&repo, &["tasks", "list", "--json"]).json(0);
    assert_eq!(listed["reading"], json!([reading]));
    assert_eq!(listed["warnings"].as_array().unwrap().len(), 3);
    assert!(ralph(&repo, &["tasks", "list"]).text(0).contains(reading));
}

#[test]
fn checks_that_the_file_names_are_offered_by_lint_and_init_and_not_run() {
    let repo = TestRepo::new();
    let text = r#"{"qualityGates": ["All tests pass", "./gate --all"], "userStories": [{"id": "a", "title": "Show the cart", "passes": false}]}"#;
    repo.file("prd.json", text);
    let said = ralph(&repo, &["lint"]).text(0).to_owned();
    assert!(
        said.contains(
            "warning[checks-not-used] the file names checks that are not run: `./gate --all`\n"
        ),
        "{said}"
    );
    let said = ralph(&repo, &["init"]).text(0).to_owned();
    assert!(said.contains("./gate --all"), "{said}");
    assert!(said.contains("prd.json names it"), "{said}");
    assert!(repo.read("ralph.yaml").contains("./gate --all"));
    let said = ralph(&repo, &["lint"]).text(0).to_owned();
    assert!(!said.contains("checks-not-used"), "{said}");
}

#[test]
fn fix_writes_ids_and_corrects_statuses_and_nothing_else() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "verification:\n  commands: [[\"true\"]]\n");
    let text = "{\"stories\": [\n  {\"title\": \"Show the cart\", \"goal\": \"x\", \"status\": \"done\"},\n  {\"title\": \"Empty the cart\", \"status\": \"compelted\"}\n]}\n";
    repo.file("prd.json", text);
    let would = [
        "prd.json:2:3: task show-the-cart: wrote its id, show-the-cart",
        "prd.json:3:3: task empty-the-cart: wrote its id, empty-the-cart",
        "prd.json:3:3: task empty-the-cart: its status is \"done\" instead of \"compelted\"",
    ];
    let ran = ralph(&repo, &["lint", "--fix", "--dry-run"]);
    let said = ran.text(0).to_owned();
    for line in would {
        assert!(
            said.contains(&format!("would fix {line}\n")),
            "{line}\n{said}"
        );
    }
    assert_eq!(repo.read("prd.json"), text);
    let ran = ralph(&repo, &["lint", "--fix"]);
    let said = ran.text(0).to_owned();
    for line in would {
        assert!(said.contains(&format!("fixed {line}\n")), "{line}\n{said}");
    }
    assert_eq!(
        repo.read("prd.json"),
        "{\"stories\": [\n  {\"title\": \"Show the cart\", \"goal\": \"x\", \"id\": \"show-the-cart\", \"status\": \"done\"},\n  {\"title\": \"Empty the cart\", \"id\": \"empty-the-cart\", \"status\": \"done\"}\n]}\n"
    );
    let again = ralph(&repo, &["lint", "--fix", "--json"]).json(0);
    assert_eq!(again.get("fixes"), None);
    repo.file("prd.json", text);
    let shown = ralph(&repo, &["lint", "--fix", "--dry-run", "--json"]).json(0);
    assert_eq!(
        shown["fixes"][0],
        json!({
            "file": "prd.json",
            "line": 2,
            "column": 3,
            "task": "show-the-cart",
            "message": "wrote its id, show-the-cart",
            "written": false
        })
    );
    assert_eq!(ralph(&repo, &["lint", "--dry-run"]).code, 2);
}

#[test]
fn fix_makes_a_file_with_an_id_twice_readable() {
    let repo = TestRepo::new();
    let story =
        |id: &str, title: &str| format!(r#"{{"id": "{id}", "title": "{title}", "passes": false}}"#);
    let text = format!(
        "{{\"userStories\": [\n{},\n{}\n]}}\n",
        story("A", "One"),
        story("A", "Two")
    );
    repo.file("prd.json", &text);
    assert!(
        ralph(&repo, &["lint"])
            .text(2)
            .contains("error[unreadable]")
    );
    let ran = ralph(&repo, &["lint", "--fix"]);
    assert!(
        ran.out
            .contains("fixed prd.json:3:1: task A-2: gave it an id of its own"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("unreadable"), "{ran:?}");
    assert_eq!(
        repo.read("prd.json"),
        text.replace("\"A\", \"title\": \"Two\"", "\"A-2\", \"title\": \"Two\"")
    );
}

#[test]
fn fields_that_ralph_does_not_know_are_a_note_with_its_line() {
    let repo = TestRepo::new();
    repo.file("ralph.yaml", "verification:\n  commands: [[\"true\"]]\n");
    repo.file("prd.json", "{\"userStories\": [\n  {\"id\": \"a\", \"title\": \"Show the cart\", \"description\": \"Show what is in the cart, with the sum, in the header.\",\n   \"mocks\": [\"the clock\"], \"passes\": false}\n]}\n");
    let ran = ralph(&repo, &["lint", "--deny-warnings"]);
    assert_eq!(
        ran.text(0),
        "prd.json:3:4: note[unknown-fields] fields that ralph does not know are told to the agent as text: `mocks` (1 task)\n  hint: nothing, or rename one that is meant as a field of docs/tasks.md\n\nprd.json: 1 task, 0 errors, 0 warnings, 1 note\n"
    );
}

const CHECKLIST: &str = "---\ntest_command: cargo test\n---\n# Shop\n\n- [~] Add the cart to the page\n- [ ]\n- [x] Shop window\n  - [ ] Clean the shop window\n\n## Completed\n- [ ] Add the roof\n";

#[test]
fn warnings_about_a_checklist_have_their_line_and_a_fix_that_fits() {
    let repo = TestRepo::new();
    repo.file("TODO.md", CHECKLIST);
    let found = ralph(&repo, &["lint", "TODO.md", "--json"]).json(0);
    let mut shown = Vec::new();
    for finding in found["findings"].as_array().unwrap() {
        let text = |name: &str| finding[name].as_str().unwrap_or("-").to_owned();
        shown.push(format!(
            "{} {} {}: {}",
            finding["line"],
            text("rule"),
            text("task"),
            text("hint")
        ));
    }
    shown.retain(|one| !one.contains("description-too-short"));
    assert_eq!(
        shown,
        [
            "6 unknown-status -: if that is not meant, add such a line, or write `[ ]` or `[x]`",
            "7 not-read -: say behind the box what is to be done, or remove it",
            "11 odd-value -: tick them if they are done, else move them below another heading",
            "8 completed-container shop-window: tick or skip the tasks in it, or untick it",
            "2 checks-not-used -: put them under `verification.commands` in ralph.yaml; `ralph init` does so",
            "6 no-verify -: add a line such as \"Verify: `make test`\" below the item, or `verification.commands` to ralph.yaml",
        ]
    );
}

#[test]
fn pictures_with_several_meanings_are_not_said_to_have_a_legend() {
    let repo = TestRepo::new();
    repo.file("TODO.md", "- ⬜ One thing\n- 🚧 Another thing\n");
    let ran = ralph(&repo, &["lint", "TODO.md"]);
    let text = ran.text(0);
    let expected = "TODO.md:2:1: warning[unknown-status] `🚧` counts as in_progress (1 task)\n  hint: if that is not meant, use `✅` and `⬜`, or checkboxes: `- [x]` and `- [ ]`\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn fix_leaves_checklists_and_issues_as_they_are_and_says_so() {
    let issues = "{\"id\":\"bd-1\",\"title\":\"Log in\",\"status\":\"opne\"}\n";
    for (file, text) in [("TODO.md", CHECKLIST), (".beads/issues.jsonl", issues)] {
        let repo = TestRepo::new();
        repo.file(file, text);
        let ran = ralph(&repo, &["lint", "--fix", file]);
        let said = ran.text(0);
        let expected = format!("{file}: --fix leaves checklists and issues of beads as they are\n");
        assert!(said.starts_with(&expected), "{said}");
        assert_eq!(repo.read(file), text);
        let found = ralph(&repo, &["lint", "--fix", file, "--json"]).json(0);
        assert_eq!(found["notFixed"], json!([file]));
    }
}

#[test]
fn what_is_about_all_tasks_has_the_line_of_the_first_or_of_the_member() {
    let repo = TestRepo::new();
    repo.file(
        "prd.json",
        "{\n  \"verifyCommand\": \"npm test\",\n  \"userStories\": [\n    {\"id\": \"a\", \"title\": \"One\", \"passes\": false},\n    {\"id\": \"b\", \"title\": \"Two\", \"passes\": false}\n  ]\n}\n",
    );
    let ran = ralph(&repo, &["lint"]);
    let text = ran.text(0);
    assert!(
        text.contains("prd.json:2:3: warning[checks-not-used]"),
        "{text}"
    );
    assert!(text.contains("prd.json:4:5: warning[no-verify]"), "{text}");
}
