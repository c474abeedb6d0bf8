//! Tests what single files become, written down.

use serde_json::json as j;

use super::{json, read, to, value};
use crate::task::format::{Change, Edit, Format, Moved, Syntax, apply, convert};
use crate::task::{Status, TaskId};

const PRD: &str = r#"{
  "project": "shop",
  "branchName": "ralph/login",
  "userStories": [
    {"id": "US-1", "title": "Log in", "acceptanceCriteria": ["works"], "priority": 1, "passes": true, "notes": ""},
    {"id": "US-2", "name": "Log out", "depends_on": "US-1", "passes": false, "status": "todo", "owner": {"name": "x"}}
  ]
}"#;

#[test]
fn a_prd_becomes_a_native_file_that_its_own_tools_would_read() {
    assert_eq!(
        value(&json("prd.json", PRD, Format::Native)),
        j!({
            "project": "shop",
            "branchName": "ralph/login",
            "tasks": [
                {"id": "US-1", "title": "Log in", "acceptance": ["works"], "priority": 1, "status": "completed", "notes": ""},
                {"id": "US-2", "title": "Log out", "dependsOn": ["US-1"], "status": "open", "owner": {"name": "x"},
                 "x-ralph": {"names": {"title": "name"}, "was": {"depends_on": "US-1", "passes": false, "status": "todo"}}},
            ],
            "x-ralph": {"from": "prd"},
        })
    );
}

#[test]
fn a_prd_becomes_an_artefacts_file_with_every_member_of_the_specification() {
    let text = r#"[{"id": 7, "description": "Count\nall of them", "passes": false}]"#;
    assert_eq!(
        value(&json("prd.json", text, Format::Artefacts)),
        j!({
            "project_name": "",
            "tasks": [
                {"id": 7, "description": "Count\nall of them", "status": "pending", "blocked": false,
                 "title": "Count", "dependencies": [], "attempts": 0,
                 "x-ralph": {"absent": ["title", "dependsOn", "attempts"]}},
            ],
            "x-ralph": {"from": "prd", "shape": "list", "absent": ["project_name"]},
        })
    );
}

#[test]
fn an_artefacts_file_becomes_a_prd() {
    let text = r#"{"project_name": "p", "version": 1, "tasks": [
        {"id": "T1", "title": "a", "description": "d", "status": "blocked", "dependencies": [], "attempts": 3, "max_attempts": 3, "blocked": true, "failed": true}]}"#;
    let there = json("tasks.json", text, Format::Prd);
    assert_eq!(
        value(&there),
        j!({
            "project": "p",
            "version": 1,
            "userStories": [
                {"id": "T1", "title": "a", "description": "d", "passes": false, "status": "failed",
                 "dependsOn": [], "attempts": 3, "maxAttempts": 3},
            ],
            "x-ralph": {"from": "artefacts", "names": {"project": "project_name"}},
        })
    );
    assert_eq!(
        value(&json("prd.json", &there, Format::Artefacts)),
        value(text)
    );
}

#[test]
fn what_was_done_meanwhile_comes_back_too_and_the_rest_as_it_was() {
    let there = json("prd.json", PRD, Format::Native);
    let edit = |task: &str, change| Edit {
        task: TaskId::parse(task).unwrap(),
        change,
    };
    let edits = [
        edit("US-2", Change::Status(Status::Blocked)),
        edit("US-2", Change::Notes("waiting".into())),
    ];
    let worked = apply("t.json", there.as_bytes(), &edits).unwrap();
    let back = json("t.json", std::str::from_utf8(&worked).unwrap(), Format::Prd);
    assert_eq!(
        value(&back),
        j!({
            "project": "shop",
            "branchName": "ralph/login",
            "userStories": [
                {"id": "US-1", "title": "Log in", "acceptanceCriteria": ["works"], "priority": 1, "passes": true, "notes": ""},
                {"id": "US-2", "name": "Log out", "depends_on": "US-1", "passes": false, "status": "blocked", "notes": "waiting", "owner": {"name": "x"}},
            ]
        })
    );
}

#[test]
fn a_task_that_was_added_meanwhile_is_said_in_the_words_of_the_first_format() {
    let there = json(
        "tasks.json",
        r#"{"project_name": "p", "tasks": []}"#,
        Format::Native,
    );
    let added = there.replace(
        r#""tasks": []"#,
        r#""tasks": [{"id": "n", "title": "New", "dependsOn": ["m"], "status": "in_progress"}]"#,
    );
    assert_ne!(there, added);
    assert_eq!(
        value(&json("t.json", &added, Format::Artefacts)),
        j!({
            "project_name": "p",
            "tasks": [{"id": "n", "title": "New", "dependencies": ["m"], "status": "in_progress", "blocked": false,
                       "description": "New", "attempts": 0}],
        })
    );
}

