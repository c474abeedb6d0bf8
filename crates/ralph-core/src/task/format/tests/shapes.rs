//! Every shape that task files have in the specifications and in the wild is read.

use super::{id, read};
use crate::task::Status;
use crate::task::VerifyCommand::{Argv, Shell};
use crate::task::format::{Format, Meta, Syntax, line_column};

#[test]
fn reads_the_prd_of_the_specification() {
    let text = r#"{
  "project": "project-name",
  "description": "Brief project description",
  "userStories": [
    {
      "id": "US-001",
      "title": "Short title",
      "description": "Full description of what to implement",
      "criteria": ["First acceptance criterion", "Second acceptance criterion"],
      "passes": true
    },
    {
      "id": "US-002",
      "title": "Dependent task",
      "description": "This task depends on US-001",
      "criteria": ["Acceptance criterion"],
      "passes": false,
      "depends_on": ["US-001"]
    },
    {"id": "US-003", "title": "Set aside", "passes": false, "skipped": true}
  ]
}"#;
    let document = read("PRD.json", text);
    assert_eq!(
        (document.format, document.syntax),
        (Format::Prd, Syntax::Json)
    );
    assert_eq!(
        document.meta,
        Meta {
            project: Some("project-name".into()),
            description: Some("Brief project description".into()),
            ..Meta::default()
        }
    );
    let [one, two, three] = &document.tasks[..] else {
        panic!()
    };
    assert_eq!(one.id, id("US-001"));
    assert_eq!(one.text.title, "Short title");
    assert_eq!(
        one.text.description,
        "Full description of what to implement"
    );
    assert_eq!(
        one.text.acceptance,
        ["First acceptance criterion", "Second acceptance criterion"]
    );
    assert_eq!(one.status, Status::Completed);
    assert_eq!(two.status, Status::Open);
    assert_eq!(two.links.depends_on, [id("US-001")]);
    assert_eq!(three.status, Status::Skipped);
    assert_eq!(three.text.description, "Set aside");
    assert_eq!(
        line_column(text.as_bytes(), two.place.offset as usize),
        (12, 5)
    );
    assert_eq!([one, two, three].map(|task| task.place.position), [0, 1, 2]);
    assert!(one.text.expects_change);
}

#[test]
fn reads_a_prd_as_people_write_it() {
    let text = "\u{feff}{\r\n\t\"branchName\": \"ralph/login\",\r\n\t\"project\": \"Shop\",\r\n\t\"title\": \"Login\",\r\n\t\"context\": {\"a\": [1, {}]},\r\n\t\"userStories\": [\r\n\t\t{\r\n\t\t\t\"id\": 7,\r\n\t\t\t\"name\": \"Caf\\u00e9 \\\"log in\\\"\",\r\n\t\t\t\"acceptance_criteria\": \"- it works\\n- it is fast\\n\",\r\n\t\t\t\"category\": \"ui\",\r\n\t\t\t\"priority\": 1,\r\n\t\t\t\"depends_on\": \"3, 4,US-5\",\r\n\t\t\t\"passes\": false,\r\n\t\t\t\"notes\": \"\"\r\n\t\t},\r\n\t\t{\"id\": 3, \"description\": \"  First line\\nand more\", \"depends_on\": null, \"passes\": false, \"key_files\": [\"a.rs\"], \"stop_condition\": \"never\"}\r\n\t]\r\n}";
    let document = read("scripts/ralph/prd.json", text);
    assert_eq!(document.meta.branch_name.as_deref(), Some("ralph/login"));
    assert_eq!(document.meta.title.as_deref(), Some("Login"));
    let [one, two] = &document.tasks[..] else {
        panic!()
    };
    assert_eq!(one.id, id("7"));
    assert_eq!(one.text.title, "Café \"log in\"");
    assert_eq!(one.text.acceptance, ["it works", "it is fast"]);
    assert_eq!(one.area.as_deref(), Some("ui"));
    assert_eq!(one.priority, Some(1));
    assert_eq!(one.links.depends_on, [id("3"), id("4"), id("US-5")]);
    assert_eq!(one.text.notes.as_deref(), Some(""));
    assert_eq!(two.text.title, "First line");
    assert_eq!(
        two.text.description,
        "  First line\nand more\n\nStop condition: never"
    );
    assert!(two.links.depends_on.is_empty());
    assert_eq!(two.text.files, ["a.rs"]);
}

