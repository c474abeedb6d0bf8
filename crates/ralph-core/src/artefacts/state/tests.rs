//! Tests what an agent did to the log, and what it should be afterwards.

use serde_json::json;

use super::*;

const AT: IterationRef<'static> = IterationRef {
    iteration: 7,
    task: "T2",
};

fn log(value: Value) -> Log {
    Log::parse(value.to_string().as_bytes()).unwrap()
}

fn first() -> Value {
    json!({"iteration": 1, "task_id": "T1", "status": "completed", "summary": "made it",
           "files_modified": ["a.py"], "obstacles": []})
}

fn second() -> Value {
    json!({"iteration": 2, "task_id": "T2", "status": "attempted", "summary": "no",
           "files_modified": [], "obstacles": ["O1"], "mood": "low"})
}

fn own(status: &str) -> Value {
    json!({"iteration": 7, "task_id": "T2", "status": status, "summary": "done now",
           "files_modified": ["b.py"], "obstacles": []})
}

fn reconciled(before: Value, after: Value) -> (Value, Vec<String>) {
    let (log, said) = reconcile(&log(before), &log(after), AT);
    (Value::Array(log.0), said)
}

#[test]
fn what_an_agent_adds_stays_and_is_not_completed_by_its_word() {
    let (found, said) = reconciled(
        json!([first(), second()]),
        json!([first(), second(), own("completed")]),
    );
    assert_eq!(found, json!([first(), second(), own("attempted")]));
    assert!(said.is_empty(), "{said:?}");
}

#[test]
fn what_was_changed_or_removed_comes_back_before_what_was_added() {
    let mut other = first();
    other["summary"] = json!("something else");
    let (found, said) = reconciled(json!([first(), second()]), json!([other, own("completed")]));
    assert_eq!(found, json!([first(), second(), own("attempted")]));
    assert_eq!(
        said,
        ["state.json: 2 earlier entries were changed or removed; they are put back"]
    );
}

#[test]
fn an_entry_is_brought_into_its_shape_and_counted_by_ralph() {
    let after = json!([
        {"status": "completed", "files_modified": "b.py"},
        {"iteration": 3, "task_id": "T2", "status": "done", "summary": 5},
        {"iteration": 9, "task_id": "T3", "status": "completed", "summary": "T3 too"},
    ]);
    let (found, said) = reconciled(json!([]), after);
    let expected = json!([
        {"status": "attempted", "files_modified": ["b.py"], "iteration": 7, "task_id": "T2",
         "summary": "", "obstacles": []},
        {"iteration": 7, "task_id": "T2", "status": "attempted", "summary": "",
         "files_modified": [], "obstacles": []},
        {"iteration": 9, "task_id": "T3", "status": "attempted", "summary": "T3 too",
         "files_modified": [], "obstacles": []},
    ]);
    assert_eq!(found, expected);
    assert_eq!(said, ["state.json: task T3 was claimed to be completed"]);
}

#[test]
fn a_second_run_may_change_what_the_first_run_of_the_iteration_added() {
    let before = json!([first(), own("attempted")]);
    let mut better = own("completed");
    better["summary"] = json!("put right");
    let (found, said) = reconciled(before.clone(), json!([first(), better]));
    assert_eq!(found[1]["summary"], "put right");
    assert!(said.is_empty(), "{said:?}");
    assert_eq!(reconciled(before.clone(), json!([first()])).0, before);
}

