//! Tests what an agent wrote into the task file is undone where it is not the agent's to write.

use super::id;
use crate::task::Status;
use crate::task::format::{Tampering, UndoneTampering, undo_tampering};

const BEFORE: &str = r#"{
  "branchName": "ralph/x",
  "userStories": [
    {"id": "a", "title": "A", "acceptance": ["one"], "passes": false, "notes": ""},
    {"id": "b", "title": "B", "attempts": 1, "passes": false}
  ]
}
"#;

fn run(after: &str) -> (String, Vec<Tampering>) {
    let UndoneTampering { bytes, tampering } =
        undo_tampering("prd.json", BEFORE.as_bytes(), after.as_bytes(), &id("a"));
    (String::from_utf8(bytes).unwrap(), tampering)
}

fn claim(task: &str, was: Option<Status>, claimed: Status) -> Tampering {
    Tampering::Status {
        task: id(task),
        was,
        claimed,
    }
}

fn rewritten(task: &str, field: &'static str) -> Vec<Tampering> {
    vec![Tampering::Rewritten {
        task: id(task),
        field,
    }]
}

#[test]
fn an_untouched_file_and_honest_notes_stay() {
    assert_eq!(run(BEFORE), (BEFORE.to_owned(), vec![]));
    let noted = BEFORE.replace(r#""notes": """#, r#""notes": "found it", "seen": [1]"#);
    assert_eq!(run(&noted), (noted, vec![]));
}

#[test]
fn claims_are_taken_back_and_the_rest_stays() {
    let after = BEFORE.replace(
        r#""passes": false, "notes": """#,
        r#""passes": true, "notes": "done""#,
    );
    let after = after.replace(
        r#""attempts": 1, "passes": false}"#,
        r#""attempts": 0, "skipped": true, "passes": false}, {"id": "c", "title": "C", "passes": true}"#,
    );
    let expected = BEFORE.replace(r#""notes": """#, r#""notes": "done""#).replace(
        r#""attempts": 1, "passes": false}"#,
        r#""attempts": 1, "skipped": false, "passes": false}, {"id": "c", "title": "C", "passes": false}"#,
    );
    let (text, tampering) = run(&after);
    assert_eq!(text, expected);
    assert_eq!(
        tampering,
        [
            claim("a", Some(Status::Open), Status::Completed),
            claim("b", Some(Status::Open), Status::Skipped),
            Tampering::Attempts {
                task: id("b"),
                was: Some(1),
                claimed: Some(0)
            },
            claim("c", None, Status::Completed),
        ]
    );
}

#[test]
fn a_task_that_was_completed_stays_completed() {
    let before = BEFORE.replace(
        r#""attempts": 1, "passes": false"#,
        r#""attempts": 1, "passes": true"#,
    );
    let back = undo_tampering("prd.json", before.as_bytes(), BEFORE.as_bytes(), &id("a"));
    assert_eq!(String::from_utf8(back.bytes).unwrap(), before);
    assert_eq!(
        back.tampering,
        [claim("b", Some(Status::Completed), Status::Open)]
    );
}

#[test]
fn a_broken_file_is_back_as_it_was() {
    let (text, tampering) = run("{\"userStories\": [");
    assert_eq!(text, BEFORE);
    let message = "prd.json:1:18: expected a value, found the end of the file".to_owned();
    assert_eq!(tampering, [Tampering::Unreadable { message }]);
    assert_eq!(run("").0, BEFORE);
    assert_eq!(run(&BEFORE.replace("\"b\"", "\"a\"")).0, BEFORE);
}

#[test]
fn what_a_task_asks_for_is_back_as_it_was_with_the_notes_kept() {
    let noted = BEFORE.replace(r#""notes": """#, r#""notes": "easier now""#);
    for (old, new, task, field) in [
        (r#"["one"]"#, r#"[]"#, "a", "acceptance"),
        (r#""title": "A""#, r#""title": "Z""#, "a", "title"),
        (
            r#""title": "B""#,
            r#""title": "B", "verify": "true""#,
            "b",
            "verify",
        ),
        (
            r#""title": "B""#,
            r#""title": "B", "steps": ["rest"]"#,
            "b",
            "description",
        ),
        (
            r#""title": "B""#,
            r#""title": "B", "priority": 0"#,
            "b",
            "priority",
        ),
        (
            r#""title": "B""#,
            r#""title": "B", "dependsOn": ["a"]"#,
            "b",
            "dependsOn",
        ),
        (
            r#""title": "B""#,
            r#""title": "B", "maxAttempts": 99"#,
            "b",
            "maxAttempts",
        ),
        (
            r#""title": "A""#,
            r#""title": "A", "expectsChange": false"#,
            "a",
            "expectsChange",
        ),
        (
            r#""title": "A""#,
            r#""title": "A", "attempts": 0"#,
            "a",
            "attempts",
        ),
        (r#""id": "b""#, r#""id": "b2""#, "b", "id"),
    ] {
        let after = noted.replace(old, new);
        let (text, tampering) = run(&after);
        assert_eq!(tampering, rewritten(task, field), "{new}");
        assert_eq!(text, noted, "{new}");
    }
    let (text, tampering) = run(&noted.replace("ralph/x", "main"));
    assert_eq!(text, noted);
    assert_eq!(
        tampering,
        [Tampering::Header {
            field: "branchName"
        }]
    );
}

#[test]
fn a_change_of_format_does_not_smuggle_a_status_in() {
    let before = "- id: a\n  title: A\n  status: open\n- id: b\n  title: B\n  status: failed\n";
    let after = "- id: a\n  title: A\n  status: open\n  passes: true\n- id: b\n  title: B\n  status: pending\n- id: c\n  status: pending\n";
    let back = undo_tampering("t.yaml", before.as_bytes(), after.as_bytes(), &id("a"));
    assert_eq!(
        back.tampering,
        [
            claim("a", Some(Status::Open), Status::Completed),
            claim("b", Some(Status::Failed), Status::Open)
        ]
    );
    assert_eq!(
        String::from_utf8(back.bytes).unwrap(),
        "- id: a\n  title: A\n  status: open\n  passes: false\n- id: b\n  title: B\n  status: failed\n- id: c\n  status: pending\n"
    );
}
