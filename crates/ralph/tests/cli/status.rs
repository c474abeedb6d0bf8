//! `ralph status`.

use ralph_core::{termination::Stop, verdict::Verdict};
use ralph_engine::{
    lock::{Lock, LockUse},
    store::TaskHistory,
};
use ralph_testkit::TestRepo;
use serde_json::json;

use crate::support::{Written, asked, failed, ralph, shop, suggesting};

#[test]
fn the_json_contract_before_anything_ran() {
    let repo = shop();
    let expected = json!({
        "source": "prd.json",
        "parent": null,
        "tasks": {
            "total": 3, "completed": 1, "ready": 1, "waiting": 1, "blocked": 0, "failed": 0,
            "skipped": 0, "inProgress": 0, "asking": 0
        },
        "next": {
            "id": "US-002", "title": "Show the cart", "attempt": 1,
            "why": "the only task that is ready"
        },
        "running": false,
        "loop": null,
        "lastIteration": null,
        "lastCheckpoint": null,
        "cost": {"spentUsd": 0, "estimatedUsd": 0, "unknownTokens": 0}, "revertedCommits": 0,
        "waitingUntil": null,
        "questions": [],
        "blocked": [],
        "skipped": [],
        "tree": {
            "children": [
                {
                    "id": "US-001", "title": "Add a cart", "standing": "completed",
                    "total": 1, "completed": 1, "children": [], "more": 0
                },
                {
                    "id": "US-002", "title": "Show the cart", "standing": "next",
                    "total": 1, "completed": 0, "children": [], "more": 0
                },
                {
                    "id": "US-003", "title": "Empty the cart", "standing": "waiting",
                    "total": 1, "completed": 0, "children": [], "more": 0
                }
            ],
            "more": 0
        },
        "suggestions": 0,
        "warnings": []
    });
    assert_eq!(ralph(&repo, &["status", "--json"]).json(0), expected);
}

#[test]
fn the_json_contract_after_a_loop() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(("US-001", "Add a cart", 1), Verdict::Verified, |_, _| {});
    past.iteration(("US-002", "Show the cart", 1), failed(), |record, _| {
        record.said.block = suggesting(&[("Tidy", "")]);
    });
    past.end(&Stop::Iterations { max: 2 });
    repo.file(".ralph/logs/iteration-2.txt", "log\n");
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(
        status["next"],
        json!({
            "id": "US-002", "title": "Show the cart", "attempt": 2,
            "why": "the only task that is ready"
        })
    );
    assert_eq!(
        status["loop"],
        json!({
            "id": "L1",
            "state": "ended",
            "source": "prd.json",
            "branch": "ralph/shop",
            "agent": "script:demo.yaml",
            "startedAt": "2026-01-02T03:00:00Z",
            "endedAt": "2026-01-02T04:00:00Z",
            "pausedAt": null,
            "stop": { "why": "iterations", "max": 2 },
            "sentence": "the limit of 2 iterations is reached",
            "cleanCheck": null
        })
    );
    assert_eq!(
        status["lastIteration"],
        json!({
            "iteration": 2,
            "taskId": "US-002",
            "title": "Show the cart",
            "attempt": 1,
            "startedAt": "2026-01-02T03:01:00Z",
            "endedAt": "2026-01-02T03:03:30Z",
            "verdict": "failed",
            "outcome": "failed",
            "sentence": "verification failed: cargo test",
            "resultCommit": null,
            "reverted": false,
            "log": ".ralph/logs/iteration-2.txt",
            "stream": null
        })
    );
    assert_eq!(status["suggestions"], 1);
}

#[test]
fn a_task_with_an_open_question_is_not_next_and_its_question_is_shown() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.iteration(
        ("US-002", "Show the cart", 1),
        Verdict::Escalated,
        |_, state| *state = asked(&repo, "US-002", "Which currency?"),
    );
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["next"], json!(null));
    assert_eq!(
        status["questions"],
        json!([{ "id": null, "taskId": "US-002", "question": "Which currency?" }])
    );
    assert_eq!(
        status["blocked"],
        json!([
            { "taskId": "US-002", "by": ["it is set aside: a question is open"] },
            { "taskId": "US-003", "by": ["US-002 is open"] }
        ])
    );
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    assert!(
        text.contains("question US-002\n  Which currency?\n"),
        "{text}"
    );
    assert!(text.contains("next  nothing is ready\n"), "{text}");
    let list = ralph(&repo, &["tasks", "list", "--json"]).json(0);
    let task = &list["tasks"][1];
    assert_eq!(
        (&task["standing"], &task["ready"]),
        (&json!("question"), &json!(false))
    );
    assert_eq!(
        ralph(&repo, &["tasks", "list", "--ready"]).text(0),
        "no tasks\n"
    );
}

