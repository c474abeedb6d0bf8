//! `ralph squash`: one commit of all that ralph landed, with the same tree, and nothing lost.

use ralph_engine::failpoint;
use serde_json::{Value, json};

use super::reverting::{landed, ralph, rev, said};
use crate::support::{Live, Project, good_script, story, story_after};

fn kept(project: &Project) -> Vec<String> {
    let refs = project.repo.git([
        "for-each-ref",
        "--format=%(objectname)",
        "refs/ralph/squashed",
    ]);
    refs.lines().map(str::to_owned).collect()
}

fn trailers(project: &Project, key: &str) -> Vec<String> {
    let format = format!("--format=%(trailers:key={key},valueonly)");
    let text = project.repo.git(["log", "-1", &format]);
    let values = text.lines().filter(|line| !line.is_empty());
    values.map(str::to_owned).collect()
}

/// The iterations' ids, oldest first, from the trailers of their commits.
fn iterations(project: &Project) -> Vec<String> {
    let text = project.repo.git([
        "log",
        "--reverse",
        "--format=%(trailers:key=Ralph-Iteration,valueonly)",
    ]);
    let values = text.lines().filter(|line| !line.is_empty());
    values.map(str::to_owned).collect()
}

#[test]
fn one_commit_with_the_same_tree_all_titles_and_all_trailers() {
    let project = landed();
    let (tip, base, tree) = (
        rev(&project, "HEAD"),
        rev(&project, "HEAD~3"),
        rev(&project, "HEAD^{tree}"),
    );
    let ids = iterations(&project);
    assert_eq!(ids.len(), 3);
    project.repo.file("mine.txt", "untracked\n");
    ralph(&project, &["squash"]).expect(0);
    assert_eq!(rev(&project, "HEAD~1"), base);
    assert_eq!(rev(&project, "HEAD^{tree}"), tree);
    assert_eq!(kept(&project), [tip]);
    assert_eq!(project.leftovers(), ["?? mine.txt"]);
    let text = project.repo.git(["log", "-1", "--format=%s%n%b"]);
    let words =
        "feat: Write A; Write B; Write C\n- A Write A\n- B Write B\n- C Write C\n\nRalph-Task: A\n";
    assert!(text.starts_with(words), "{text}");
    assert_eq!(trailers(&project, "Ralph-Task"), ["A", "B", "C"]);
    assert_eq!(trailers(&project, "Ralph-Loop").len(), 1);
    assert_eq!(trailers(&project, "Ralph-Iteration"), ids);
}

#[test]
fn the_json_contract() {
    let project = landed();
    let commits = [
        rev(&project, "HEAD~2"),
        rev(&project, "HEAD~1"),
        rev(&project, "HEAD"),
    ];
    let ids = iterations(&project);
    let of_loop = trailers(&project, "Ralph-Loop").remove(0);
    let message = format!(
        "Three files\n\nAs asked.\n\nRalph-Task: A\nRalph-Task: B\nRalph-Task: C\nRalph-Loop: {of_loop}\n\
         Ralph-Iteration: {}\nRalph-Iteration: {}\nRalph-Iteration: {}\n",
        ids[0], ids[1], ids[2]
    );
    let plan = json!({
        "done": false, "branch": "ralph/work", "from": commits[2],
        "tip": null, "commit": null, "reference": null,
        "message": message,
        "commits": [
            { "commit": commits[0], "subject": "feat: Write A", "author": "Test Person" },
            { "commit": commits[1], "subject": "feat: Write B", "author": "Test Person" },
            { "commit": commits[2], "subject": "feat: Write C", "author": "Test Person" }
        ],
        "before": [], "after": []
    });
    let words = "Three files\n\nAs asked.";
    let dry = ["squash", "--message", words, "--dry-run", "--json"];
    assert_eq!(said(&ralph(&project, &dry).expect(0)), plan);
    assert_eq!(
        rev(&project, "HEAD"),
        commits[2],
        "a dry run changes nothing"
    );
    assert_eq!(kept(&project), [""; 0]);
    let done = said(&ralph(&project, &["squash", "--message", words, "--json"]).expect(0));
    let head = rev(&project, "HEAD");
    let reference =
        project
            .repo
            .git(["for-each-ref", "--format=%(refname)", "refs/ralph/squashed"]);
    let mut expected = plan;
    expected["done"] = json!(true);
    expected["tip"] = json!(head);
    expected["commit"] = json!(head);
    expected["reference"] = json!(reference);
    assert_eq!(done, expected);
    let written = project.repo.git(["log", "-1", "--format=%B"]);
    assert_eq!(written.trim_end(), message.trim_end());
}

