//! Settings, hooks and filters that an agent plants: none of them may run in any call of ralph's,
//! also before what was planted is taken away. Each plant is shown to work on a plain git first.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::change::ChangePolicy;
use ralph_engine::git::{Guard, LandRequest, Repo};
use ralph_testkit::TestRepo;

use crate::support::{BRANCH, head, land, open, reset, stage};

/// One thing planted, and a plain command that it runs in.
pub(crate) struct Plant {
    pub(crate) name: &'static str,
    /// Gets the repository and the program to plant.
    pub(crate) plant: fn(&TestRepo, &str),
    pub(crate) triggers: &'static [&'static [&'static str]],
}

const STATUS: &[&[&str]] = &[&["status"]];
const COMMIT: &[&[&str]] = &[
    &["add", "-A"],
    &["commit", "-q", "--allow-empty", "-m", "plain"],
];
const DIFF: &[&[&str]] = &[&["diff"]];

fn hook(test: &TestRepo, name: &str, program: &str) {
    let path = format!(".git/hooks/{name}");
    test.script(&path, &format!("#!/bin/sh\nexec {program}\n"));
}

fn attributes(test: &TestRepo, line: &str) {
    test.file(".git/info/attributes", format!("{line}\n"));
}

/// Every plant lies in the git folder, but the last three.
pub(crate) const PLANTS: &[Plant] = &[
    Plant {
        name: "pre-commit hook",
        plant: |t, p| hook(t, "pre-commit", p),
        triggers: COMMIT,
    },
    Plant {
        name: "post-commit hook",
        plant: |t, p| hook(t, "post-commit", p),
        triggers: COMMIT,
    },
    Plant {
        name: "reference-transaction hook",
        plant: |t, p| hook(t, "reference-transaction", p),
        triggers: COMMIT,
    },
    Plant {
        name: "post-index-change hook",
        plant: |t, p| hook(t, "post-index-change", p),
        triggers: COMMIT,
    },
    Plant {
        name: "post-checkout hook",
        plant: |t, p| hook(t, "post-checkout", p),
        triggers: &[&["checkout", "-q", "-b", "plain"]],
    },
    Plant {
        name: "core.hooksPath",
        plant: |t, p| {
            t.script("../hooks/pre-commit", &format!("#!/bin/sh\nexec {p}\n"));
            let hooks = t.outside().join("hooks");
            t.git(["config", "core.hooksPath", hooks.to_str().unwrap()]);
        },
        triggers: COMMIT,
    },
    Plant {
        name: "core.fsmonitor",
        plant: |t, p| drop(t.git(["config", "core.fsmonitor", p])),
        triggers: STATUS,
    },
    Plant {
        name: "clean filter",
        plant: |t, p| {
            t.git(["config", "filter.x.clean", p]);
            attributes(t, "* filter=x");
        },
        triggers: COMMIT,
    },
    Plant {
        name: "smudge filter",
        plant: |t, p| {
            t.git(["config", "filter.x.smudge", p]);
            attributes(t, "* filter=x");
        },
        triggers: &[
            &["checkout", "-q", "HEAD~1", "--", "."],
            &["checkout", "-q", "HEAD", "--", "."],
        ],
    },
    Plant {
        name: "process filter",
        plant: |t, p| {
            t.git(["config", "filter.x.process", p]);
            attributes(t, "* filter=x");
        },
        triggers: COMMIT,
    },
    Plant {
        name: "include.path",
        plant: |t, p| {
            t.file("../included", format!("[core]\n\tfsmonitor = {p}\n"));
            let included = t.outside().join("included");
            t.git(["config", "include.path", included.to_str().unwrap()]);
        },
        triggers: STATUS,
    },
    Plant {
        name: "includeIf",
        plant: |t, p| {
            t.file("../included", format!("[core]\n\tfsmonitor = {p}\n"));
            let included = t.outside().join("included");
            t.git([
                "config",
                "includeIf.onbranch:**.path",
                included.to_str().unwrap(),
            ]);
        },
        triggers: STATUS,
    },
    Plant {
        name: "diff.external",
        plant: |t, p| drop(t.git(["config", "diff.external", p])),
        triggers: DIFF,
    },
    Plant {
        name: "diff driver",
        plant: |t, p| {
            t.git(["config", "diff.x.command", p]);
            attributes(t, "* diff=x");
        },
        triggers: DIFF,
    },
    Plant {
        name: "textconv",
        plant: |t, p| {
            t.git(["config", "diff.x.textconv", p]);
            attributes(t, "* diff=x");
        },
        triggers: DIFF,
    },
    Plant {
        name: "gpg.program",
        plant: |t, p| {
            t.git(["config", "commit.gpgSign", "true"]);
            t.git(["config", "gpg.program", p]);
        },
        triggers: COMMIT,
    },
    Plant {
        name: "core.editor",
        plant: |t, p| drop(t.git(["config", "core.editor", p])),
        triggers: &[&["commit", "--allow-empty"]],
    },
    Plant {
        name: "worktree config",
        plant: |t, p| {
            t.git(["config", "extensions.worktreeConfig", "true"]);
            t.git(["config", "--worktree", "core.fsmonitor", p]);
        },
        triggers: STATUS,
    },
    Plant {
        name: "attributes in the working tree",
        plant: |t, p| {
            t.git(["config", "filter.x.clean", p]);
            t.file(".gitattributes", "* filter=x\n");
        },
        triggers: COMMIT,
    },
    Plant {
        name: "settings of the person",
        plant: |t, p| drop(t.git(["config", "--global", "core.fsmonitor", p])),
        triggers: STATUS,
    },
    Plant {
        name: "settings of a submodule",
        plant: |t, p| {
            t.git(["-C", "lib", "config", "core.fsmonitor", p]);
            t.git(["-C", "lib", "config", "filter.x.clean", p]);
            t.file("lib/.gitattributes", "* filter=x\n")
                .file("lib/README.md", "changed\n");
        },
        triggers: STATUS,
    },
];

/// A repository with a past and a submodule, and a program that leaves a marker.
pub(crate) fn scene() -> (TestRepo, TestRepo, String, PathBuf) {
    let (test, library) = (TestRepo::new(), TestRepo::new());
    test.git([
        "submodule",
        "--quiet",
        "add",
        library.root().to_str().unwrap(),
        "lib",
    ]);
    test.file("a", "1\n")
        .file("prd.json", "{}\n")
        .commit("first");
    test.file("a", "2\n").commit("second");
    let marker = test.outside().join("marker");
    let text = format!("#!/bin/sh\ntouch {}\nexec cat\n", marker.display());
    test.script("../program", &text);
    let program = test.outside().join("program").to_str().unwrap().to_owned();
    (test, library, program, marker)
}

/// Every call that ralph makes, on a tree with changes of all kinds.
async fn every_call(repo: &Repo, test: &TestRepo) {
    let _ = repo.preflight().await;
    repo.status().await.unwrap();
    let base = head(test);
    test.file("a", "3\n")
        .file("new", "n\n")
        .file("prd.json", "{ }\n")
        .remove("README.md");
    let staged = stage(repo, &base).await;
    let policy = ChangePolicy::default().compile().unwrap();
    let kept = repo
        .save_attempt(&"0190-a".into(), &base, &staged.tree, &policy)
        .await
        .unwrap();
    let keep = HashSet::new();
    reset(repo, &base, &keep).await;
    repo.start_from_attempt(&kept.reference, &base)
        .await
        .unwrap();
    test.file("b", "b\n");
    let staged = stage(repo, &base).await;
    repo.diff_stat(&base, &staged.tree, 10).await.unwrap();
    repo.read_at(&base, Path::new("a"), 100)
        .await
        .unwrap()
        .unwrap();
    test.file("prd.json", "{  }\n");
    let also = [PathBuf::from("prd.json")];
    let landing = LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: BRANCH,
        tree: &staged.tree,
        parent: &base,
        tip: &base,
        message: "feat: x\n\nRalph-Iteration: 1\n",
        also: &also,
    };
    let base = repo.land(&landing).await.unwrap();
    repo.match_index_to_head().await.unwrap();
    repo.find_commit_with_trailer(&base, BRANCH, "Ralph-Iteration", "1")
        .await
        .unwrap();
    repo.is_tracked(Path::new("a")).await.unwrap();
    test.file("prd.json", "{   }\n");
    repo.commit_paths("chore: x\n", &also).await.unwrap();
    test.file("a", "4\n").file("c", "c\n");
    let stash = repo.stash_user_work("aside", &[]).await.unwrap().unwrap();
    repo.unstash_user_work(&stash).await.unwrap();
    let base = head(test);
    let staged = stage(repo, &base).await;
    let base = land(repo, &base, &staged).await.unwrap();
    repo.history(&base, BRANCH).await.unwrap();
    repo.switch_to_branch("ralph/x", None).await.unwrap();
    repo.switch_to_branch("main", None).await.unwrap();
    // By plumbing, so that this test's own git runs nothing that was planted.
    test.file(".git/HEAD", format!("{base}\n"));
    repo.undo_moved_history(BRANCH, &base, &"0190-b".into())
        .await
        .unwrap();
    reset(repo, &base, &keep).await;
}

