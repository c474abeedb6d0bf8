//! A new task looks like the tasks that are there.

use super::{id, read};
use crate::task::VerifyCommand::{Argv, Shell};
use crate::task::format::{NewTask, append, render_new};

fn new_task() -> NewTask {
    NewTask {
        id: id("9"),
        title: "New: one".into(),
        description: "Line one\nLine two".into(),
        acceptance: vec!["works".into()],
        verify: vec![
            Shell("make test".into()),
            Argv(vec!["npm".into(), "t".into()]),
        ],
        depends_on: vec![id("1")],
        labels: vec![],
        priority: Some(4),
    }
}

fn small_task() -> NewTask {
    NewTask {
        acceptance: vec![],
        verify: vec![],
        depends_on: vec![],
        priority: None,
        description: "d".into(),
        ..new_task()
    }
}

fn added(file: &str, text: &str, task: &NewTask) -> String {
    let bytes = append(file, text.as_bytes(), task).unwrap_or_else(|e| panic!("{e}\n{text}"));
    String::from_utf8(bytes).unwrap()
}

#[test]
fn takes_the_names_the_order_and_the_indentation_of_its_siblings() {
    let text = "{\n    \"userStories\": [\n        {\n            \"id\": 1,\n            \"name\": \"One\",\n            \"priority\": 1,\n            \"passes\": true,\n            \"acceptance_criteria\": [\n                \"x\"\n            ],\n            \"description\": \"d\",\n            \"depends_on\": null,\n            \"extra\": 1,\n            \"notes\": \"hm\"\n        }\n    ]\n}\n";
    assert_eq!(
        added("prd.json", text, &new_task()),
        text.replace(
            "        }\n    ]",
            "        },\n        {\n            \"id\": 9,\n            \"name\": \"New: one\",\n            \"priority\": 4,\n            \"passes\": false,\n            \"acceptance_criteria\": [\n                \"works\"\n            ],\n            \"description\": \"Line one\\nLine two\",\n            \"depends_on\": \"1\",\n            \"notes\": \"\",\n            \"verify\": [\n                \"make test\",\n                [\"npm\", \"t\"]\n            ]\n        }\n    ]"
        )
    );
}

#[test]
fn an_artefacts_task_gets_what_the_others_have() {
    let text = r#"{"project_name": "x", "tasks": [{"id": "1", "title": "a", "description": "b", "status": "completed", "dependencies": [], "attempts": 2, "max_attempts": 3, "blocked": false}]}"#;
    assert_eq!(
        added("tasks.json", text, &small_task()),
        text.replace(
            "}]}",
            r#"}, {"id": "9", "title": "New: one", "description": "d", "status": "pending", "dependencies": [], "attempts": 0, "max_attempts": 3, "blocked": false}]}"#
        )
    );
}

#[test]
fn an_empty_list_gets_its_first_task() {
    assert_eq!(
        added("a.json", "{\r\n\t\"userStories\": []\r\n}", &small_task()),
        "{\r\n\t\"userStories\": [\r\n\t\t{\r\n\t\t\t\"id\": \"9\",\r\n\t\t\t\"title\": \"New: one\",\r\n\t\t\t\"description\": \"d\",\r\n\t\t\t\"passes\": false\r\n\t\t}\r\n\t]\r\n}"
    );
    assert_eq!(
        added("a.json", "[]", &small_task()),
        r#"[{"id": "9", "title": "New: one", "description": "d", "status": "open"}]"#
    );
    let lines = "id: \"9\"\n  title: \"New: one\"\n  description: d\n  status: open\n";
    assert_eq!(
        added("a.yaml", "# none yet", &small_task()),
        format!("# none yet\n- {lines}")
    );
    assert_eq!(
        added("a.yaml", "tasks: []\nx: 1\n", &small_task()),
        "tasks:\n  - id: \"9\"\n    title: \"New: one\"\n    description: d\n    status: open\nx: 1\n"
    );
}

#[test]
fn a_yaml_list_goes_on_in_its_style() {
    let text = "tasks:\n  - id: \"1\"\n    title: a\n    acceptance: [x]\n    status: completed # yes\n\n# the end\n";
    assert_eq!(
        added("t.yaml", text, &new_task()),
        "tasks:\n  - id: \"1\"\n    title: a\n    acceptance: [x]\n    status: completed # yes\n  - id: \"9\"\n    title: \"New: one\"\n    acceptance:\n      - works\n    status: open\n    description: |-\n      Line one\n      Line two\n    priority: 4\n    dependsOn:\n      - \"1\"\n    verify:\n      - make test\n      - [npm, t]\n\n# the end\n"
    );
    assert_eq!(
        added("t.yaml", "- {id: a, title: t}", &small_task()),
        "- {id: a, title: t}\n- {id: \"9\", title: \"New: one\", description: \"d\"}"
    );
}

#[test]
fn a_file_of_one_task_or_with_the_same_id_takes_no_other() {
    let refused = |text: &str| {
        append("t.json", text.as_bytes(), &new_task())
            .unwrap_err()
            .to_string()
    };
    insta::assert_snapshot!(refused(r#"{"id": "1"}"#), @"t.json: task 9: can't be added to a file that holds one task; put it into a file of its own");
    insta::assert_snapshot!(refused(r#"[{"id": 9}]"#), @"t.json: task 9: expected an id of its own, found one that is taken");
}

#[test]
fn a_file_of_its_own_reads_back() {
    let text = render_new(&NewTask {
        labels: vec!["area=ui".into()],
        ..new_task()
    });
    insta::assert_snapshot!(text, @r#"
    id: "9"
    title: "New: one"
    description: |-
      Line one
      Line two
    status: open
    priority: 4
    dependsOn:
      - "1"
    acceptance:
      - works
    verify:
      - make test
      - [npm, t]
    labels:
      - "area=ui"
    "#);
    let task = &read("9.yaml", &text).tasks[0];
    assert_eq!(task.text.description, "Line one\nLine two");
    assert_eq!(task.verify, new_task().verify);
    assert_eq!(task.area.as_deref(), Some("ui"));
}
