//! A change to a JSON file touches the bytes of what changed, and nothing else.

use super::{change, diff, edit, read, set};
use crate::task::Status;
use crate::task::format::{Change, apply, splices_at};

const PRD: &str = r#"{
  "project": "p",
  "userStories": [
    {
      "id": "US-001",
      "title": "One",
      "acceptanceCriteria": [
        "a",
        "b"
      ],
      "priority": 1,
      "passes": false,
      "notes": ""
    },
    {
      "id": 2,
      "title": "Two",
      "custom": {"z": 1,   "a": [ ]},
      "passes": false
    }
  ]
}
"#;

#[test]
fn a_completion_changes_one_line() {
    let done = set("prd.json", PRD, "US-001", Status::Completed);
    assert_eq!(
        diff(PRD, &done),
        (
            vec![r#"      "passes": false,"#],
            vec![r#"      "passes": true,"#]
        )
    );
    let back = set("prd.json", &done, "US-001", Status::Open);
    assert_eq!(back, PRD);
}

#[test]
fn a_task_at_a_known_place_is_changed_without_a_look_at_the_rest() {
    let read = read("prd.json", PRD);
    let mut bytes = PRD.as_bytes().to_vec();
    let offset = read.tasks[0].place.offset as usize;
    let done = [edit("US-001", Change::Status(Status::Completed))];
    let splices = splices_at(&bytes, read.format, offset, &done).unwrap();
    assert_eq!(splices.len(), 1);
    splices[0].perform(&mut bytes).unwrap();
    let next = read.tasks[1].place.offset as usize;
    assert_eq!(splices[0].moved(next), next - 1, "`true` is shorter");
    let expected = PRD.replacen("\"passes\": false", "\"passes\": true", 1);
    assert_eq!(String::from_utf8(bytes).unwrap(), expected);
    // Where another task stands, or none, nothing is found.
    assert_eq!(splices_at(PRD.as_bytes(), read.format, next, &done), None);
    assert_eq!(
        splices_at(PRD.as_bytes(), read.format, offset + 1, &done),
        None
    );
    assert_eq!(
        splices_at(PRD.as_bytes(), read.format, PRD.len() + 1, &done),
        None
    );
}

#[test]
fn words_of_the_rest_are_looked_at_only_where_they_are_not_the_formats_own() {
    let place = |text: &str| {
        let read = read("tasks.json", text);
        let offset = read.tasks[0].place.offset as usize;
        let done = [edit("a", Change::Status(Status::Completed))];
        let splices = splices_at(text.as_bytes(), read.format, offset, &done);
        let mut bytes = text.as_bytes().to_vec();
        splices?[0].perform(&mut bytes)?;
        assert_eq!(apply("tasks.json", text.as_bytes(), &done).unwrap(), bytes);
        Some(())
    };
    let own = r#"[{"id": "a", "status": "open"}, {"id": "b", "status": "blocked"}]"#;
    assert!(place(own).is_some());
    assert!(place(&own.replace("blocked", "done")).is_none());
    assert!(place(&own.replace("blocked", "d\\u006fne")).is_none());
    assert!(place(&own.replace("b\", \"status", "b\", \"st\\u0061tus")).is_none());
}

#[test]
fn a_change_to_what_is_already_so_changes_nothing() {
    assert_eq!(set("prd.json", PRD, "US-001", Status::Open), PRD);
    assert_eq!(
        apply("prd.json", PRD.as_bytes(), &[]).unwrap(),
        PRD.as_bytes()
    );
}

#[test]
fn a_missing_field_becomes_one_line_beside_passes() {
    let blocked = set("prd.json", PRD, "US-001", Status::Blocked);
    assert_eq!(
        diff(PRD, &blocked),
        (vec![], vec![r#"      "status": "blocked","#])
    );
    assert!(
        blocked.contains("\"passes\": false,\n      \"status\": \"blocked\",\n      \"notes\"")
    );
    // At the end it goes before, so that no other line needs a comma.
    let skipped = set("prd.json", PRD, "2", Status::Skipped);
    assert_eq!(
        diff(PRD, &skipped),
        (vec![], vec![r#"      "skipped": true,"#])
    );
}

#[test]
fn line_breaks_tabs_marks_and_the_missing_final_newline_stay() {
    let text = "\u{feff}{\r\n\t\"userStories\" : [\r\n\t\t{\r\n\t\t\t\"id\" : \"é\",\r\n\t\t\t\"passes\" : false\r\n\t\t}\r\n\t]\r\n}";
    assert_eq!(
        set("prd.json", text, "é", Status::Completed),
        "\u{feff}{\r\n\t\"userStories\" : [\r\n\t\t{\r\n\t\t\t\"id\" : \"é\",\r\n\t\t\t\"passes\" : true\r\n\t\t}\r\n\t]\r\n}"
    );
    assert_eq!(
        set("prd.json", text, "é", Status::Failed),
        "\u{feff}{\r\n\t\"userStories\" : [\r\n\t\t{\r\n\t\t\t\"id\" : \"é\",\r\n\t\t\t\"status\" : \"failed\",\r\n\t\t\t\"passes\" : false\r\n\t\t}\r\n\t]\r\n}"
    );
}

#[test]
fn objects_on_one_line_stay_on_one_line() {
    for (text, failed) in [
        (
            r#"[{"id": "a", "passes": false}]"#,
            r#"[{"id": "a", "status": "failed", "passes": false}]"#,
        ),
        (
            r#"[{"passes":false,"id":"a"}]"#,
            r#"[{"passes":false,"status":"failed","id":"a"}]"#,
        ),
        (
            r#"{ "tasks" : [ { "id" : "a" } ] }"#,
            r#"{ "tasks" : [ { "id" : "a", "status" : "failed" } ] }"#,
        ),
        (
            "{\n  \"id\": \"a\"\n}\n",
            "{\n  \"id\": \"a\",\n  \"status\": \"failed\"\n}\n",
        ),
    ] {
        assert_eq!(set("a.json", text, "a", Status::Failed), failed);
    }
}

#[test]
fn the_last_of_two_equal_keys_is_the_one_that_counts() {
    let text = r#"[{"id": "a", "passes": true, "passes": false}]"#;
    let done = r#"[{"id": "a", "passes": true, "passes": true}]"#;
    assert_eq!(set("a.json", text, "a", Status::Completed), done);
}

#[test]
fn a_status_word_keeps_in_step_in_the_words_of_the_file() {
    for (words, to, members) in [
        (
            ("todo", "done"),
            Status::Completed,
            r#""status": "done", "passes": true"#,
        ),
        (
            ("todo", "doing"),
            Status::Completed,
            r#""status": "done", "passes": true"#,
        ),
        // An unknown word says nothing.
        (
            ("pending", "x-y"),
            Status::Completed,
            r#""status": "completed", "passes": true"#,
        ),
        (
            ("pending", "in-review"),
            Status::InProgress,
            r#""status": "in-review", "passes": false"#,
        ),
        (
            ("Not Started", "Complete"),
            Status::InProgress,
            r#""status": "In progress", "passes": false"#,
        ),
        (
            ("TODO", "DONE"),
            Status::Blocked,
            r#""status": "BLOCKED", "passes": false"#,
        ),
        (
            ("incomplete", "incomplete"),
            Status::Completed,
            r#""status": "complete", "passes": true"#,
        ),
    ] {
        let (mine, other) = words;
        let story = |id: &str, members: &str| format!(r#"{{"id": "{id}", {members}}}"#);
        let b = story("b", &format!(r#""status": "{other}", "passes": false"#));
        let a = story("a", &format!(r#""status": "{mine}", "passes": false"#));
        let text = format!("[{a}, {b}]");
        let expected = format!("[{}, {b}]", story("a", members));
        assert_eq!(set("p.json", &text, "a", to), expected);
    }
}

#[test]
fn an_artefacts_file_keeps_to_its_four_words() {
    let text = r#"{"project_name": "x", "tasks": [{"id": "T1", "status": "pending", "dependencies": [], "attempts": 0, "blocked": false}]}"#;
    let with = |status: &str, blocked: &str, flag: &str| {
        format!(
            r#"{{"project_name": "x", "tasks": [{{"id": "T1", "status": "{status}",{flag} "dependencies": [], "attempts": 0, "blocked": {blocked}}}]}}"#
        )
    };
    for (status, expected) in [
        (Status::InProgress, with("in_progress", "false", "")),
        (Status::Completed, with("completed", "false", "")),
        (Status::Blocked, with("blocked", "true", "")),
        (
            Status::Failed,
            with("blocked", "true", r#" "failed": true,"#),
        ),
        (
            Status::Skipped,
            with("blocked", "true", r#" "skipped": true,"#),
        ),
    ] {
        let changed = set("tasks.json", text, "T1", status);
        assert_eq!(changed, expected);
        assert_eq!(read("tasks.json", &changed).tasks[0].status, status);
    }
    let failed = with("blocked", "true", r#" "failed": true,"#);
    let open = with("pending", "false", r#" "failed": false,"#);
    assert_eq!(set("tasks.json", &failed, "T1", Status::Open), open);
}

#[test]
fn several_edits_are_made_at_once_and_the_last_of_a_kind_wins() {
    let edits = [
        edit("2", Change::Status(Status::Failed)),
        edit("US-001", Change::Attempts(3)),
        edit(
            "US-001",
            Change::Notes("tab\there \"so\"\nnext \u{1}é".into()),
        ),
        edit("2", Change::Status(Status::Completed)),
    ];
    let bytes = apply("prd.json", PRD.as_bytes(), &edits).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let expected = PRD
        .replace(
            "      \"passes\": false,\n      \"notes\": \"\"\n",
            "      \"passes\": false,\n      \"attempts\": 3,\n      \"notes\": \"tab\\there \\\"so\\\"\\nnext \\u0001é\"\n",
        )
        .replace("\"passes\": false\n", "\"passes\": true\n");
    assert_eq!(text, expected);
}

#[test]
fn acceptance_is_written_as_the_list_was() {
    let items =
        |items: &[&str]| Change::Acceptance(items.iter().map(|s| (*s).to_owned()).collect());
    let text = change("prd.json", PRD, "US-001", items(&["a", "c"]));
    assert_eq!(
        diff(PRD, &text),
        (vec![r#"        "b""#], vec![r#"        "c""#])
    );
    let text = change("prd.json", PRD, "2", items(&["x"]));
    assert_eq!(
        diff(PRD, &text),
        (
            vec![],
            vec![
                r#"      "acceptanceCriteria": ["#,
                r#"        "x""#,
                r#"      ],"#
            ]
        )
    );
    let one = r#"[{"id": "a", "criteria": "x\ny", "acceptance": ["z"]}]"#;
    let text = change("a.json", one, "a", items(&["q", "r"]));
    assert_eq!(
        text,
        r#"[{"id": "a", "criteria": [], "acceptance": ["q", "r"]}]"#
    );
}