#[test]
fn an_iteration_in_a_squash_is_not_taken_back_by_itself_and_later_ones_are() {
    let project = landed();
    ralph(&project, &["squash"]).expect(0);
    let squash = rev(&project, "HEAD");
    for n in ["1", "3"] {
        ralph(&project, &["revert", "--iteration", n])
            .expect(2)
            .says(&format!(
                "iteration {n} is part of the squash {}",
                &squash[..10]
            ))
            .says("refs/ralph/squashed/");
    }
    let mut prd: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    prd["userStories"].as_array_mut().unwrap().push(story("D"));
    project.repo.prd(&prd);
    project.run(&[]).expect(0);
    assert_eq!(rev(&project, "HEAD~1"), squash);
    ralph(&project, &["revert", "--iteration", "4"]).expect(0);
    assert!(!project.repo.exists("D.txt"));
    assert!(project.repo.exists("C.txt"));
    assert!(!project.passes("D") && project.passes("C"));
}

#[test]
fn a_second_squash_takes_the_first_in() {
    let project = landed();
    ralph(&project, &["squash"]).expect(0);
    let base = rev(&project, "HEAD~1");
    let mut prd: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    prd["userStories"].as_array_mut().unwrap().push(story("D"));
    project.repo.prd(&prd);
    project.run(&[]).expect(0);
    ralph(&project, &["squash"]).expect(0);
    assert_eq!(rev(&project, "HEAD~1"), base);
    assert_eq!(trailers(&project, "Ralph-Task"), ["A", "B", "C", "D"]);
    assert_eq!(trailers(&project, "Ralph-Loop").len(), 2);
    let report = said(&ralph(&project, &["report", "--all", "--json"]).expect(0));
    let head = json!(rev(&project, "HEAD"));
    let commits = report["commits"].as_array().unwrap();
    assert_eq!(commits.len(), 4);
    assert!(
        commits.iter().all(|c| c["squashedInto"] == head),
        "{report}"
    );
    let again = ralph(&project, &["squash"]).expect(0);
    assert!(
        again
            .all()
            .contains("nothing to squash: ralph/work has only one commit by ralph"),
        "{}",
        again.all()
    );
    assert_eq!(json!(rev(&project, "HEAD")), head);
}

#[test]
fn status_report_and_logs_stay_right() {
    let project = landed();
    let first = rev(&project, "HEAD~2");
    let before = said(&ralph(&project, &["status", "--json"]).expect(0));
    ralph(&project, &["squash"]).expect(0);
    let after = said(&ralph(&project, &["status", "--json"]).expect(0));
    assert_eq!(after, before);
    let report = said(&ralph(&project, &["report", "--json"]).expect(0));
    let head = rev(&project, "HEAD");
    assert_eq!(
        report["commits"][0],
        json!({
            "commit": first, "taskId": "A", "title": "Write A", "iteration": 1,
            "squashedInto": head
        })
    );
    assert_eq!(report["completed"].as_array().unwrap().len(), 3);
    assert_eq!(report["reverted"], json!([]));
    let text = String::from_utf8(ralph(&project, &["report"]).expect(0).stdout).unwrap();
    let line = format!("- {} A Write A (squashed into {})", &first[..8], &head[..8]);
    assert!(text.contains(&line), "{text}");
    let list = said(&ralph(&project, &["logs", "--list", "--json"]).expect(0));
    assert_eq!(list["iterations"][0]["reverted"], false);
    project.run(&[]).expect(0);
    assert_eq!(rev(&project, "HEAD"), head, "nothing is left to do");
}

