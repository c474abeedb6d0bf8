//! Ralph killed with SIGKILL at every failpoint, in both kinds of workspace: nothing is mounted and nothing runs
//! afterwards, nothing of the person's is lost, and the next command sweeps what is left.

use rustix::process::Signal;
use serde_json::json;

use ralph_engine::failpoint;

use crate::scene::{assert_whole, deed, layers_left, patient, said_by, story_by, with_attempts};
use crate::support::{Project, every_second, is_storm, story, wait_until};

/// Two stories: the first fails once, so that every failpoint is passed, and both land.
fn project(mode: &str) -> Project {
    let wrong = deed("echo x > wrong.txt; echo agent > cache/warm; rm ignored.log");
    let right = deed("rm -f wrong.txt; work");
    let project = patient(Project::with_stories(&[story("A"), story("B")]), mode)
        .script(&json!({"tasks": {"A": [wrong, right]}, "default": [deed("work")]}));
    project
        .repo
        .file(".gitignore", "cache/\n*.log\n")
        .file("tracked.txt", "tracked\n")
        .commit("files");
    // What a person has in the folder besides the commits.
    project
        .repo
        .file("cache/warm", "person\n")
        .file("ignored.log", "person\n");
    project.repo.git(["branch", "other"]);
    project.repo.git(["config", "user.note", "person"]);
    project
        .repo
        .git(["stash", "store", "-m", "kept", &stash(&project)]);
    with_attempts(project)
}

/// A stash without a change of the folder.
fn stash(project: &Project) -> String {
    project.repo.file("tracked.txt", "stashed\n");
    let made = project.repo.git(["stash", "create"]);
    project.repo.git(["checkout", "-q", "--", "tracked.txt"]);
    made
}

/// Fails if anything is mounted below the project's folders, or runs for it.
#[track_caller]
fn assert_nothing_mounted(project: &Project, how: &str) {
    project.assert_nothing_alive();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let place = project.repo.outside().display().to_string();
    assert!(!mounts.contains(&place), "{how}: {mounts}");
}

/// Fails if something of the person's is not as it was. In place an agent may do to ignored files what it
/// likes; in a layer it can't.
#[track_caller]
fn assert_nothing_lost(project: &Project, mode: &str, before: &str, how: &str) {
    assert_eq!(crate::scene::refs(project), before, "{how}");
    let note = project.repo.git(["config", "user.note"]);
    assert_eq!(note, "person", "{how}");
    if mode == "overlay" {
        assert_eq!(project.repo.read("cache/warm"), "person\n", "{how}");
        assert_eq!(project.repo.read("ignored.log"), "person\n", "{how}");
        assert!(!project.repo.exists("wrong.txt"), "{how}");
    }
}

fn killed_at(mode: &str, point: &str, pass: u32) {
    let how = format!("{mode}, {point}:{pass}");
    let project = project(mode);
    let before = crate::scene::refs(&project);
    let ran = project.run_with("RALPH_FAILPOINT", &format!("{point}:{pass}"));
    assert_eq!(ran.code(), -9, "{how} is not passed: {}", ran.all());
    assert_nothing_mounted(&project, &how);
    assert_nothing_lost(&project, mode, &before, &how);
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    assert_eq!(project.landed(), ["A", "B"], "{how}");
    assert_nothing_lost(&project, mode, &before, &how);
    assert!(!project.repo.exists("wrong.txt"), "{how}");
    assert_whole(&project, &how);
    assert_nothing_mounted(&project, &how);
}

/// Kills at one half of the places, so that the tests share the processors; in a storm at two passes of each.
fn killed_everywhere(mode: &str, points: &[&str]) {
    for point in points {
        // In place there is no folder to follow.
        if mode == "in_place" && *point == "folder-followed" {
            continue;
        }
        let once = ["loop-begun", "attempt-taken-up", "verified", "kept"].contains(point);
        let passes = if once || !is_storm() { 1 } else { 2 };
        for pass in 1..=passes {
            killed_at(mode, point, pass);
        }
    }
}

const HALF: usize = failpoint::ALL.len() / 2;

#[test]
fn at_every_early_step_with_layers() {
    killed_everywhere("overlay", &failpoint::ALL[..HALF]);
}

#[test]
fn at_every_late_step_with_layers() {
    killed_everywhere("overlay", &failpoint::ALL[HALF..]);
}

#[test]
fn at_every_early_step_in_place() {
    killed_everywhere("in_place", &every_second(&failpoint::ALL[..HALF], 0));
}

#[test]
fn at_every_late_step_in_place() {
    killed_everywhere("in_place", &every_second(&failpoint::ALL[HALF..], 0));
}

/// Kills ralph while a program of this kind waits with its layer mounted.
fn killed_in(key: &str) {
    let waits = "touch \"$HOME/begun\"; echo half > half.txt; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done";
    let project = patient(
        Project::with_stories(&[story_by("A", &["test -f A.txt"])]),
        "overlay",
    )
    .script(&json!({"default": [deed("work")]}))
    .env("RALPH_VERIFICATION_BASELINE", "false");
    let config = format!("verification:\n  {key}:\n    - {}\n", json!(waits));
    let project = with_attempts(project).config(&config);
    let before = crate::scene::refs(&project);
    let live = project.start(&[]);
    wait_until("the command has begun", || {
        project.repo.home().join("begun").exists()
    });
    live.signal(Signal::KILL);
    live.wait().expect(-9);
    assert_nothing_mounted(&project, key);
    assert_eq!(crate::scene::refs(&project), before, "{key}");
    assert_eq!(project.leftovers(), [""; 0], "{key}");
    std::fs::write(project.repo.home().join("go"), "").unwrap();
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"], "{key}");
    let with_half = key == "format";
    assert_eq!(project.repo.exists("half.txt"), with_half, "{key}");
    assert_whole(&project, key);
}

#[test]
fn in_the_midst_of_formatting_preparing_and_verifying() {
    for key in ["format", "prepare", "commands"] {
        killed_in(key);
    }
}

#[test]
fn any_next_command_sweeps_what_is_left_and_finishes_what_landed() {
    for point in [
        "agent-running:2",
        "verified",
        "committed",
        "folder-followed",
    ] {
        for command in [&["status"][..], &["tasks", "list"], &["report"]] {
            let how = format!("{point}, {command:?}");
            let project = project("overlay");
            let ran = project.run_with("RALPH_FAILPOINT", point);
            assert_eq!(ran.code(), -9, "{how}: {}", ran.all());
            said_by(&project, command);
            assert_eq!(project.leftovers(), [""; 0], "{how}");
            // At most the layer of the interrupted iteration, with its lock, is left to go on with.
            let left = layers_left(&project);
            assert!(left.len() <= 2, "{how}: {left:?}");
        }
    }
}