#[tokio::test]
async fn nothing_planted_runs_in_any_call_of_ralphs() {
    for planted in PLANTS {
        let (test, _library, program, marker) = scene();
        let repo = open(&test).await;
        (planted.plant)(&test, &program);
        // Planting is done by git, which may have run it already.
        let _ = fs::remove_file(&marker);
        every_call(&repo, &test).await;
        assert!(
            !marker.exists(),
            "ralph ran what was planted as {}",
            planted.name
        );
    }
}

/// Without this, a plant that does not work would pass for one that was not run.
#[test]
fn everything_planted_runs_in_a_plain_git() {
    for planted in PLANTS {
        let (test, _library, program, marker) = scene();
        (planted.plant)(&test, &program);
        let _ = fs::remove_file(&marker);
        test.file("a", "changed\n");
        for trigger in planted.triggers {
            test.try_git(*trigger);
        }
        assert!(marker.exists(), "{} has no effect", planted.name);
    }
}

#[tokio::test]
async fn what_was_planted_in_the_git_folder_is_taken_away_for_the_person_too() {
    for planted in &PLANTS[..PLANTS.len() - 3] {
        let (test, _library, program, marker) = scene();
        let repo = open(&test).await;
        let guard = Guard::take(&repo).unwrap();
        (planted.plant)(&test, &program);
        let tampered = guard.restore_changed().unwrap();
        assert!(!tampered.is_empty(), "{}", planted.name);
        let _ = fs::remove_file(&marker);
        test.file("a", "changed\n");
        for trigger in planted.triggers {
            test.try_git(*trigger);
        }
        assert!(!marker.exists(), "{} is still there", planted.name);
        assert!(guard.restore_changed().unwrap().is_empty() || planted.name.contains("checkout"));
    }
}

#[tokio::test]
async fn opening_a_repository_runs_nothing_of_it() {
    for planted in PLANTS {
        let (test, _library, program, marker) = scene();
        (planted.plant)(&test, &program);
        let _ = fs::remove_file(&marker);
        open(&test).await;
        assert!(!marker.exists(), "opening ran {}", planted.name);
    }
}