#[test]
fn an_edit_of_a_task_answers_its_question_and_it_is_next() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.state("US-002", &asked(&repo, "US-002", "Which currency?"));
    let text = repo
        .read("prd.json")
        .replace("Show the cart", "Show the cart in euros");
    repo.file("prd.json", text);
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["next"]["id"], "US-002");
    assert_eq!(status["questions"], json!([]));
    assert_eq!(
        (&status["tasks"]["ready"], &status["tasks"]["asking"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn a_blocked_task_has_its_reason_and_one_that_a_person_reopened_starts_afresh() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    let state = TaskHistory {
        attempts: 3,
        blocked: Some("3 attempts failed".into()),
        ..TaskHistory::default()
    };
    past.state("US-002", &state);
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(
        status["next"],
        json!({
            "id": "US-002", "title": "Show the cart", "attempt": 1,
            "why": "the only task that is ready"
        }),
        "the file says open"
    );
    let text = repo
        .read("prd.json")
        .replacen("\"passes\": false", "\"status\": \"blocked\"", 1);
    repo.file("prd.json", text);
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["next"], json!(null));
    assert_eq!(
        status["blocked"][0],
        json!({ "taskId": "US-002", "by": ["it is blocked: 3 attempts failed"] })
    );
}

#[test]
fn the_area_of_the_last_completed_task_goes_first() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"A","title":"a","status":"completed","labels":["area=ui"]},
            {"id":"B","title":"b","labels":["area=db"]},
            {"id":"C","title":"c","labels":["area=ui"]}]"#,
    );
    let next = |repo: &TestRepo| ralph(repo, &["status", "--json"]).json(0)["next"]["id"].clone();
    assert_eq!(next(&repo), "B");
    let mut past = Written::begin(&repo, "tasks.json", "L1");
    past.iteration(("A", "a", 1), Verdict::Verified, |_, _| {});
    assert_eq!(next(&repo), "C");
}

#[test]
fn a_loop_without_an_end_is_running_while_its_process_holds_the_lock() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    past.start("US-002", 1);
    let lock = Lock::acquire(&repo.data_dir(), repo.root(), LockUse::Loop).unwrap();
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["running"], true);
    assert_eq!(status["loop"]["state"], "running");
    assert_eq!(status["lastIteration"]["endedAt"], json!(null));
    assert_eq!(status["lastIteration"]["title"], "Show the cart");
    drop(lock);
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["running"], false);
    assert_eq!(status["loop"]["state"], "interrupted");
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    assert!(text.contains("`ralph run` goes on with it"), "{text}");
}

#[test]
fn only_what_is_below_the_parent_is_counted() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"F","title":"Feature"},{"id":"F1","title":"one","parentId":"F"},
            {"id":"X","title":"other","priority":1}]"#,
    );
    repo.file(".ralph/parent-task-id", "F\n");
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["parent"], json!({ "id": "F", "title": "Feature" }));
    assert_eq!(status["tasks"]["total"], 1);
    assert_eq!(status["next"]["id"], "F1");
    repo.file(".ralph/parent-task-id", "G\n");
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["tasks"]["total"], 2);
    assert_eq!(
        status["warnings"][0],
        ".ralph/parent-task-id names task \"G\", which does not exist; all tasks are shown"
    );
}

#[test]
fn a_wrong_graph_is_shown_with_warnings() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"A","title":"a","dependsOn":["B"]},{"id":"B","title":"b","dependsOn":["A"]}]"#,
    );
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    assert!(
        text.contains("warning: tasks wait for each other: A → B → A\n"),
        "{text}"
    );
    assert!(text.contains("0 of 2 completed, 2 waiting"), "{text}");
}

#[test]
fn there_is_no_colour_where_there_is_no_terminal() {
    let repo = shop();
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    assert_eq!(
        text,
        "prd.json\n████████░░░░░░░░░░░░░░░░  1 of 3 completed, 1 ready, 1 waiting\n\n\
         next  US-002 Show the cart: the only task that is ready\n\
         loop  not running; none has run here yet\n\n\
         tasks\n\x20\x20✓ US-001 Add a cart\n\x20\x20→ US-002 Show the cart  next\n\
         \x20\x20· US-003 Empty the cart  waiting\n"
    );
}

#[test]
fn a_loop_that_waits_for_a_usage_limit_says_until_when() {
    let repo = shop();
    let mut past = Written::begin(&repo, "prd.json", "L1");
    let resets_at = Some("2126-01-02T09:00:00Z".parse().unwrap());
    let limit = Verdict::LimitHit { resets_at };
    past.iteration(("US-002", "Show the cart", 1), limit, |_, _| {});
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["waitingUntil"], "2126-01-02T09:00:00Z");
    assert_eq!(status["next"]["attempt"], 1);
    past.end(&Stop::UsageLimit { resets_at });
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(status["waitingUntil"], serde_json::Value::Null);
}

