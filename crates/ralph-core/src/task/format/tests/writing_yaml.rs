//! A change to a YAML file touches the bytes of what changed: comments, quotes and style stay.

use super::{change, diff, set};
use crate::task::Status;
use crate::task::format::Change;

const TASKS: &str = "# plan
tasks:
  - id: a   # first
    title: 'One'
    status: open  # for now
    notes: |
      line one
      line two

    # about b
  - id: \"b\"
    title: >-
      folded
      title
    acceptance:
    - x
    - y
  - {id: c, title: flow, status: 'open'}
  -
    id: d
    status:
    tail: end
";

#[test]
fn a_status_changes_in_its_own_quotes_and_before_its_comment() {
    for (task, old, new) in [
        (
            "a",
            "    status: open  # for now",
            "    status: completed  # for now",
        ),
        (
            "c",
            "  - {id: c, title: flow, status: 'open'}",
            "  - {id: c, title: flow, status: 'completed'}",
        ),
        ("d", "    status:", "    status: completed"),
    ] {
        let done = set("t.yaml", TASKS, task, Status::Completed);
        assert_eq!(diff(TASKS, &done), (vec![old], vec![new]));
    }
}

#[test]
fn a_missing_field_becomes_one_line() {
    let done = set("t.yaml", TASKS, "b", Status::Blocked);
    assert_eq!(diff(TASKS, &done), (vec![], vec!["    status: blocked"]));
    let text = change("t.yaml", TASKS, "d", Change::Attempts(2));
    assert_eq!(diff(TASKS, &text), (vec![], vec!["    attempts: 2"]));
    let text = change("t.yaml", TASKS, "c", Change::Attempts(2));
    assert_eq!(
        diff(TASKS, &text).1,
        ["  - {id: c, title: flow, attempts: 2, status: 'open'}"]
    );
}

#[test]
fn a_file_without_final_newline_or_with_other_line_breaks_keeps_them() {
    assert_eq!(
        set("t.yml", "id: a", "a", Status::Failed),
        "id: a\nstatus: failed"
    );
    assert_eq!(
        set(
            "t.yml",
            "\u{feff}id: a\r\ntitle: t\r\n",
            "a",
            Status::Failed
        ),
        "\u{feff}id: a\r\ntitle: t\r\nstatus: failed\r\n"
    );
    assert_eq!(
        set(
            "t.yml",
            "\u{feff}id: a # x\r\ntitle: |+\r\n  t\r\n\r\n",
            "a",
            Status::Failed
        ),
        "\u{feff}id: a # x\r\nstatus: failed\r\ntitle: |+\r\n  t\r\n\r\n"
    );
    assert_eq!(
        set("t.yml", "\"id\": a\n\"title\": t\n", "a", Status::Failed),
        "\"id\": a\n\"title\": t\n\"status\": failed\n"
    );
}

#[test]
fn notes_over_several_lines_become_a_block() {
    let text = change(
        "t.yaml",
        TASKS,
        "a",
        Change::Notes("one: 1\n\n  two".into()),
    );
    assert_eq!(
        diff(TASKS, &text),
        (
            vec!["    notes: |", "      line one", "      line two"],
            vec!["    notes: |-", "      one: 1", "", "        two"]
        )
    );
    let text = change("t.yaml", TASKS, "b", Change::Notes("say: \"x\" # y".into()));
    assert_eq!(
        diff(TASKS, &text),
        (vec![], vec![r#"    notes: "say: \"x\" # y""#])
    );
    for odd in [
        "", " ", "- x", "null", "a\n", "\n", "a \nb", "\ta\nb", "a\r\nb", "\u{feff}", "1", "yes",
        "a\n\n",
    ] {
        for task in ["a", "b", "c", "d"] {
            let text = change("t.yaml", TASKS, task, Change::Notes(odd.into()));
            let tasks = super::read("t.yaml", &text).tasks;
            let task = tasks.iter().find(|t| t.id.as_str() == task).unwrap();
            assert_eq!(task.text.notes.as_deref(), Some(odd), "{text}");
        }
    }
}

#[test]
fn acceptance_becomes_a_list_in_the_style_of_the_file() {
    let items = Change::Acceptance(vec!["new: one".into(), "two".into()]);
    let text = change("t.yaml", TASKS, "b", items.clone());
    assert_eq!(
        diff(TASKS, &text),
        (
            vec!["    - x", "    - y"],
            vec!["      - \"new: one\"", "      - two"]
        )
    );
    let text = change("t.yaml", TASKS, "a", items.clone());
    assert_eq!(
        diff(TASKS, &text).1,
        ["    acceptance:", "      - \"new: one\"", "      - two"]
    );
    let text = change("t.yaml", "id: a\nacceptance: [x] # c\n", "a", items);
    assert_eq!(text, "id: a\nacceptance: [\"new: one\", two] # c\n");
}

#[test]
fn a_prd_and_an_artefacts_file_may_be_yaml() {
    let prd = "userStories:\n- id: US-1\n  passes: no\n  title: t\n";
    let done = set("prd.yaml", prd, "US-1", Status::Completed);
    assert_eq!(
        done,
        "userStories:\n- id: US-1\n  passes: true\n  title: t\n"
    );
    let failed = set("prd.yaml", prd, "US-1", Status::Failed);
    assert_eq!(
        failed,
        "userStories:\n- id: US-1\n  passes: no\n  status: failed\n  title: t\n"
    );
    let tasks = "project_name: x\ntasks:\n- id: T1\n  status: pending\n";
    assert_eq!(
        set("tasks.yaml", tasks, "T1", Status::Skipped),
        "project_name: x\ntasks:\n- id: T1\n  status: blocked\n  blocked: true\n  skipped: true\n"
    );
}

#[test]
fn a_merged_field_is_overridden_and_not_changed_at_its_source() {
    let text = "base: &base\n  status: open\ntasks:\n- id: a\n  <<: *base\n- id: b\n  <<: *base\n";
    let done = set("t.yaml", text, "a", Status::Completed);
    assert_eq!(diff(text, &done), (vec![], vec!["  status: completed"]));
}
