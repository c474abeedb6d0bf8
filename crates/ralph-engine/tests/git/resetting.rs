//! Going back to the base: what an agent made goes, what a person had stays.

use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::symlink;

use ralph_engine::git::{History, ResetSpec};
use ralph_testkit::TestRepo;

use crate::support::{BRANCH, head, open, paths, reset, stage, told};

#[tokio::test]
async fn removes_what_was_created_and_restores_what_was_changed_or_deleted() {
    let test = TestRepo::new();
    test.file("a", "a\n")
        .file("dir/b", "b\n")
        .file(".gitignore", "*.log\n")
        .commit("files");
    test.file("mine.txt", "mine\n")
        .file("mine/deep.txt", "mine\n")
        .file("old.log", "log\n");
    let repo = open(&test).await;
    let before: HashSet<_> = repo.status().await.unwrap().untracked.into_iter().collect();
    let base = head(&test);
    test.file("a", "changed\n")
        .remove("dir")
        .file("new/x/y", "y\n")
        .file("mine/new", "n\n");
    test.file(".gitignore", "*.log\nnew\njunk\n")
        .file("junk", "j\n")
        .file("new.log", "log\n");
    test.git(["add", "-A"]);
    reset(&repo, &base, &before).await;
    assert_eq!(
        (test.read("a"), test.read("dir/b")),
        ("a\n".into(), "b\n".into())
    );
    assert!(!test.exists("new") && !test.exists("junk") && !test.exists("mine/new"));
    assert_eq!(
        (test.read("mine.txt"), test.read("mine/deep.txt")),
        ("mine\n".into(), "mine\n".into())
    );
    assert!(test.exists("old.log") && test.exists("new.log"));
    assert_eq!(test.status(), ["?? mine.txt", "?? mine/deep.txt"]);
}

#[tokio::test]
async fn takes_back_commits_kinds_modes_links_and_nested_repositories() {
    let test = TestRepo::new();
    test.file("file", "f\n")
        .file("folder/x", "x\n")
        .script("run", "#!/bin/sh\n")
        .commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("extra", "e\n").commit("agent");
    test.remove("file")
        .file("file/inner", "i\n")
        .remove("folder")
        .file("folder", "f\n");
    test.remove("run").file("run", "#!/bin/sh\n");
    symlink("/etc", test.path("link")).unwrap();
    test.git(["init", "-q", "nested"]);
    test.file("nested/x", "x\n");
    reset(&repo, &base, &HashSet::new()).await;
    assert_eq!(head(&test), base);
    assert!(test.status().is_empty());
    assert_eq!(
        (test.read("file"), test.read("folder/x")),
        ("f\n".into(), "x\n".into())
    );
    for gone in ["extra", "link", "nested"] {
        assert!(!test.exists(gone), "{gone}");
    }
}

#[tokio::test]
async fn marks_that_hide_files_from_git_do_not_keep_them_changed() {
    let test = TestRepo::new();
    test.file("a", "1\n").file("b", "1\n").commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.git(["update-index", "--assume-unchanged", "a"]);
    test.git(["update-index", "--skip-worktree", "b"]);
    test.file("a", "2\n").file("b", "2\n");
    reset(&repo, &base, &HashSet::new()).await;
    assert_eq!(
        (test.read("a"), test.read("b")),
        ("1\n".into(), "1\n".into())
    );
}

#[tokio::test]
async fn ralphs_own_untracked_files_and_nested_repositories_from_before_stay() {
    let test = TestRepo::new();
    test.git(["init", "-q", "theirs"]);
    test.file("theirs/x", "x\n")
        .file(".ralph/progress.md", "p\n");
    let repo = open(&test).await;
    let base = head(&test);
    let keep = paths(&["theirs"]);
    let own = [".ralph".into()];
    test.file("a", "a\n");
    let spec = ResetSpec {
        branch: BRANCH,
        base: &base,
        keep_untracked: &keep,
        own_paths: &own,
    };
    repo.reset_to(&spec).await.unwrap();
    assert!(test.exists("theirs/x") && test.exists(".ralph/progress.md") && !test.exists("a"));
}

#[tokio::test]
async fn moved_history_is_put_back_and_kept_aside() {
    let test = TestRepo::new();
    test.file("a", "a\n").commit("second");
    let repo = open(&test).await;
    let base = head(&test);
    test.git(["commit", "-q", "--amend", "-m", "amended"]);
    let amended = head(&test);
    test.git(["switch", "-q", "-c", "elsewhere"]);
    test.file("b", "b\n").commit("work elsewhere");
    let elsewhere = head(&test);
    assert!(matches!(
        stage(&repo, &base).await.history,
        History::LeftBranch { .. }
    ));

    let kept = repo
        .undo_moved_history(BRANCH, &base, &"0190-a".into())
        .await
        .unwrap();
    assert_eq!(
        (head(&test), test.branch()),
        (base.clone(), "refs/heads/main".to_owned())
    );
    let at = |name: &Option<String>| test.git(["rev-parse", name.as_ref().unwrap()]);
    assert_eq!(at(&kept.branch), amended.as_str());
    assert_eq!(at(&kept.head), elsewhere.as_str());
    assert_eq!(test.read("b"), "b\n");
    let staged = stage(&repo, &base).await;
    assert_eq!(
        (told(&staged), staged.history),
        (vec!["+ b".to_owned()], History::Unmoved)
    );
}

#[tokio::test]
async fn a_deleted_branch_and_a_reset_are_undone() {
    for command in [
        &["update-ref", "-d", "refs/heads/main"][..],
        &["reset", "-q", "--hard", "HEAD~1"],
    ] {
        let test = TestRepo::new();
        test.file("a", "a\n").commit("second");
        let repo = open(&test).await;
        let base = head(&test);
        test.git(command);
        repo.undo_moved_history(BRANCH, &base, &"0190-a".into())
            .await
            .unwrap();
        reset(&repo, &base, &HashSet::new()).await;
        assert_eq!(test.log_subjects(), ["second", "start"]);
        assert_eq!((test.read("a"), test.status()), ("a\n".to_owned(), vec![]));
    }
}

#[tokio::test]
async fn an_index_that_an_agent_broke_is_replaced() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    repo.status().await.unwrap();
    fs::write(test.path(".git/index"), "not an index").unwrap();
    test.file("a", "a\n");
    assert_eq!(told(&stage(&repo, &base).await), ["+ a"]);
    reset(&repo, &base, &HashSet::new()).await;
    assert!(test.status().is_empty());
}
