//! What an agent changed is seen and stored, whatever way it took.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use ralph_core::change::{ChangePolicy, Contents, DecidingFiles, EntryKind, inspect};
use ralph_engine::git::{History, Repo, StageSpec, Staged};
use ralph_testkit::TestRepo;

use crate::support::{head, land, open, paths, spec, stage, told};

/// Names in a tree, as git lists them.
fn tree(test: &TestRepo, staged: &Staged) -> Vec<String> {
    let args = [
        "-c",
        "core.quotePath=false",
        "ls-tree",
        "-r",
        "--name-only",
        staged.tree.as_str(),
    ];
    test.git(args).lines().map(str::to_owned).collect()
}

fn refusals(repo: &Repo, staged: &Staged) -> Vec<String> {
    let policy = ChangePolicy::default().compile().unwrap();
    let now = |path: &Path| fs::read(repo.root().join(path)).ok();
    let contents = Contents {
        now: &now,
        before: &|_| None,
    };
    inspect(
        &staged.change,
        &policy,
        &DecidingFiles::by_name(),
        &contents,
    )
    .refusals
    .iter()
    .map(ToString::to_string)
    .collect()
}

#[tokio::test]
async fn a_tree_that_nobody_touched_has_no_change() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    let staged = stage(&repo, &base).await;
    assert!(staged.change.is_empty());
    assert_eq!(staged.tree.as_str(), test.git(["rev-parse", "HEAD^{tree}"]));
    assert_eq!(staged.history, History::Unmoved);
}

#[tokio::test]
async fn sees_added_changed_and_deleted_files_and_stores_them() {
    let test = TestRepo::new();
    test.file("a", "1\n").file("gone", "x\n").commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "2\n").file("new/b", "b\n").remove("gone");
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ new/b", "- gone", "~ a"]);
    assert_eq!(tree(&test, &staged), ["README.md", "a", "new/b"]);
    assert_eq!(
        staged
            .change
            .changes
            .iter()
            .find(|c| c.path == Path::new("new/b"))
            .unwrap()
            .size,
        2
    );
    // Nothing that a person can see has changed.
    assert_eq!(test.status(), [" M a", " D gone", "?? new/b"]);
}

#[tokio::test]
async fn staging_twice_sees_the_later_state_against_the_same_base() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "1\n").file("b", "1\n");
    stage(&repo, &base).await;
    test.file("a", "2\n").remove("b");
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ a"]);
    assert_eq!(test.git(["show", &format!("{}:a", staged.tree)]), "2");
}

#[tokio::test]
async fn what_an_agent_staged_hid_or_unstaged_makes_no_difference() {
    let test = TestRepo::new();
    test.file("a", "1\n")
        .file("hidden", "1\n")
        .file("dropped", "1\n")
        .commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "2\n")
        .file("hidden", "2\n")
        .file("new", "n\n")
        .git(["add", "-A"]);
    test.git(["update-index", "--assume-unchanged", "hidden"]);
    test.file("hidden", "3\n");
    test.git(["rm", "-q", "--cached", "dropped"]);
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ new", "~ a", "~ hidden"]);
    assert_eq!(test.git(["show", &format!("{}:hidden", staged.tree)]), "3");
}

#[tokio::test]
async fn odd_names_are_bytes() {
    let test = TestRepo::new();
    let names: Vec<&OsStr> = [
        &b"sp ace"[..],
        b"qu\"ote'",
        b"new\nline",
        b"tab\t",
        b"\xff\xfe-not-utf8",
        b"-dash",
        b"star*[x]",
        b":(top)magic",
        b"back\\slash",
        "ünï".as_bytes(),
    ]
    .map(OsStr::from_bytes)
    .to_vec();
    for name in &names {
        test.file(name, "1\n");
    }
    test.commit("odd");
    let repo = open(&test).await;
    let base = head(&test);
    for name in &names {
        test.file(name, "2\n");
        test.file(Path::new("d").join(name), "new\n");
    }
    let staged = stage(&repo, &base).await;
    let seen: HashSet<&Path> = staged
        .change
        .changes
        .iter()
        .map(|c| c.path.as_path())
        .collect();
    assert_eq!(seen.len(), 20);
    for name in &names {
        assert!(seen.contains(Path::new(name)), "{name:?}");
        assert!(
            seen.contains(Path::new("d").join(name).as_path()),
            "{name:?}"
        );
    }
    land(&repo, &base, &staged).await.unwrap();
    assert!(test.status().is_empty());
    let stat = repo.diff_stat(&base, &head(&test), 3).await.unwrap();
    assert_eq!((stat.0.len(), stat.1), (3, 20));
    for name in &names {
        assert!(repo.is_tracked(Path::new(name)).await.unwrap(), "{name:?}");
    }
    assert!(!repo.is_tracked(Path::new("*")).await.unwrap());
}