#[test]
fn a_file_goes_back_through_all_formats_that_it_came_by() {
    let artefacts = json("prd.json", PRD, Format::Artefacts);
    let native = to("tasks.json", &artefacts, Format::Native, Syntax::Yaml).text;
    assert_eq!(read("t.yaml", &native).format, Format::Native);
    assert_eq!(value(&json("t.yaml", &native, Format::Prd)), value(PRD));
    assert_eq!(
        value(&json("t.yaml", &native, Format::Artefacts)),
        value(&artefacts)
    );
}

#[test]
fn yaml_is_written_the_way_people_write_it() {
    let converted = to("prd.json", PRD, Format::Native, Syntax::Yaml);
    assert_eq!(
        converted.text,
        r#"project: shop
branchName: ralph/login
tasks:
  - id: US-1
    title: Log in
    acceptance:
      - works
    priority: 1
    status: completed
    notes: ""
  - id: US-2
    title: Log out
    dependsOn:
      - US-1
    status: open
    owner:
      name: x
    x-ralph:
      names:
        title: name
      was:
        depends_on: US-1
        passes: false
        status: todo
x-ralph:
  from: prd
"#
    );
}

#[test]
fn says_what_stands_under_another_name() {
    let moved = |field: &str, now: &str, tasks| Moved {
        field: field.to_owned(),
        now: now.to_owned(),
        tasks,
    };
    let converted = to("prd.json", PRD, Format::Native, Syntax::Json);
    assert_eq!((converted.tasks, converted.from), (2, Format::Prd));
    assert_eq!(
        converted.moved,
        [
            moved("userStories", "tasks", None),
            moved("acceptanceCriteria", "acceptance", Some(1)),
            moved("passes", "status", Some(1)),
            moved("name", "title", Some(1)),
            moved("depends_on", "dependsOn", Some(1)),
            moved("passes, status", "status", Some(1)),
            moved("depends_on", "x-ralph.was.depends_on", Some(1)),
            moved("passes", "x-ralph.was.passes", Some(1)),
            moved("status", "x-ralph.was.status", Some(1)),
        ]
    );
}

#[test]
fn what_only_yaml_can_say_reads_the_same_in_json() {
    let text = "base: &base\n  priority: 3\n  extra: {a: 007}\ntasks:\n  - id: 010\n    <<: *base\n    title: 1.10\n    acceptance: [yes, 2, true]\n    verify: [true, [seq, 3]]\n    expectsChange: no\n    labels: {size: 03, late: true}\n    steps: [1.0, {a: b}]\n    odd: +5\n";
    let there = json("t.yaml", text, Format::Prd);
    assert_eq!(
        value(&there),
        j!({
            "base": {"priority": 3, "extra": {"a": 7}},
            "userStories": [
                {"id": "010", "title": "1.10", "acceptanceCriteria": ["yes", "2", "true"],
                 "verify": ["true", ["seq", 3]], "expectsChange": false,
                 "labels": {"size": "03", "late": true}, "steps": [1.0, {"a": "b"}], "odd": 5,
                 "priority": 3, "extra": {"a": 7}, "passes": false,
                 "x-ralph": {"absent": ["status"]}},
            ],
            "x-ralph": {"from": "native"},
        })
    );
}

#[test]
fn lists_beside_the_tasks_do_not_change_what_the_file_is() {
    let text = r#"{"userStories": [{"id": "a", "passes": false}], "tasks": "see above", "features": [1], "project_name": "p", "project": "q", "x-ralph": {"mine": 1}}"#;
    for format in [Format::Native, Format::Artefacts] {
        let there = json("prd.json", text, format);
        assert_eq!(read("x.json", &there).format, format, "{there}");
        assert_eq!(value(&json("x.json", &there, Format::Prd)), value(text));
    }
}

#[test]
fn numbers_stay_as_they_are_spelled() {
    let text =
        r#"[{"id": 1.10, "passes": false, "cost": 12345678901234567890.120, "tiny": 1e-400}]"#;
    let there = json("prd.json", text, Format::Native);
    for spelled in ["1.10", "12345678901234567890.120", "1e-400"] {
        assert!(there.contains(&format!(": {spelled}")), "{there}");
    }
    let yaml = to("x.json", &there, Format::Prd, Syntax::Yaml).text;
    assert!(yaml.contains("cost: 12345678901234567890.120\n"), "{yaml}");
}

#[test]
fn a_broken_file_is_refused_with_its_place() {
    let error = convert(
        "prd.json",
        b"{\"userStories\": [{\"id\": \"a\" \"passes\": true}]}",
        Format::Native,
        Syntax::Yaml,
    )
    .unwrap_err();
    assert!(error.to_string().starts_with("prd.json:1:29: "), "{error}");
}