#[test]
fn steps_and_the_like_go_behind_the_description() {
    let text = r#"[{"id": "a", "description": "Do it", "steps": ["open", "press"], "edge_cases": ["none at all"], "requirements": [{"x": 1}, "two"], "passes": false}]"#;
    assert_eq!(
        read("prd.json", text).tasks[0].text.description,
        "Do it\n\nSteps:\n1. open\n2. press\n\nRequirements:\n1. {\"x\": 1}\n2. two\n\nEdge cases: none at all"
    );
}

#[test]
fn finds_the_stories_under_any_of_their_names() {
    let story = r#"[{"id": "a", "title": "t", "passes": true}]"#;
    for text in [
        format!(r#"{{"userStories": {story}}}"#),
        format!(r#"{{"tasks": {story}}}"#),
        format!(r#"{{"stories": {story}}}"#),
        format!(r#"{{"features": {story}, "tasks": "see above"}}"#),
        story.to_owned(),
        format!("  \n{story}\n\n"),
        r#"{"id": "a", "title": "t", "passes": true}"#.to_owned(),
        "userStories:\n- id: a\n  title: t\n  passes: yes\n".to_owned(),
    ] {
        let document = read("x", &text);
        assert_eq!(document.format, Format::Prd, "{text}");
        assert_eq!(document.tasks[0].status, Status::Completed, "{text}");
    }
}

#[test]
fn passes_wins_over_a_status_word_that_disagrees() {
    for (members, status) in [
        (r#""passes": true, "status": "todo""#, Status::Completed),
        (r#""passes": false, "status": "done""#, Status::Open),
        (r#""status": "done""#, Status::Completed),
        (r#""passes": null, "status": "Complete""#, Status::Completed),
        (
            r#""passes": false, "status": "In Progress""#,
            Status::InProgress,
        ),
        (r#""passes": false, "status": "blocked""#, Status::Blocked),
        (r#""passes": false, "status": "not-started""#, Status::Open),
        (
            r#""passes": false, "skipped": true, "status": "blocked""#,
            Status::Skipped,
        ),
        (r#""passes": true, "passes": false"#, Status::Open),
        (r#""pas\u0073es": true"#, Status::Completed),
    ] {
        let text = format!(r#"{{"userStories": [{{"id": "a", {members}}}]}}"#);
        assert_eq!(read("prd.json", &text).tasks[0].status, status, "{members}");
    }
}

#[test]
fn reads_the_tasks_of_an_artefacts_project() {
    let text = r#"{"project_name": "example-project", "version": 1, "tasks": [
    {"id": "T1", "title": "Create CLI skeleton", "description": "Implement base CLI", "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false},
    {"id": "T2", "title": "b", "status": "in_progress", "dependencies": ["T1"], "attempts": 2, "blocked": false},
    {"id": "T3", "title": "c", "status": "pending", "dependencies": [], "blocked": true},
    {"id": "T4", "title": "d", "status": "blocked", "blocked": true, "failed": true},
    {"id": "T5", "title": "e", "status": "blocked", "blocked": true, "skipped": true},
    {"id": "T6", "title": "f", "status": "completed", "blocked": false}]}"#;
    let document = read("tasks.json", text);
    assert_eq!(document.format, Format::Artefacts);
    assert_eq!(document.meta.project.as_deref(), Some("example-project"));
    let statuses: Vec<Status> = document.tasks.iter().map(|task| task.status).collect();
    use Status::{Blocked, Completed, Failed, InProgress, Open, Skipped};
    assert_eq!(
        statuses,
        [Open, InProgress, Blocked, Failed, Skipped, Completed]
    );
    assert_eq!(document.tasks[1].links.depends_on, [id("T1")]);
    assert_eq!(
        (
            document.tasks[1].attempts.made,
            document.tasks[0].attempts.max
        ),
        (Some(2), Some(3))
    );
    for text in [
        r#"[{"id": "a", "status": "pending"}]"#,
        r#"{"tasks": [{"id": "a", "dependencies": []}]}"#,
        r#"{"project_name": "x", "tasks": []}"#,
    ] {
        assert_eq!(read("tasks.json", text).format, Format::Artefacts, "{text}");
    }
}

#[test]
fn reads_a_native_task_with_all_its_fields() {
    let text = r#"# made by hand
id: auth.login
title: Log in
description: |
  Users can log in.

  With a password.
parentId: auth
dependsOn: [auth.store, 12]
status: in_progress
acceptance:
  - "a session: exists"
  - logs out   # twice
verify:
  - cargo test
  - [cargo, test, -p, "two words"]
labels: {area: ui, size: 3}
tags: [later]
priority: 2
attempts: 1
maxAttempts: 5
createdAt: 2026-01-02T03:04:05Z
updated_at: 2026-01-03
files: [src/a.rs]
notes: see wiki
expectsChange: false
unknown: {kept: true}
"#;
    let document = read("login.yaml", text);
    assert_eq!(
        (document.format, document.syntax),
        (Format::Native, Syntax::Yaml)
    );
    let [task] = &document.tasks[..] else {
        panic!()
    };
    assert_eq!(task.id, id("auth.login"));
    assert_eq!(
        task.text.description,
        "Users can log in.\n\nWith a password.\n"
    );
    assert_eq!(task.links.parent_id, Some(id("auth")));
    assert_eq!(task.links.depends_on, [id("auth.store"), id("12")]);
    assert_eq!(task.status, Status::InProgress);
    assert_eq!(task.text.acceptance, ["a session: exists", "logs out"]);
    let argv = ["cargo", "test", "-p", "two words"]
        .map(str::to_owned)
        .to_vec();
    assert_eq!(task.verify, [Shell("cargo test".into()), Argv(argv)]);
    assert_eq!(task.labels, ["area=ui", "size=3", "later"]);
    assert_eq!(task.area.as_deref(), Some("ui"));
    assert_eq!(
        (task.priority, task.attempts.made, task.attempts.max),
        (Some(2), Some(1), Some(5))
    );
    assert_eq!(
        task.created_at,
        Some("2026-01-02T03:04:05Z".parse().unwrap())
    );
    assert_eq!(
        task.updated_at,
        Some("2026-01-03T00:00:00Z".parse().unwrap())
    );
    assert_eq!(task.text.files, ["src/a.rs"]);
    assert_eq!(task.text.notes.as_deref(), Some("see wiki"));
    assert!(!task.text.expects_change);
    assert_eq!(
        line_column(text.as_bytes(), task.place.offset as usize),
        (2, 1)
    );
}

#[test]
fn a_native_file_is_one_task_or_a_list_or_an_object_with_a_list() {
    for (text, syntax) in [
        (r#"{"id": "a", "title": "t"}"#, Syntax::Json),
        (r#"[{"id": "a", "title": "t"}]"#, Syntax::Json),
        (r#"{"tasks": [{"id": "a", "title": "t"}]}"#, Syntax::Json),
        ("{id: a, title: t}", Syntax::Yaml),
        ("- id: a\n  title: t\n", Syntax::Yaml),
        ("tasks:\n  - {id: a, title: t}\n", Syntax::Yaml),
        ("---\nid: a\ntitle: t", Syntax::Yaml),
    ] {
        let document = read("tasks.yaml", text);
        assert_eq!(
            (document.format, document.syntax),
            (Format::Native, syntax),
            "{text}"
        );
        assert_eq!(document.tasks[0].id, id("a"), "{text}");
        assert_eq!(document.tasks[0].text.title, "t", "{text}");
        assert_eq!(document.tasks[0].status, Status::Open, "{text}");
    }
    for nothing in ["", "# all done\n", "[]", "tasks: []\n"] {
        assert!(read("tasks.yaml", nothing).tasks.is_empty(), "{nothing}");
    }
}

#[test]
fn verify_is_one_command_or_several() {
    let argv = Argv(vec!["npm".into(), "test".into()]);
    for (verify, commands) in [
        (r#""make test""#, vec![Shell("make test".into())]),
        (r#"["a", "b"]"#, vec![Shell("a".into()), Shell("b".into())]),
        (r#"[["npm", "test"]]"#, vec![argv.clone()]),
        (r#"["a", ["npm", "test"]]"#, vec![Shell("a".into()), argv]),
        (
            r#"[{"cmd": "make x", "timeout": 300}, {"run": ["npm", "test"]}]"#,
            vec![
                Shell("make x".into()),
                Argv(vec!["npm".into(), "test".into()]),
            ],
        ),
        ("null", vec![]),
        (r#""""#, vec![]),
    ] {
        let text = format!(r#"{{"id": "a", "verify": {verify}}}"#);
        assert_eq!(read("a.json", &text).tasks[0].verify, commands, "{verify}");
    }
}

#[test]
fn files_are_named_in_several_ways() {
    for (files, names) in [
        (r#"["a.rs", "b.rs"]"#, vec!["a.rs", "b.rs"]),
        (
            r#"{"create": ["a.rs"], "modify": ["b.rs", {"path": "c.rs"}]}"#,
            vec!["a.rs", "b.rs", "c.rs"],
        ),
        (
            r#"{"src/a.rs": "add a function", "test": "b.rs"}"#,
            vec!["src/a.rs", "b.rs"],
        ),
        (r#"[{"path": "a.rs", "reason": "because"}]"#, vec!["a.rs"]),
        (r#""a.rs, b.rs""#, vec!["a.rs", "b.rs"]),
    ] {
        let text = format!(r#"{{"id": "a", "files": {files}}}"#);
        assert_eq!(read("a.json", &text).tasks[0].text.files, names, "{files}");
    }
}

#[test]
fn the_area_is_a_field_a_label_or_the_category() {
    for (members, area) in [
        (r#""area": "db", "category": "x""#, Some("db")),
        (r#""labels": ["area=ui"], "category": "x""#, Some("ui")),
        (r#""tags": {"area": "ui"}"#, Some("ui")),
        (r#""labels": "big, area:ui""#, Some("ui")),
        (r#""category": "x""#, Some("x")),
        (r#""labels": ["big"]"#, None),
    ] {
        let text = format!(r#"{{"id": "a", {members}}}"#);
        assert_eq!(
            read("a.json", &text).tasks[0].area.as_deref(),
            area,
            "{members}"
        );
    }
}

#[test]
fn yaml_anchors_and_merge_keys_are_followed() {
    let text = "base: &base\n  priority: 3\n  verify: make\ntasks:\n  - id: a\n    <<: *base\n    verify: &v [one]\n  - id: b\n    verify: *v\n";
    let tasks = read("t.yaml", text).tasks;
    assert_eq!(tasks[0].priority, Some(3));
    assert_eq!(tasks[0].verify, [Shell("one".into())]);
    assert_eq!(tasks[1].verify, [Shell("one".into())]);
}

#[test]
fn priorities_may_be_words() {
    for (priority, level) in [
        ("3", 3),
        ("\"2\"", 2),
        ("1.0", 1),
        ("\"high\"", 1),
        ("\"P0\"", 0),
    ] {
        let text = format!(r#"{{"id": "a", "priority": {priority}}}"#);
        assert_eq!(
            read("a.json", &text).tasks[0].priority,
            Some(level),
            "{priority}"
        );
    }
}
