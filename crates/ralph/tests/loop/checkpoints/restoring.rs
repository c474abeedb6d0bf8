//! `ralph checkpoint restore`: the branch goes back as a revert would have it, or stays as it is.

use serde_json::json;

use super::{asked, assert_whole, chain, said, sqlite};
use crate::{
    reverting::{landed, ralph, rev},
    support::{Project, good_script, story, story_after},
};

fn checkpoint(project: &Project, n: u32) -> String {
    sqlite(
        project,
        &format!("SELECT id FROM checkpoint WHERE n = {n} ORDER BY id LIMIT 1"),
    )
}

#[test]
fn the_json_contract_and_a_dry_run_that_changes_nothing() {
    let project = landed();
    let id = checkpoint(&project, 2);
    let (b, c) = (rev(&project, "HEAD~1"), rev(&project, "HEAD"));
    let plan = json!({
        "checkpoint": id, "done": false, "iteration": 3, "branch": "ralph/work", "from": c,
        "target": b, "tip": null, "taskCommit": null, "reference": null,
        "commits": [{
            "commit": c, "subject": "feat: Write C", "author": "Test Person", "iteration": 3,
            "taskId": "C"
        }],
        "reopened": [{ "taskId": "C", "title": "Write C", "source": "prd.json" }],
        "gone": [], "left": []
    });
    assert_eq!(
        asked(&project, &["checkpoint", "restore", &id, "--dry-run"]),
        plan
    );
    assert_eq!(rev(&project, "HEAD"), c);
    assert!(project.passes("C"));
    let mut done = asked(&project, &["checkpoint", "restore", &id]);
    let reference = done["reference"].take();
    assert_eq!(
        rev(&project, reference.as_str().unwrap()),
        c,
        "what went is kept"
    );
    let mut expected = plan;
    expected["done"] = json!(true);
    expected["tip"] = json!(b);
    assert_eq!(done, expected);
}

#[test]
fn what_was_done_since_is_done_again_and_lands() {
    let project = landed();
    let id = checkpoint(&project, 1);
    let target = rev(&project, "HEAD~2");
    let ran = ralph(&project, &["checkpoint", "restore", &id]).expect(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    let first = format!(
        "dropped 2 commits of ralph/work: back to {}, before iteration 2\n",
        &target[..8]
    );
    assert!(text.starts_with(&first), "{text}");
    assert_eq!(rev(&project, "HEAD"), target);
    assert_eq!(project.landed(), ["A"]);
    assert!(project.passes("A") && !project.passes("B") && !project.passes("C"));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["B verified", "C verified"]);
    assert_eq!(project.landed(), ["A", "B", "C"]);
    assert_whole(&project, 2, 7);
    // Its commit is not gone, but what came since is other work: it goes the same way.
    ralph(&project, &["checkpoint", "restore", &id]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_loop_that_was_killed_goes_on_behind_it_and_counts_only_what_is_there() {
    let stories = [story("A"), story_after("B", &["A"])];
    let project = Project::with_stories(&stories).script(&good_script());
    let ran = project.run_with("RALPH_FAILPOINT", "files-written:2");
    assert_eq!(ran.code(), -9, "{}", ran.all());
    ralph(
        &project,
        &["checkpoint", "restore", &checkpoint(&project, 1)],
    )
    .expect(0);
    assert_eq!(project.landed(), ["A"]);
    let made = asked(&project, &["checkpoint", "create"]);
    let completed = json!([{ "taskId": "A", "title": "Write A" }]);
    assert_eq!(made["checkpoint"]["execution"]["completed"], completed);
    project.run(&[]).expect(0);
    assert_eq!(
        chain(&project, &[]),
        [
            "iteration 1 complete",
            "iteration 2 complete",
            "manual 2 complete",
            "iteration 3 complete",
            "stop 3 complete",
        ]
    );
    let last = asked(&project, &["checkpoint", "show"]);
    let completed = json!([
        { "taskId": "A", "title": "Write A" },
        { "taskId": "B", "title": "Write B" }
    ]);
    assert_eq!(last["checkpoint"]["execution"]["completed"], completed);
    assert_whole(&project, 1, 5);
}

#[test]
fn where_the_branch_is_there_already_nothing_is_done() {
    let project = landed();
    let head = rev(&project, "HEAD");
    let id = checkpoint(&project, 4);
    let ran = ralph(&project, &["checkpoint", "restore", &id]).expect(0);
    let text = String::from_utf8(ran.stdout).unwrap();
    let short = &head[..8];
    assert_eq!(
        text,
        format!("nothing to restore: ralph/work is at {short} already\n")
    );
    assert_eq!(
        asked(&project, &["checkpoint", "restore", &id])["done"],
        false
    );
    assert_eq!(
        project.repo.git(["for-each-ref", "refs/ralph/reverted"]),
        ""
    );
}

#[test]
fn a_persons_work_is_refused_by_name_and_dropped_only_by_force() {
    let project = landed();
    let id = checkpoint(&project, 1);
    project.repo.file("mine.txt", "x\n").commit("mine");
    let head = rev(&project, "HEAD");
    ralph(&project, &["checkpoint", "restore", &id])
        .expect(2)
        .says("commits that are not ralph's would go: ")
        .says("mine");
    project.repo.file("A.txt", "changed\n");
    let forced = ["checkpoint", "restore", &id, "--force", "--json"];
    ralph(&project, &forced)
        .expect(2)
        .says("the working tree has changes that are not committed: A.txt");
    assert_eq!(rev(&project, "HEAD"), head);
    project.repo.git(["checkout", "-q", "--", "A.txt"]);
    let done = said(&ralph(&project, &forced).expect(0));
    assert_eq!(rev(&project, done["reference"].as_str().unwrap()), head);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_commit_that_is_not_in_the_history_of_the_branch_is_refused_by_name() {
    let project = landed();
    let (first, last) = (checkpoint(&project, 1), checkpoint(&project, 3));
    let gone = rev(&project, "HEAD");
    ralph(&project, &["checkpoint", "restore", &first]).expect(0);
    let says = format!(
        "the commit of checkpoint {last}, {}, is not in the history of ralph/work any more",
        &gone[..10]
    );
    ralph(&project, &["checkpoint", "restore", &last])
        .expect(2)
        .says(&says);
    project.repo.git(["switch", "-q", "-c", "other"]);
    ralph(&project, &["checkpoint", "restore", &first])
        .expect(2)
        .says(&format!(
            "checkpoint {first} is of branch ralph/work, but HEAD is on other"
        ))
        .says("`git switch ralph/work` first");
}
