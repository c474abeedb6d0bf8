//! `ralph checkpoint restore` while a loop runs: the loop does it between two iterations, once.

use ralph_engine::failpoint::OF_REWRITES;
use serde_json::{Value, json};

use super::{assert_whole, sqlite};
use crate::{
    intervening::said,
    reverting::{
        beside::{begun, open_gate, three, waiting},
        rev,
    },
    support::{Live, Project, wait_until},
};

fn first_checkpoint(project: &Project) -> String {
    let sql = "SELECT id FROM checkpoint WHERE n = 1 ORDER BY id LIMIT 1";
    sqlite(project, sql)
}

#[test]
fn a_loop_at_work_goes_back_when_its_iteration_has_ended() {
    let project = three();
    open_gate(&project, "A");
    let mut live = project.start(&[]);
    begun(&mut live, "B");
    let (id, target) = (first_checkpoint(&project), rev(&project, "HEAD"));
    let restore = project.order(&["checkpoint", "restore", &id, "--json"]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    for task in ["B", "C"] {
        open_gate(&project, task);
    }
    let done: Value = serde_json::from_str(&said(restore.wait_with_output().unwrap())).unwrap();
    assert_eq!(
        [&done["checkpoint"], &done["done"], &done["target"]],
        [&json!(id), &json!(true), &json!(target)]
    );
    assert_eq!(done["reopened"][0]["taskId"], "B");
    let ran = live.wait().expect(0);
    let verdicts = ["A verified", "B verified", "B verified", "C verified"];
    assert_eq!(ran.verdicts(), verdicts);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_whole(&project, 1, 5);
}

#[test]
fn a_plan_beside_a_loop_changes_nothing() {
    let project = three();
    open_gate(&project, "A");
    let mut live = project.start(&[]);
    begun(&mut live, "B");
    let id = first_checkpoint(&project);
    let restore = project.order(&["checkpoint", "restore", &id, "--dry-run"]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    for task in ["B", "C"] {
        open_gate(&project, task);
    }
    let text = said(restore.wait_with_output().unwrap());
    assert!(
        text.starts_with("would drop 1 commit of ralph/work: back to "),
        "{text}"
    );
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
}

#[test]
fn what_a_restore_refuses_is_refused_beside_a_loop_too_and_the_loop_goes_on() {
    let project = three();
    open_gate(&project, "A");
    let mut live = project.start(&[]);
    begun(&mut live, "B");
    let id = first_checkpoint(&project);
    let changed = format!("UPDATE checkpoint SET tip_commit = 'x' WHERE id = '{id}'");
    let restore = project.order(&["checkpoint", "restore", &id]);
    wait_until("the command is in the queue", || waiting(&project) == 1);
    // It was whole when it was asked for.
    sqlite(&project, &changed);
    for task in ["B", "C"] {
        open_gate(&project, task);
    }
    let output = restore.wait_with_output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("`ralph checkpoint verify`"), "{error}");
    let ran = live.wait().expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified", "C verified"]);
}

#[test]
fn a_loop_that_dies_in_it_leaves_it_to_who_asked_and_it_is_done_once() {
    for point in OF_REWRITES {
        let project = three();
        open_gate(&project, "A");
        let mut command = project.run_command(&[]);
        command.env("RALPH_FAILPOINT", point);
        let mut live = Live::start(command);
        begun(&mut live, "B");
        let restore = project.order(&["checkpoint", "restore", &first_checkpoint(&project)]);
        wait_until("the command is in the queue", || waiting(&project) == 1);
        open_gate(&project, "B");
        let text = said(restore.wait_with_output().unwrap());
        assert_eq!(live.wait().code(), -9, "{point}: {text}");
        assert_eq!(project.landed(), ["A"], "{point}: {text}");
        assert!(!project.passes("B"), "{point}: {text}");
        let kept = project.repo.git(["for-each-ref", "refs/ralph/reverted"]);
        assert_eq!(kept.lines().count(), 1, "{point}: {kept}");
        open_gate(&project, "C");
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B", "C"], "{point}");
    }
}
