//! The branch that ralph works on, and a person's work that is put aside for it.

use std::path::Path;

use ralph_engine::git::{BranchOutcome, GitError, Unstashed};
use ralph_testkit::TestRepo;

use crate::support::open;

#[tokio::test]
async fn a_branch_is_made_from_head_and_continued_later() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    assert_eq!(
        repo.switch_to_branch("ralph/login", None).await.unwrap(),
        BranchOutcome::Made
    );
    assert_eq!(test.branch(), "refs/heads/ralph/login");
    test.file("a", "a\n").commit("on the branch");
    test.git(["switch", "-q", "main"]);
    assert!(!test.exists("a"));
    assert_eq!(
        repo.switch_to_branch("ralph/login", None).await.unwrap(),
        BranchOutcome::Switched
    );
    assert_eq!(test.log_subjects(), ["on the branch", "start"]);
    assert_eq!((test.read("a"), test.status()), ("a\n".to_owned(), vec![]));
    assert_eq!(
        repo.switch_to_branch("ralph/login", None).await.unwrap(),
        BranchOutcome::Current
    );
}

#[tokio::test]
async fn a_branch_that_would_overwrite_work_is_not_switched_to() {
    let test = TestRepo::new();
    test.git(["switch", "-q", "-c", "other"]);
    test.file("README.md", "theirs\n")
        .file("new", "theirs\n")
        .commit("other");
    test.git(["switch", "-q", "main"]);
    let repo = open(&test).await;
    test.file("README.md", "mine\n").file("new", "mine\n");
    assert!(repo.switch_to_branch("other", None).await.is_err());
    assert_eq!(test.branch(), "refs/heads/main");
    assert_eq!(
        (test.read("README.md"), test.read("new")),
        ("mine\n".into(), "mine\n".into())
    );
}

#[tokio::test]
async fn odd_and_impossible_branch_names_are_refused() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    for name in ["-f", "a..b", "x.lock", "", "a b", "../x"] {
        let error = repo.switch_to_branch(name, None).await.unwrap_err();
        assert!(matches!(error, GitError::BadRefName { .. }), "{name}");
    }
    test.git(["branch", "ralph"]);
    assert!(repo.switch_to_branch("ralph/x", None).await.is_err());
    assert_eq!(test.branch(), "refs/heads/main");
}

#[tokio::test]
async fn a_dirty_tree_is_told_and_can_be_put_aside_and_brought_back() {
    let test = TestRepo::new();
    test.file("a", "a\n").file("prd.json", "{}\n").commit("a");
    test.file("a", "changed\n")
        .file("b b", "new\n")
        .file("prd.json", "{ }\n");
    test.file("c", "staged\n").git(["add", "c"]);
    let repo = open(&test).await;
    let status = repo.status().await.unwrap();
    let changed: Vec<_> = status
        .changed
        .iter()
        .map(|entry| entry.path.display().to_string())
        .collect();
    assert_eq!(changed, ["a", "c", "prd.json"]);
    assert_eq!(status.untracked, [Path::new("b b")]);

    let own = ["prd.json".into()];
    let stash = repo
        .stash_user_work("ralph: put aside", &own)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(test.status(), [" M prd.json", "?? \"b b\""]);
    assert!(test.git(["stash", "list"]).contains("ralph: put aside"));
    assert_eq!(repo.stash_user_work("again", &own).await.unwrap(), None);

    assert_eq!(
        repo.unstash_user_work(&stash).await.unwrap(),
        Unstashed::Back
    );
    assert_eq!(test.status(), [" M a", "A  c", " M prd.json", "?? \"b b\""]);
    assert_eq!(test.git(["stash", "list"]), "");
}

#[tokio::test]
async fn a_stash_that_does_not_fit_any_more_is_kept() {
    let test = TestRepo::new();
    test.file("README.md", "mine\n");
    let repo = open(&test).await;
    let stash = repo.stash_user_work("aside", &[]).await.unwrap().unwrap();
    test.file("README.md", "other\n").commit("other");
    let back = repo.unstash_user_work(&stash).await.unwrap();
    assert!(matches!(back, Unstashed::Kept { .. }));
    assert_eq!(test.read("README.md"), "other\n", "no marks of a conflict");
    assert_eq!(test.status(), [""; 0]);
    assert!(test.git(["stash", "list"]).contains("aside"));
}