#[tokio::test]
async fn untracked_files_from_before_and_ralphs_own_are_not_committed() {
    let test = TestRepo::new();
    test.file("prd.json", "{}\n")
        .file(".gitignore", "*.log\n")
        .commit("files");
    test.file("notes.txt", "mine\n");
    let repo = open(&test).await;
    let before: HashSet<PathBuf> = repo.status().await.unwrap().untracked.into_iter().collect();
    assert_eq!(before, paths(&["notes.txt"]));
    let base = head(&test);
    test.file("notes.txt", "touched\n")
        .file("a", "a\n")
        .file("x.log", "ignored\n");
    test.file("prd.json", "{\"passes\":true}\n")
        .file(".ralph/progress.md", "p\n");
    let own = [PathBuf::from("prd.json"), PathBuf::from(".ralph")];
    let spec = StageSpec {
        own_paths: &own,
        ..spec(&base, &before)
    };
    let staged = repo.stage(&spec).await.unwrap();
    assert_eq!(told(&staged), ["+ a"]);
    assert_eq!(
        tree(&test, &staged),
        [".gitignore", "README.md", "a", "prd.json"]
    );
    assert_eq!(
        test.git(["show", &format!("{}:prd.json", staged.tree)]),
        "{}"
    );
}

#[tokio::test]
async fn files_become_folders_and_folders_become_files_and_links() {
    let test = TestRepo::new();
    test.file("file", "f\n")
        .file("folder/x", "x\n")
        .file("folder/y", "y\n");
    test.file("linked/z", "z\n")
        .file("plain", "p\n")
        .commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.remove("file").file("file/inner", "i\n");
    test.remove("folder").file("folder", "now a file\n");
    test.file("elsewhere/z", "z2\n")
        .remove("linked")
        .remove("plain");
    symlink("elsewhere", test.path("linked")).unwrap();
    symlink("README.md", test.path("plain")).unwrap();
    let staged = stage(&repo, &base).await;
    assert_eq!(
        told(&staged),
        [
            "+ elsewhere/z",
            "+ file/inner",
            "+ folder",
            "+ linked",
            "- file",
            "- folder/x",
            "- folder/y",
            "- linked/z",
            "t plain",
        ]
    );
    assert_eq!(
        tree(&test, &staged),
        [
            "README.md",
            "elsewhere/z",
            "file/inner",
            "folder",
            "linked",
            "plain"
        ]
    );
    land(&repo, &base, &staged).await.unwrap();
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_mode_alone_is_a_change() {
    let test = TestRepo::new();
    test.file("run.sh", "#!/bin/sh\n").commit("script");
    let repo = open(&test).await;
    let base = head(&test);
    test.script("run.sh", "#!/bin/sh\n");
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["~ run.sh"]);
    assert_eq!(staged.change.changes[0].entry, EntryKind::Executable);
    assert!(
        test.git(["ls-tree", staged.tree.as_str(), "run.sh"])
            .starts_with("100755")
    );
}

#[tokio::test]
async fn a_touched_file_is_no_change() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("README.md", "scratch\n");
    assert!(stage(&repo, &base).await.change.is_empty());
}

