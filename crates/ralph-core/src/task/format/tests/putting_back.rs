//! Tests what an agent wrote into the task file is undone where it is not the agent's to write.

use super::id;
use crate::task::Status;
use crate::task::format::{Tampering, UndoneTampering, added_tasks, undo_tampering};

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

fn claim(task: &str, was: Status, claimed: Status) -> Tampering {
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
        r#""attempts": 0, "skipped": true, "passes": false}"#,
    );
    let expected = BEFORE
        .replace(r#""notes": """#, r#""notes": "done""#)
        .replace(
            r#""attempts": 1, "passes": false}"#,
            r#""attempts": 1, "skipped": false, "passes": false}"#,
        );
    let (text, tampering) = run(&after);
    assert_eq!(text, expected);
    assert_eq!(
        tampering,
        [
            claim("a", Status::Open, Status::Completed),
            claim("b", Status::Open, Status::Skipped),
            Tampering::Attempts {
                task: id("b"),
                was: Some(1),
                claimed: Some(0)
            },
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
        [claim("b", Status::Completed, Status::Open)]
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
        let mut expected = rewritten(task, field);
        if field == "id" {
            expected.push(Tampering::Added { task: id("b2") });
        }
        assert_eq!(tampering, expected, "{new}");
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
    let after = "- id: a\n  title: A\n  status: open\n  passes: true\n- id: b\n  title: B\n  status: pending\n";
    let back = undo_tampering("t.yaml", before.as_bytes(), after.as_bytes(), &id("a"));
    assert_eq!(
        back.tampering,
        [
            claim("a", Status::Open, Status::Completed),
            claim("b", Status::Failed, Status::Open)
        ]
    );
    assert_eq!(
        String::from_utf8(back.bytes).unwrap(),
        "- id: a\n  title: A\n  status: open\n  passes: false\n- id: b\n  title: B\n  status: failed\n"
    );
}

#[test]
fn a_task_that_was_added_is_taken_out_and_given_back() {
    let noted = BEFORE.replace(r#""notes": """#, r#""notes": "seen""#);
    let with = |more: &str| {
        noted.replace(
            "\"passes\": false}\n",
            &format!("\"passes\": false}}, {more}\n"),
        )
    };
    let c =
        r#"{"id": "c", "title": "C", "passes": true, "dependsOn": ["nowhere"], "parentId": "b"}"#;
    for (more, ids, unreadable) in [
        (c, vec!["c"], false),
        (
            r#"{"id": "b", "title": "Other", "passes": false}"#,
            vec!["b"],
            true,
        ),
        (
            r#"{"id": "c", "title": "C"}, {"id": "c", "title": "C2"}"#,
            vec!["c", "c"],
            true,
        ),
        (r#"{"id": "a/../b", "title": "C"}"#, vec![], true),
        (r#"{"id": ["x"], "title": "C"}"#, vec![], true),
    ] {
        let after = with(more);
        assert_ne!(after, noted);
        let back = undo_tampering("prd.json", BEFORE.as_bytes(), after.as_bytes(), &id("a"));
        let expected = if unreadable { BEFORE } else { &noted };
        assert_eq!(String::from_utf8(back.bytes).unwrap(), expected, "{more}");
        let added = added_tasks("prd.json", BEFORE.as_bytes(), after.as_bytes());
        let added: Vec<&str> = added.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(added, ids, "{more}");
        let said = back
            .tampering
            .iter()
            .filter(|one| matches!(one, Tampering::Added { .. }));
        assert_eq!(said.count(), ids.len(), "{more}");
    }
    let swapped = BEFORE.replace(
        r#"    {"id": "b", "title": "B""#,
        r#"    {"id": "b", "title": "Mine"}, {"id": "b", "title": "B""#,
    );
    let added = added_tasks("prd.json", BEFORE.as_bytes(), swapped.as_bytes());
    assert_eq!(added.len(), 1);
    assert_eq!(added[0].text.title, "Mine");
}
