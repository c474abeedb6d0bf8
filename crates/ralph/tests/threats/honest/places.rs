//! Repositories of other shapes: submodules, linked worktrees, separate git folders, alternates, subfolders,
//! shallow clones, and a person who works in the folder meanwhile.

use std::path::Path;

use serde_json::json;

use super::assert_all_landed;
use crate::scene::{MODES, deed, patient, refusals, story_by};
use crate::support::{Project, Ran, prd, wait_until};

/// Honest runs of this file, in one mode: two tasks in each place.
pub(super) const RUNS: usize = 2 * 8;

fn two(mode: &str) -> Project {
    let stories = ["H01", "H02"].map(|id| story_by(id, &[&format!("test -f {id}.txt")]));
    patient(Project::with_stories(&stories), mode).script(&json!({"default": [deed("work")]}))
}

fn git_at(project: &Project, folder: &Path, args: &[&str]) -> String {
    let output = project
        .repo
        .command("git")
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {args:?}: {said}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// The same as [`assert_all_landed`], for a repository elsewhere.
#[track_caller]
fn assert_landed_at(project: &Project, ran: &Ran, folder: &Path, how: &str) {
    assert_eq!(refusals(ran), ["", ""], "{how}");
    assert_eq!(ran.verdicts(), ["H01 verified", "H02 verified"], "{how}");
    assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    let subjects = git_at(project, folder, &["log", "--format=%s", "-2"]);
    assert_eq!(subjects, "feat: Write H02\nfeat: Write H01", "{how}");
    let status = git_at(
        project,
        folder,
        &["status", "--short", "--", "*.txt", "prd.json"],
    );
    assert_eq!(status, "", "{how}");
}

#[test]
fn a_linked_worktree() {
    for mode in MODES {
        let project = two(mode);
        let linked = project.outside("linked");
        let path = linked.to_str().unwrap();
        project
            .repo
            .git(["worktree", "add", "-q", "-b", "side", path]);
        let project = project.start_in(&linked);
        let ran = project.run(&[]);
        assert_landed_at(&project, &ran, &linked, mode);
        assert_eq!(project.repo.branch(), "refs/heads/main", "{mode}");
        assert!(project.repo.status().is_empty(), "{mode}");
    }
}

#[test]
fn a_separate_git_folder() {
    for mode in MODES {
        let project = two(mode);
        let apart = project.outside("apart.git");
        project
            .repo
            .git(["init", "-q", "--separate-git-dir", apart.to_str().unwrap()]);
        let ran = project.run(&[]);
        assert_all_landed(&project, &ran, 2, mode);
    }
}

#[test]
fn a_clone_that_borrows_its_objects_and_a_shallow_one() {
    for mode in MODES {
        for how in ["--shared", "--depth=1"] {
            let project = two(mode);
            project.repo.file("more", "x").commit("more");
            let clone = project.outside("clone");
            let from = format!("file://{}", project.repo.root().display());
            let from = if how == "--shared" { "." } else { &from };
            project
                .repo
                .git(["clone", "-q", how, from, clone.to_str().unwrap()]);
            let project = project.start_in(&clone);
            let ran = project.run(&[]);
            assert_landed_at(&project, &ran, &clone, &format!("{mode}, {how}"));
        }
    }
}

#[test]
fn a_repository_with_a_submodule() {
    for mode in MODES {
        // Where layers do not know submodules yet, the folder itself is worked in.
        let project = two(if mode == "overlay" { "auto" } else { mode });
        let module = project.outside("module");
        let path = module.to_str().unwrap();
        project.repo.git(["init", "-q", path]);
        std::fs::write(module.join("inner.txt"), "inner\n").unwrap();
        git_at(&project, &module, &["add", "-A"]);
        git_at(&project, &module, &["commit", "-q", "-m", "inner"]);
        project
            .repo
            .git(["submodule", "--quiet", "add", path, "sub"]);
        project.repo.commit("submodule");
        let project = project.script(&json!({"default": [
            deed("cat sub/inner.txt > \"$RALPH_TASK_ID.txt\""),
        ]}));
        let ran = project.run(&[]);
        assert_all_landed(&project, &ran, 2, mode);
        assert_eq!(project.repo.read("H02.txt"), "inner\n", "{mode}");
        assert!(project.repo.exists("sub/inner.txt"), "{mode}");
    }
}

#[test]
fn a_subfolder_to_start_from() {
    for mode in MODES {
        let project = two(mode);
        project.repo.file("deep/down/x", "x").commit("deep");
        let project = project.start_in("deep/down");
        let ran = project.run(&[]);
        assert_all_landed(&project, &ran, 2, mode);
    }
}

#[test]
fn a_person_who_works_beside_it() {
    for mode in MODES {
        let waits = "work; touch \"$HOME/begun-$RALPH_TASK_ID\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.02; done";
        let project = two(mode).script(&json!({"default": [deed(waits)]}));
        project.repo.file("mine.txt", "base\n").commit("mine");
        project.repo.file("untracked.txt", "of a person\n");
        let live = project.start(&[]);
        wait_until("the agent has begun", || {
            project.repo.home().join("begun-H01").exists()
        });
        if mode == "overlay" {
            project.repo.file("mine.txt", "person\n");
        }
        project.repo.file("new-of-person.txt", "n\n");
        std::fs::write(project.repo.home().join("go"), "").unwrap();
        let ran = live.wait();
        if mode == "overlay" {
            assert_all_landed(&project, &ran, 2, mode);
            assert_eq!(project.repo.read("mine.txt"), "person\n");
            assert!(project.repo.exists("new-of-person.txt"));
        } else {
            // In place nothing tells a new file of a person's from one of the agent's.
            assert_eq!(refusals(&ran), ["", ""], "{mode}");
            assert_eq!(ran.code(), 0, "{mode}: {}", ran.all());
        }
        assert_eq!(
            project.repo.read("untracked.txt"),
            "of a person\n",
            "{mode}"
        );
        let tracked = project.repo.git(["ls-files", "untracked.txt"]);
        assert_eq!(tracked, "", "{mode}");
    }
}

#[test]
fn an_untracked_task_file() {
    for mode in MODES {
        let project = patient(Project::new(), mode).script(&json!({"default": [deed("work")]}));
        project
            .repo
            .file(".gitignore", "prd.json\n")
            .commit("ignore");
        let stories = ["H01", "H02"].map(|id| story_by(id, &[&format!("test -f {id}.txt")]));
        project.repo.prd(&prd(&stories));
        let ran = project.run(&[]);
        assert_all_landed(&project, &ran, 2, mode);
        assert!(project.passes("H01") && project.passes("H02"), "{mode}");
    }
}
