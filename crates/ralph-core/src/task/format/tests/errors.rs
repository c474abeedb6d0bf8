//! Tests what a broken file is answered with: line, column, task and what was expected.

use super::{error, id, read};
use crate::task::Status;
use crate::task::format::{Change, Edit, WarningKind, apply, parse};

#[test]
fn a_missing_comma_is_found_where_it_is_missing() {
    let text = "{\n  \"userStories\": [\n    {\n      \"id\": \"US-003\",\n      \"passes\": false\n      \"notes\": \"\"\n    }\n  ]\n}";
    insta::assert_snapshot!(error("prd.json", text), @r#"prd.json:6:7: task US-003: expected `,` or `}` after the value, found a text"#);
}

#[test]
fn syntax_errors_say_what_was_expected() {
    insta::assert_snapshot!(error("a.json", ""), @"a.json:1:1: expected a value, found the end of the file");
    insta::assert_snapshot!(error("a.json", "# hello"), @"a.json:1:1: expected a value, found `#`");
    insta::assert_snapshot!(error("a.json", "{\"id\": 1,}"), @"a.json:1:10: task 1: expected another element after `,` (JSON allows no comma at the end), found `}`");
    insta::assert_snapshot!(error("a.json", "{\"id\": 1, 'x': 2}"), @r"a.json:1:11: task 1: expected a name in double quotes, found `\'`");
    insta::assert_snapshot!(error("a.json", "{\"id\": 1, \"x\" 2}"), @"a.json:1:15: task 1: expected `:`, found `2`");
    insta::assert_snapshot!(error("a.json", "[{\"id\": truth}]"), @"a.json:1:9: expected a value, found `truth`");
    insta::assert_snapshot!(error("a.json", "[1"), @"a.json:1:3: expected `,` or `]` after the value, found the end of the file");
    insta::assert_snapshot!(error("a.json", "[\"\u{e9}\", \"a\nb\"]"), @r"a.json:1:9: expected the text to end on its line (a line break within it is written \n), found a control character");
    insta::assert_snapshot!(error("a.json", "[\"a"), @r#"a.json:1:2: expected a closing `"`, found none"#);
    insta::assert_snapshot!(error("a.json", r#"["\q"]"#), @r"a.json:1:3: expected an escape that JSON knows after `\`");
    insta::assert_snapshot!(error("a.json", r#"["\ud800"]"#), @r"a.json:1:2: expected a text with valid \u escapes");
    insta::assert_snapshot!(error("a.json", "[01]"), @"a.json:1:3: expected the number to end, found `1`");
    insta::assert_snapshot!(error("a.json", "[] x"), @"a.json:1:4: expected the end of the file, found `x`");
    insta::assert_snapshot!(error("t.yaml", "- id: a\n  title: [x\n- id: b\n"), @"t.yaml:3:5: task a: expected YAML: illegal placement of ':' indicator");
    insta::assert_snapshot!(error("t.yaml", "id: a\n---\nid: b\n"), @"t.yaml:2:1: expected one document in the file, found a second (write the tasks as a list)");
}

#[test]
fn wrong_types_are_named_with_what_is_there() {
    let task = |members: &str| error("a.json", &format!("[\n  {{\"id\": \"a\", {members}}}\n]"));
    insta::assert_snapshot!(task(r#""title": 5"#), @"a.json:2:24: task a: expected a text as title, found the number 5");
    insta::assert_snapshot!(task(r#""acceptance": {"x": 1}"#), @"a.json:2:29: task a: expected acceptance criteria (a list, or one text), found an object");
    insta::assert_snapshot!(task(r#""criteria": ["x", 3]"#), @"a.json:2:33: task a: expected a text in the list, found the number 3");
    insta::assert_snapshot!(task(r#""dependsOn": true"#), @"a.json:2:28: task a: expected task ids (a list, or one text with commas), found true");
    insta::assert_snapshot!(task(r#""dependsOn": ["a/b"]"#), @r#"a.json:2:29: task a: expected an id, found "a/b": a task id can't contain '/'"#);
    insta::assert_snapshot!(task(r#""attempts": -1"#), @"a.json:2:27: task a: expected a count (0, 1, 2, …), found the number -1");
    insta::assert_snapshot!(task(r#""verify": [[]]"#), @"a.json:2:26: task a: expected a command, found an empty list");
    insta::assert_snapshot!(task(r#""verify": {}"#), @"a.json:2:25: task a: expected a command (a text, or a list of arguments), found an object");
    insta::assert_snapshot!(task(r#""createdAt": "yesterday""#), @r#"a.json:2:28: task a: expected a time such as 2026-01-31T12:00:00Z, found the text "yesterday""#);
    insta::assert_snapshot!(task(r#""status": 1"#), @"a.json:2:25: task a: expected a status word, found the number 1");
    insta::assert_snapshot!(error("a.yaml", "tasks: soon\n"), @r#"a.yaml:1:8: expected a list of tasks, found the text "soon""#);
    insta::assert_snapshot!(error("a.yaml", "just words\n"), @r#"a.yaml:1:1: expected a list of tasks, or an object, found the text "just words""#);
    insta::assert_snapshot!(error("a.json", r#"["x"]"#), @r#"a.json:1:2: expected a task (an object with an `id`), found the text "x""#);
    insta::assert_snapshot!(error("package.json", r#"{"name": "x"}"#), @"package.json:1:1: expected a list of tasks under `tasks` or `userStories`, or one task with an `id`, found neither");
}

#[test]
fn ids_must_be_there_be_safe_and_be_unique() {
    insta::assert_snapshot!(error("a.json", r#"[{"title": "Do this"}]"#), @r#"a.json:1:2: expected an `id` for the task "Do this", found none"#);
    insta::assert_snapshot!(error("a.json", r#"[{"id": null}]"#), @"a.json:1:2: expected an `id`, found none");
    insta::assert_snapshot!(error("a.json", r#"[{"id": ""}]"#), @r#"a.json:1:9: expected an id, found "": a task id can't be empty"#);
    insta::assert_snapshot!(error("a.json", r#"[{"id": "../x"}]"#), @r#"a.json:1:9: expected an id, found "../x": a task id can't start with '.'"#);
    insta::assert_snapshot!(error("a.json", r#"[{"id": [1]}]"#), @"a.json:1:9: expected a text or a number as id, found a list");
    insta::assert_snapshot!(error("a.yaml", "- id: a\n- id: b\n- id: a\n"), @"a.yaml:3:3: task a: expected an id of its own, found one that the task on line 1 has");
    insta::assert_snapshot!(error("a.json", "[{\"id\": 1},\n{\"id\": \"1\"}]"), @"a.json:2:1: task 1: expected an id of its own, found one that the task on line 1 has");
}

#[test]
fn an_unknown_status_word_counts_as_open_with_a_warning_and_a_guess() {
    let status = |root: &str, word: &str| {
        let text = root.replace("{}", &format!(r#"[{{"id": "a", "status": "{word}"}}]"#));
        let document = read("a.json", &text);
        assert_eq!(document.tasks[0].status, Status::Open);
        let [warning] = &document.warnings[..] else {
            panic!("{:?}", document.warnings)
        };
        assert_eq!(warning.kind, WarningKind::UnknownStatus);
        assert_eq!(warning.task, Some(id("a")));
        let column = warning.place.offset + 1;
        format!("{column}: {}", warning.message)
    };
    insta::assert_snapshot!(status(r#"{"userStories": {}}"#, "complted"), @r#"40: expected a status (open, in_progress, completed, blocked, failed, skipped), found "complted", which counts as open; did you mean "completed"?"#);
    insta::assert_snapshot!(status(r#"{"project_name": "x", "tasks": {}}"#, "pendin"), @r#"55: expected a status (pending, in_progress, completed, blocked), found "pendin", which counts as open; did you mean "pending"?"#);
    insta::assert_snapshot!(status("{}", "purple"), @r#"24: expected a status (open, in_progress, completed, blocked, failed, skipped), found "purple", which counts as open"#);
}

#[test]
fn words_of_other_tools_are_understood_in_every_format() {
    for root in [
        r#"{"userStories": {}}"#,
        r#"{"project_name": "x", "tasks": {}}"#,
        "{}",
    ] {
        let text = root.replace(
            "{}",
            r#"[{"id": "a", "status": "done"}, {"id": "b", "status": "in-progress"}]"#,
        );
        let document = read("a.json", &text);
        let statuses: Vec<Status> = document.tasks.iter().map(|task| task.status).collect();
        assert_eq!(statuses, [Status::Completed, Status::InProgress], "{text}");
        assert!(document.warnings.is_empty(), "{text}");
    }
}

#[test]
fn text_in_another_encoding_is_refused() {
    let message = |bytes: &[u8]| parse("a.json", 0, bytes).unwrap_err().to_string();
    insta::assert_snapshot!(message(b"\xff\xfe[\0]\0"), @"a.json:1:1: expected text in UTF-8, found UTF-16");
    insta::assert_snapshot!(message(b"[\"caf\xe9\"]"), @"a.json:1:6: expected text in UTF-8, found other bytes");
}

#[test]
fn nesting_without_end_is_an_error_and_no_crash() {
    let deep = "[".repeat(200_000);
    insta::assert_snapshot!(error("a.json", &deep), @"a.json:1:128: expected at most 127 levels of nesting, found more");
    assert!(parse("a.yaml", 0, deep.as_bytes()).is_err());
    assert!(parse("a.yaml", 0, "- ".repeat(200_000).as_bytes()).is_err());
    let objects = "{\"a\":".repeat(100_000);
    assert!(parse("a.json", 0, objects.as_bytes()).is_err());
}

#[test]
fn aliases_can_not_blow_a_file_up() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for i in 1..9 {
        let last = i - 1;
        let items = vec![format!("*a{last}"); 10].join(", ");
        text.push_str(&format!("a{i}: &a{i} [{items}]\n"));
    }
    text.push_str("tasks: []\n");
    insta::assert_snapshot!(error("a.yaml", &text), @"a.yaml:5:45: expected fewer aliases, found too many");
}

#[test]
fn a_broken_file_is_never_changed() {
    let edit = |task: &str| {
        [Edit {
            task: id(task),
            change: Change::Status(Status::Completed),
        }]
    };
    let failed = apply("a.json", b"[{\"id\": \"a\" \"x\"}]", &edit("a")).unwrap_err();
    insta::assert_snapshot!(failed, @"a.json:1:13: task a: expected `,` or `}` after the value, found a text");
    let failed = apply("a.json", b"[{\"id\": \"a\"}]", &edit("b")).unwrap_err();
    insta::assert_snapshot!(failed, @"a.json: task b: expected a task with this id, found none");
    let failed = apply("a.yaml", b"", &edit("b")).unwrap_err();
    insta::assert_snapshot!(failed, @"a.yaml: task b: expected a task with this id, found none");
    // The other task would change with it.
    let shared = b"- id: a\n  status: &s open\n- id: b\n  status: *s\n";
    let failed = apply("a.yaml", shared, &edit("a")).unwrap_err();
    insta::assert_snapshot!(failed, @"a.yaml: can't be changed without touching more than that: the result would not be the same file otherwise");
}