#[test]
fn others_commits_before_stay_and_those_after_are_carried_over_as_they_are() {
    let stories = [story("A"), story_after("B", &["A"])];
    let project = Project::with_stories(&stories).script(&good_script());
    project.repo.git(["switch", "-q", "-c", "ralph/work"]);
    // A first run ends without landing anything, so that the branch begins before this commit.
    let ran = project.run(&["--max-minutes", "0.000001"]);
    assert_eq!(project.landed(), [""; 0], "{}", ran.all());
    project.repo.file("early.txt", "early\n").commit("early");
    let early = rev(&project, "HEAD");
    project.run(&[]).expect(0);
    project.repo.file("late.txt", "late\n");
    project.repo.git(["add", "late.txt"]);
    project.repo.git([
        "-c",
        "user.name=Somebody Else",
        "commit",
        "-q",
        "-m",
        "late",
        "-m",
        "with a body",
    ]);
    let (tip, tree) = (rev(&project, "HEAD"), rev(&project, "HEAD^{tree}"));
    let format = "--format=%an %ae %at %cn %ct%n%B";
    let late = project.repo.git(["log", "-1", format]);
    let done = said(&ralph(&project, &["squash", "--json"]).expect(0));
    assert_eq!(rev(&project, "HEAD~2"), early);
    assert_eq!(json!(rev(&project, "HEAD~1")), done["commit"]);
    assert_eq!(json!(rev(&project, "HEAD")), done["tip"]);
    assert_eq!(project.repo.git(["log", "-1", format]), late);
    assert_eq!(rev(&project, "HEAD^{tree}"), tree);
    assert_eq!(done["before"][0]["subject"], "early");
    assert_eq!(done["after"][0]["author"], "Somebody Else");
    assert_eq!(kept(&project), [tip]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[track_caller]
fn refused(project: &Project, why: &str) {
    let tip = rev(project, "HEAD");
    ralph(project, &["squash"]).expect(2).says(why);
    assert_eq!(rev(project, "HEAD"), tip);
    assert_eq!(kept(project), [""; 0]);
}

#[test]
fn refuses_others_commits_between_by_name() {
    let stories = [story("A"), story_after("B", &["A"])];
    let project = Project::with_stories(&stories).script(&good_script());
    project.run(&["--once"]).expect(0);
    project.repo.file("person.txt", "work\n").commit("my work");
    project.run(&[]).expect(0);
    refused(&project, "lie between ralph's: ");
    ralph(&project, &["squash"])
        .expect(2)
        .says("my work (Test Person)");
}

#[test]
fn refuses_a_merge_after_a_dirty_tree_and_a_branch_without_commits_of_ralphs() {
    let project = landed();
    project.repo.file("C.txt", "mine\n");
    refused(&project, "not committed: C.txt");
    project.repo.git(["checkout", "-q", "--", "C.txt"]);
    project.repo.git(["switch", "-q", "main"]);
    refused(&project, "branch main has no commit of ralph's");
    project.repo.file("other.txt", "x\n").commit("other");
    project.repo.git(["switch", "-q", "ralph/work"]);
    project
        .repo
        .git(["merge", "-q", "-m", "brought in", "main"]);
    refused(&project, "can't be carried over: ");
}

#[test]
fn refuses_while_a_loop_runs() {
    let project = Project::with_stories(&[story("A")]);
    let (go, there) = (project.outside("go"), project.outside("there"));
    let made = project.repo.command("mkfifo").arg(&go).status().unwrap();
    assert!(made.success());
    let shell = format!(
        "touch {}; cat {} > /dev/null; echo A > A.txt; echo 'Task A complete'",
        there.display(),
        go.display()
    );
    let project = project.command(&shell);
    let live = project.start(&[]);
    crate::support::wait_until("the agent is at work", || there.exists());
    let pid = live.pid().as_raw_nonzero().to_string();
    ralph(&project, &["squash"])
        .expect(2)
        .says(&format!("process {pid}"))
        .says("`ralph stop`");
    std::fs::write(&go, "").unwrap();
    live.wait().expect(0);
}

#[test]
fn killed_at_every_step_it_is_done_or_not_begun() {
    let of_squash = [
        "rewrite-intended",
        "rewrite-kept",
        "branch-moved",
        "rewrite-recorded",
    ];
    for point in of_squash {
        assert!(failpoint::OF_REWRITES.contains(&point));
        let project = landed();
        let (tip, tree) = (rev(&project, "HEAD"), rev(&project, "HEAD^{tree}"));
        let mut command = project.ralph(&["squash"]);
        command.env("RALPH_FAILPOINT", point);
        let ran = Live::start(command).wait();
        assert_eq!(ran.code(), -9, "{point} is not passed: {}", ran.all());
        project.run(&[]).expect(0);
        let is_done = !["rewrite-intended", "rewrite-kept"].contains(&point);
        if is_done {
            assert_eq!(kept(&project), [tip], "{point}");
        } else {
            assert_eq!(rev(&project, "HEAD"), tip, "{point}");
            assert_eq!(kept(&project), [""; 0], "{point}");
            ralph(&project, &["squash"]).expect(0);
        }
        assert_eq!(trailers(&project, "Ralph-Task"), ["A", "B", "C"], "{point}");
        assert_eq!(rev(&project, "HEAD^{tree}"), tree, "{point}");
        assert_eq!(project.leftovers(), [""; 0], "{point}");
        ralph(&project, &["revert", "--iteration", "2"])
            .expect(2)
            .says("iteration 2 is part of the squash");
    }
}

#[test]
fn what_was_rebased_is_still_ralphs_to_squash() {
    let project = landed();
    project.repo.git(["switch", "-q", "main"]);
    project.repo.file("other.txt", "x\n").commit("other");
    let main = rev(&project, "main");
    project.repo.git(["switch", "-q", "ralph/work"]);
    project.repo.git(["rebase", "-q", "main"]);
    let tree = rev(&project, "HEAD^{tree}");
    let done = said(&ralph(&project, &["squash", "--json"]).expect(0));
    assert_eq!(done["before"][0]["subject"], "other");
    assert_eq!(rev(&project, "HEAD~1"), main);
    assert_eq!(rev(&project, "HEAD^{tree}"), tree);
    assert_eq!(trailers(&project, "Ralph-Task"), ["A", "B", "C"]);
}

#[test]
fn a_squash_that_a_person_undid_is_in_nobodys_way() {
    let project = landed();
    let done = said(&ralph(&project, &["squash", "--json"]).expect(0));
    let reference = done["reference"].as_str().unwrap();
    project.repo.git(["reset", "-q", "--hard", reference]);
    ralph(&project, &["revert", "--iteration", "3"]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(!project.passes("C") && project.passes("B"));
}