/// Four ready leaves in two containers, and one that depends on them all.
fn feature(more: &str) -> TestRepo {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        format!(
            r#"[{{"id":"F","title":"Feature"}},{{"id":"G","title":"Other"}},
                {{"id":"F1","title":"one","parentId":"F","status":"completed"}},
                {{"id":"F2","title":"two","parentId":"F","labels":["area=ui"]}},
                {{"id":"G1","title":"three","parentId":"G","status":"skipped"}},
                {{"id":"G2","title":"four","parentId":"G","dependsOn":["F2"]}}{more}]"#
        ),
    );
    repo
}

#[test]
fn the_tree_has_containers_with_how_much_of_them_is_complete() {
    let repo = feature("");
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    let (_, tree) = text.split_once("\ntasks\n").unwrap();
    assert_eq!(
        tree,
        "  F Feature  1 of 2\n    ✓ F1 one\n    → F2 two  next\n\
         \x20\x20G Other  0 of 2\n    – G1 three  skipped\n    · G2 four  waiting\n"
    );
    let status = ralph(&repo, &["status", "--json"]).json(0);
    assert_eq!(
        status["skipped"],
        json!([{ "taskId": "G1", "title": "three", "why": "its own status says so" }])
    );
}

#[test]
fn the_tree_has_a_limit_and_shows_what_matters_first() {
    let many: String = (0..500)
        .map(|n| format!(r#",{{"id":"N{n}","title":"n","status":"completed"}}"#))
        .collect();
    let late = r#",{"id":"X","title":"last","status":"failed"}"#;
    let repo = feature(&format!("{many}{late}"));
    let status = ralph(&repo, &["status", "--json"]).json(0);
    let top = status["tree"]["children"].as_array().unwrap();
    let ids: Vec<&str> = top
        .iter()
        .map(|node| node["id"].as_str().unwrap())
        .collect();
    // F2, G2 and X are not complete; nine of the completed ones fill up to twelve: F1 and N0 to N7.
    assert_eq!(
        ids,
        [
            "F", "G", "N0", "N1", "N2", "N3", "N4", "N5", "N6", "N7", "X"
        ]
    );
    // 505 leaves: 2 in F, 2 in G, of which the skipped one is not shown, 8 and X on top.
    assert_eq!(status["tree"]["more"], 492);
    assert_eq!(top[1]["more"], 1);
    let text = ralph(&repo, &["status"]).text(0).to_owned();
    assert!(text.contains("    … and 1 more\n"), "{text}");
    assert!(
        text.contains("  ✗ X last  failed\n  … and 492 more\n"),
        "{text}"
    );
}

#[test]
fn the_next_task_is_told_with_what_put_it_first() {
    let why = |tasks: &str| {
        let repo = TestRepo::new();
        repo.file("tasks.json", tasks);
        ralph(&repo, &["status", "--json"]).json(0)["next"]["why"].clone()
    };
    assert_eq!(
        why(r#"[{"id":"A","title":"a","priority":2},{"id":"B","title":"b","priority":1}]"#),
        "of 2 ready tasks, the first by priority (1)"
    );
    assert_eq!(
        why(
            r#"[{"id":"A","title":"a","createdAt":"2026-01-02T00:00:00Z"},
                {"id":"B","title":"b","createdAt":"2026-01-01T00:00:00Z"}]"#
        ),
        "of 2 ready tasks, the oldest"
    );
    assert_eq!(
        why(r#"[{"id":"A","title":"a"},{"id":"B","title":"b"},{"id":"C","title":"c"}]"#),
        "of 3 ready tasks, the first in the file"
    );
}

#[test]
fn the_next_task_is_told_to_be_of_the_area_of_the_last() {
    let repo = TestRepo::new();
    repo.file(
        "tasks.json",
        r#"[{"id":"A","title":"a","status":"completed","labels":["area=ui"]},
            {"id":"B","title":"b","labels":["area=db"]},
            {"id":"C","title":"c","labels":["area=ui"]}]"#,
    );
    let mut past = Written::begin(&repo, "tasks.json", "L1");
    past.iteration(("A", "a", 1), Verdict::Verified, |_, _| {});
    assert_eq!(
        ralph(&repo, &["status", "--json"]).json(0)["next"]["why"],
        "of 2 ready tasks, the first in the area ui, like the last completed one"
    );
}

#[test]
fn watching_needs_a_terminal() {
    assert_eq!(
        ralph(&shop(), &["status", "--watch"]).error(2),
        "error: `ralph status --watch` needs a terminal, and the standard output is not one\n\
         hint: `ralph status` prints it once, `--json` for programs\n"
    );
}
