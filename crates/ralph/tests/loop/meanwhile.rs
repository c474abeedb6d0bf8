//! Things that others do while a loop runs, and some that only look like it: verify commands that write, a person who
//! commits, a repository that is moved, a clock that is set back, a ralph that is stopped.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::{
    checkpoints::sqlite,
    support::{Live, Project, good_script, prd, story, wait_until},
};

const MODES: [&str; 2] = ["overlay", "in_place"];

/// An agent that writes its file, says that it has begun, and ends when it is told to.
fn waiting_agent(mode: &str) -> Project {
    Project::with_stories(&[story("A")])
        .command(
            "echo x > A.txt; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done; \
             echo 'Task A complete'; touch \"$HOME/done\"",
        )
        .env("RALPH_WORKSPACE_MODE", mode)
}

fn wait_for_file(project: &Project, name: &str) {
    wait_until(name, || project.repo.home().join(name).exists());
}

fn begun(project: &Project) -> Live {
    let live = project.start(&[]);
    wait_for_file(project, "begun");
    live
}

fn go(project: &Project) {
    std::fs::write(project.repo.home().join("go"), "").unwrap();
}

#[test]
fn a_verify_command_that_changes_a_tracked_file_is_not_somebody_else() {
    for mode in MODES {
        let project = Project::with_stories(&[story("A"), story("B")])
            .config("verification:\n  commands:\n    - date +%N > build.stamp\n")
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("build.stamp", "0\n").commit("stamp");
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["A verified", "B verified"], "{mode}");
        assert_eq!(project.files_of("HEAD"), ["B.txt", "prd.json"], "{mode}");
        assert_eq!(project.repo.read("build.stamp"), "0\n", "{mode}");
        assert_eq!(project.leftovers(), [""; 0], "{mode}");
    }
}

#[test]
fn a_repository_that_is_moved_in_mid_run_gets_no_new_folder_at_the_old_place() {
    for mode in MODES {
        let project = waiting_agent(mode);
        let live = begun(&project);
        let (old, new) = (project.repo.root(), project.outside("moved"));
        std::fs::rename(old, &new).unwrap();
        go(&project);
        let ran = live.wait();
        let there = old.exists();
        std::fs::rename(&new, old).unwrap();
        assert!(!there, "{mode}: {}", ran.all());
        assert_eq!(ran.code(), 1, "{mode}: {}", ran.all());
        let said = format!("the repository is no longer at {}", old.display());
        assert!(ran.all().contains(&said), "{mode}: {}", ran.all());
        // Moved back, the loop goes on.
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{mode}");
    }
}

/// The ids of the loops, newest first.
fn loops(project: &Project) -> Vec<String> {
    let listed: Value = serde_json::from_str(&project.told(&["loops", "--json"])).unwrap();
    let rows = listed["loops"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_clock_that_goes_back_does_not_hide_the_last_loop() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.run(&[]).expect(0);
    // The clock was years ahead when this loop ran.
    sqlite(
        &project,
        "UPDATE loop SET started_at = '2099-01-01T00:00:00Z'",
    );
    let first = loops(&project);
    let mut a = story("A");
    a["passes"] = json!(true);
    let stories = prd(&[a, story("B"), story("C")]);
    project.repo.prd(&stories).commit("more");
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(ran.code(), -9);
    let both = loops(&project);
    assert_eq!(both.len(), 2);
    assert_eq!(both[1..], first, "the loop that was killed is the newest");
    // It is found, and gone on with.
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("loop_started")["loopId"], both[0].as_str());
    assert_eq!(loops(&project), both);
    assert_eq!(project.landed(), ["A", "B", "C"]);
}

#[test]
fn an_agent_that_finished_while_ralph_was_stopped_is_not_timed_out() {
    for mode in MODES {
        for limit in ["max_minutes_per_iteration", "idle_minutes"] {
            let project = waiting_agent(mode).config(&format!("loop: {{{limit}: 0.04}}\n"));
            let began = Instant::now();
            let live = begun(&project);
            live.signal(Signal::STOP);
            go(&project);
            wait_for_file(&project, "done");
            wait_until("the limit", || began.elapsed() > Duration::from_secs(4));
            live.signal(Signal::CONT);
            let ran = live.wait().expect(0);
            assert_eq!(ran.verdicts(), ["A verified"], "{mode} {limit}");
        }
    }
}

#[test]
fn a_persons_commit_during_a_run_is_not_squashed_into_ralphs() {
    let project = waiting_agent("overlay");
    let live = begun(&project);
    project.repo.file("mine.txt", "1\n").commit("by a person");
    go(&project);
    live.wait().expect(0);
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["feat: Write A", "by a person"]
    );
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    assert_eq!(project.files_of("HEAD~1"), ["mine.txt"]);
}

#[test]
fn a_persons_commit_in_the_folder_that_an_agent_works_in_is_kept_apart_and_stops_the_loop() {
    let project = waiting_agent("in_place");
    let base = project.repo.head();
    let live = begun(&project);
    project.repo.file("mine.txt", "1\n");
    project.repo.git(["add", "mine.txt"]);
    project
        .repo
        .git(["commit", "-q", "-m", "by a person", "--", "mine.txt"]);
    let commit = project.repo.head();
    go(&project);
    let ran = live.wait();
    assert_ne!(ran.code(), 0, "{}", ran.all());
    assert_eq!(project.landed(), [""; 0], "nothing is squashed");
    assert_eq!(project.repo.head(), base);
    let kept = project.repo.git([
        "for-each-ref",
        "--format=%(refname)",
        "--points-at",
        &commit,
    ]);
    assert!(kept.starts_with("refs/ralph/attempts/"), "{kept}");
    let said = format!("{} (by a person)", &commit[..10]);
    assert!(ran.all().contains(&said), "{}", ran.all());
    assert!(ran.all().contains(&format!("git merge {kept}")));
    // As the message says.
    project.repo.git(["merge", "-q", &kept]);
    assert_eq!(project.repo.read("mine.txt"), "1\n");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["feat: Write A", "by a person"]
    );
}