#[test]
fn a_key_that_is_a_list_is_refused_with_its_place() {
    let text = "tasks:\n  - id: a\n    ? [x, y]\n    : z\n";
    let error = convert("t.yaml", text.as_bytes(), Format::Prd, Syntax::Json).unwrap_err();
    assert_eq!(
        error.to_string(),
        "t.yaml:3:7: expected a text as the name of a member, found a list or an object"
    );
}

/// Files in the shapes that people really write, by what was seen in public repositories.
const WILD: [&str; 7] = [
    "\u{feff}{\r\n\t\"branchName\": \"ralph/login\",\r\n\t\"project\": \"Shop\",\r\n\t\"title\": \"Login\",\r\n\t\"context\": {\"a\": [1, {}]},\r\n\t\"userStories\": [\r\n\t\t{\"id\": 7, \"name\": \"Caf\\u00e9 \\\"log in\\\"\", \"acceptance_criteria\": \"- it works\\n- it is fast\\n\", \"category\": \"ui\", \"priority\": 1, \"depends_on\": \"3, 4,US-5\", \"passes\": false, \"notes\": \"\"},\r\n\t\t{\"id\": 3, \"description\": \"  First line\\nand more\", \"depends_on\": null, \"passes\": false, \"key_files\": [\"a.rs\"], \"stop_condition\": \"never\"}\r\n\t]\r\n}",
    r#"{"project": "project-name", "description": "Brief", "userStories": [{"id": "US-001", "title": "Short", "description": "Full", "criteria": ["One", "Two"], "passes": true}, {"id": "US-002", "title": "Next", "criteria": ["x"], "passes": false, "depends_on": ["US-001"]}, {"id": "US-003", "passes": false, "skipped": true}]}"#,
    r#"[{"category": "functional", "description": "New chat", "steps": ["Open", {"do": "press"}], "passes": false, "id": 1}]"#,
    r#"{"features": [{"id": "a", "name": "A", "passes": true, "status": "done", "justification": "why", "designDecisions": ["d"], "files": {"create": ["x.ts"]}}], "tasks": "see above", "prdFile": "PRD.md", "version": "1.0", "scope": []}"#,
    r#"{"stories": [{"id": "s", "title": "S", "status": "In Progress", "requirements": ["r"], "edge_cases": ["e"], "passes": false}]}"#,
    r#"{"project_name": "example-project", "version": 1, "tasks": [{"id": "T1", "title": "Create CLI skeleton", "description": "Implement base CLI", "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false}, {"id": "T3", "title": "c", "status": "pending", "dependencies": [], "blocked": true}]}"#,
    "# made by hand\nid: auth.login\ntitle: Log in\nparentId: auth\ndependsOn: [auth.store, 12]\nstatus: in_progress\nverify:\n  - cargo test\n  - [cargo, test, \"two words\"]\nlabels: {area: ui, size: 3}\npriority: 2\nupdated_at: 2026-01-03\nexpectsChange: false\nunknown: {kept: true}\n",
];

#[test]
fn files_from_the_wild_survive_every_way_there_and_back() {
    for text in WILD {
        let own = read("x", text);
        let as_it_is = value(&json("x", text, own.format));
        for format in Format::TREES {
            for syntax in [Syntax::Json, Syntax::Yaml] {
                let there = to("x", text, format, syntax).text;
                let document = read("x", &there);
                assert_eq!(document.format, format, "{there}");
                assert_eq!(document.meta, own.meta, "{there}");
                let titles = |tasks: &[crate::task::Task]| -> Vec<_> {
                    let said = |task: &crate::task::Task| (task.text.clone(), task.status);
                    tasks.iter().map(said).collect()
                };
                assert_eq!(titles(&document.tasks), titles(&own.tasks), "{there}");
                assert_eq!(value(&json("x", &there, own.format)), as_it_is, "{there}");
            }
        }
    }
}

#[test]
fn comments_of_yaml_go_along_to_yaml() {
    let text = "# what is left\n\nproject: shop # ours\n# the list\nuserStories:\n  # the door\n  - id: US-1 # first\n    title: \"Log # in\"\n    # how to tell\n    acceptanceCriteria:\n      - it says # 42\n      # and\n      - it ends\n    passes: false # not yet\n    note: |\n      # no comment\n  - {id: US-2, title: Log out, passes: true} # done\n# the end\n";
    let there = to("prd.yaml", text, Format::Native, Syntax::Yaml);
    insta::assert_snapshot!(there.text, @r##"
    # what is left
    project: shop # ours
    # the list
    tasks:
      # the door
      - id: US-1 # first
        title: "Log # in"
        # how to tell
        acceptance:
          - it says # 42
          # and
          - it ends
        status: open # not yet
        note: "# no comment\n"
      - id: US-2 # done
        title: Log out
        status: completed
    x-ralph:
      from: prd
    # the end
    "##);
    assert_eq!(there.lost_comments, 0);
    let as_json = to("prd.yaml", text, Format::Native, Syntax::Json);
    assert_eq!(as_json.lost_comments, 11);
}