#[test]
fn the_entry_of_an_iteration_is_written_once_and_its_status_is_ralphs() {
    let entry = |status| LogEntry {
        iteration: 7,
        task_id: "T2".into(),
        status,
        summary: "by ralph".into(),
        files_modified: vec!["c.py".into()],
        obstacles: vec!["O2".into()],
    };
    let mut fresh = log(json!([first()]));
    fresh.put(&entry(EntryStatus::Completed));
    fresh.put(&entry(EntryStatus::Attempted));
    fresh.put(&entry(EntryStatus::Completed));
    let by_ralph = json!({"iteration": 7, "task_id": "T2", "status": "completed",
        "summary": "by ralph", "files_modified": ["c.py"], "obstacles": ["O2"]});
    assert_eq!(Value::Array(fresh.0), json!([first(), by_ralph]));
    let mut theirs = log(json!([own("attempted")]));
    theirs.put(&entry(EntryStatus::Completed));
    let mut expected = own("completed");
    expected["obstacles"] = json!(["O2"]);
    assert_eq!(Value::Array(theirs.0), json!([expected]));
}

#[test]
fn what_an_agent_says_of_its_own_task_is_read_from_what_it_added() {
    let before = log(json!([first(), second()]));
    let said = |after: Value| log(after).said_since(&before, AT);
    assert_eq!(said(json!([first(), second()])), None);
    assert_eq!(
        said(json!([first(), second(), own("completed")])),
        Some(EntryStatus::Completed)
    );
    assert_eq!(
        said(json!([first(), second(), own("attempted")])),
        Some(EntryStatus::Attempted)
    );
}

#[test]
fn numbers_go_on_where_a_project_that_was_taken_over_stood() {
    assert_eq!(log(json!([])).number_for(1), 1);
    assert_eq!(log(json!([first(), second()])).number_for(1), 3);
    assert_eq!(log(json!([first(), second()])).number_for(9), 9);
}

#[test]
fn what_is_no_log_is_said_to_be_none() {
    let said = |text: &str| Log::parse(text.as_bytes()).unwrap_err().to_string();
    assert_eq!(
        said("{}"),
        "state.json can't be read: it must be a list of entries"
    );
    assert_eq!(
        said("[1]"),
        "state.json can't be read: an entry of the list is not an object"
    );
    assert!(said("[{").starts_with("state.json can't be read: EOF"));
}

#[test]
fn it_is_written_as_a_person_would_read_it() {
    let text = log(json!([{"iteration": 1, "task_id": "T1"}])).render();
    assert_eq!(
        text,
        "[\n  {\n    \"iteration\": 1,\n    \"task_id\": \"T1\"\n  }\n]\n"
    );
    assert_eq!(Log::default().render(), "[]\n");
}

#[test]
fn it_is_added_to_as_a_text_and_what_stood_there_stays_byte_for_byte() {
    let two = json!({"iteration": 2, "task_id": "T2"});
    let two_lines = ",\n  {\n    \"iteration\": 2,\n    \"task_id\": \"T2\"\n  }";
    for (before, expected) in [
        (
            "[{\"iteration\":1,\"note\":\"a ] b\"}]",
            "[{\"iteration\":1,\"note\":\"a ] b\"}@]",
        ),
        (
            "[\n\t{ \"iteration\": 1, \"note\": \"a ] b\" }\n]\n\n",
            "[\n\t{ \"iteration\": 1, \"note\": \"a ] b\" }@\n]\n\n",
        ),
    ] {
        let mut log = Log::parse(before.as_bytes()).unwrap();
        assert_eq!(log.render_after(before), before);
        log.0.push(two.clone());
        let text = log.render_after(before);
        assert_eq!(text, expected.replace('@', two_lines));
        // The last entry alone is written again where it says something else now.
        log.0[1]["task_id"] = json!("T3");
        let again = log.render_after(&text);
        let kept = expected.split('@').next().unwrap();
        let changed = two_lines.replace("T2", "T3");
        assert_eq!(again, format!("{kept}{changed}\n]\n"));
    }
}

#[test]
fn a_text_that_is_no_log_or_begins_otherwise_is_not_gone_on_from() {
    let log = log(json!([{"iteration": 1}]));
    for text in ["", "{", "[]\n", "[{\"iteration\": 9}]"] {
        assert_eq!(log.render_after(text), log.render(), "{text}");
    }
}
