//! `ralph revert` killed at every step: the next command finds either all of it done or none.

use ralph_engine::failpoint;

use super::{landed, landed_untracked, passing, ralph, rev};
use crate::support::{Live, Project, every_second};

fn killed_at(point: &str, project: &Project) {
    let mut command = project.ralph(&["revert", "--iteration", "2"]);
    command.env("RALPH_FAILPOINT", point);
    let ran = Live::start(command).wait();
    assert_eq!(ran.code(), -9, "{point} is not passed: {}", ran.all());
}

/// Before the branch moves nothing may have changed; from then on all of it must be done.
fn is_before_the_move(point: &str) -> bool {
    ["rewrite-intended", "rewrite-kept"].contains(&point)
}

fn kept(project: &Project) -> Vec<String> {
    let refs = project.repo.git([
        "for-each-ref",
        "--format=%(objectname)",
        "refs/ralph/reverted",
    ]);
    refs.lines().map(str::to_owned).collect()
}

fn unfinished(project: &Project) -> String {
    let db = project.repo.data_dir().join("ralph.db");
    let output = project
        .repo
        .command("sqlite3")
        .arg(db)
        .arg("SELECT count(*) FROM rewrite WHERE ended_at IS NULL")
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn the_next_run_ends_where_an_undisturbed_revert_and_run_would_have() {
    for (i, point) in failpoint::OF_REWRITES.into_iter().enumerate() {
        // With a task file that git knows and without one in turn; in a storm both each time.
        for make in every_second(&[landed, landed_untracked], i % 2) {
            let project = make();
            let tip = rev(&project, "HEAD");
            killed_at(point, &project);
            let ran = project.run(&[]).expect(0);
            assert_eq!(unfinished(&project), "0", "{point}");
            assert_eq!(project.landed(), ["A", "B", "C"], "{point}");
            assert_eq!(passing(&project), ["A", "B", "C"], "{point}");
            assert_eq!(project.leftovers(), [""; 0], "{point}");
            if is_before_the_move(point) {
                assert_eq!(rev(&project, "HEAD"), tip, "{point}: nothing is redone");
                assert_eq!(kept(&project), [""; 0], "{point}");
                assert!(ran.all().contains("is given up"), "{point}: {}", ran.all());
            } else {
                assert_eq!(ran.verdicts(), ["B verified", "C verified"], "{point}");
                assert_eq!(kept(&project), [tip], "{point}");
            }
        }
    }
}

#[test]
fn the_same_revert_again_does_it_or_says_that_it_is_done() {
    for point in failpoint::OF_REWRITES {
        let project = landed();
        let tip = rev(&project, "HEAD");
        killed_at(point, &project);
        let ran = ralph(&project, &["revert", "--iteration", "2"]);
        if is_before_the_move(point) {
            ran.expect(0);
        } else {
            let ran = ran.expect(2).says("iteration 2 is reverted already");
            if point != "rewrite-recorded" {
                ran.says("was interrupted, and is finished");
            }
        }
        assert_eq!(project.landed(), ["A"], "{point}");
        assert_eq!(passing(&project), ["A"], "{point}");
        assert_eq!(project.leftovers(), [""; 0], "{point}");
        assert_eq!(kept(&project), [tip], "{point}");
        assert_eq!(unfinished(&project), "0", "{point}");
    }
}

#[test]
fn what_a_person_changes_after_the_crash_is_left_alone() {
    let project = landed();
    killed_at("branch-moved", &project);
    project.repo.file("B.txt", "mine\n");
    ralph(&project, &["revert", "--iteration", "2"])
        .expect(2)
        .says("iteration 2 is reverted already");
    assert_eq!(project.repo.read("B.txt"), "mine\n");
    assert!(!project.repo.exists("C.txt"));
    assert_eq!(project.leftovers(), ["?? B.txt"]);
}