#[tokio::test]
async fn commits_of_an_agent_are_seen_as_one_change_against_the_base() {
    let test = TestRepo::new();
    test.file(".gitignore", "dist\n").commit("ignore");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "1\n")
        .commit("agent one")
        .file("a", "2\n")
        .commit("agent two");
    test.file("dist/forced", "f\n")
        .git(["add", "-f", "dist/forced"]);
    test.git(["commit", "-q", "-m", "agent three"]);
    test.file("b", "not committed\n");
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ a", "+ b", "+ dist/forced"]);
    assert_eq!(staged.history, History::Ahead { tip: head(&test) });
    land(&repo, &base, &staged).await.unwrap();
    assert_eq!(test.log_subjects(), ["feat: landed", "ignore", "start"]);
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_file_that_is_too_large_is_named_but_not_stored() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    let big = fs::File::create(test.path("big.bin")).unwrap();
    big.set_len(2 << 30).unwrap();
    test.file("small", "s\n");
    let staged = stage(&repo, &base).await;
    assert_eq!(staged.left_out, [Path::new("big.bin")]);
    assert_eq!(tree(&test, &staged), ["README.md", "small"]);
    assert_eq!(
        refusals(&repo, &staged),
        ["big.bin has 2147483648 bytes, more than the 52428800 allowed"]
    );
}

#[tokio::test]
async fn a_nested_repository_is_refused_with_or_without_a_commit() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    for name in ["empty", "full"] {
        test.git(["init", "-q", name]);
        test.file(format!("{name}/x"), "x\n");
    }
    test.git(["-C", "full", "add", "-A"]);
    test.git(["-C", "full", "commit", "-q", "-m", "x"]);
    let staged = stage(&repo, &base).await;
    let said = "is a git repository of its own that .gitmodules does not name";
    let mut refused = refusals(&repo, &staged);
    refused.sort();
    assert_eq!(refused, [format!("empty {said}"), format!("full {said}")]);
}

#[tokio::test]
async fn a_submodule_that_an_agent_adds_or_moves_on_is_a_change_like_another() {
    let (test, library) = (TestRepo::new(), TestRepo::new());
    let repo = open(&test).await;
    let base = head(&test);
    let url = library.root().to_str().unwrap();
    test.git(["submodule", "--quiet", "add", url, "lib"]);
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ .gitmodules", "+ lib"]);
    assert!(refusals(&repo, &staged).is_empty());
    assert!(
        test.git(["ls-tree", staged.tree.as_str(), "lib"])
            .starts_with("160000 commit")
    );
    let base = land(&repo, &base, &staged).await.unwrap();
    test.git(["-C", "lib", "commit", "-q", "--allow-empty", "-m", "on"]);
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["~ lib"]);
}

#[tokio::test]
async fn a_pipe_in_place_of_a_file_is_refused_and_does_not_hang() {
    let test = TestRepo::new();
    test.file("a", "a\n").commit("a");
    let repo = open(&test).await;
    let base = head(&test);
    test.remove("a");
    assert!(test.command("mkfifo").arg("a").status().unwrap().success());
    let staged = stage(&repo, &base).await;
    assert_eq!(refusals(&repo, &staged), ["a is a pipe, socket or device"]);
    assert_eq!(staged.left_out, [Path::new("a")]);
}

#[tokio::test]
async fn history_that_moved_is_told_from_commits_on_top() {
    let cases: &[(&[&[&str]], &str)] = &[
        (
            &[&["commit", "-q", "--amend", "-m", "amended"]],
            "rewritten",
        ),
        (&[&["reset", "-q", "--hard", "HEAD~1"]], "rewritten"),
        (&[&["switch", "-q", "-c", "elsewhere"]], "left"),
        (&[&["checkout", "-q", "--detach"]], "left"),
        (
            &[
                &["switch", "-q", "-c", "x"],
                &["branch", "-q", "-D", "main"],
            ],
            "left",
        ),
        (&[&["update-ref", "-d", "refs/heads/main"]], "rewritten"),
        (
            &[&["commit", "-q", "--allow-empty", "-m", "on top"]],
            "ahead",
        ),
    ];
    for (commands, expected) in cases {
        let test = TestRepo::new();
        test.file("a", "a\n").commit("second");
        let repo = open(&test).await;
        let base = head(&test);
        for command in *commands {
            test.git(*command);
        }
        let found = match stage(&repo, &base).await.history {
            History::Unmoved => "unmoved",
            History::Ahead { .. } => "ahead",
            History::Rewritten { .. } => "rewritten",
            History::LeftBranch { .. } => "left",
        };
        assert_eq!(found, *expected, "{commands:?}");
    }
}
