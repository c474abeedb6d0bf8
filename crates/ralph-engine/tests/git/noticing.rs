//! Whether anything changed in a working tree is noticed without looking at what.

use std::{fs, path::Path};

use ralph_engine::git::Repo;
use ralph_testkit::TestRepo;

use crate::support::{head, open, stage, told};

async fn print(repo: &Repo) -> u64 {
    repo.fingerprint(Path::new(".ralph")).await.unwrap()
}

#[tokio::test]
async fn a_fingerprint_changes_with_the_tree_and_with_nothing_else() {
    let test = TestRepo::new();
    test.file(".gitignore", "target\n").file("kept.txt", "1\n");
    test.commit("files");
    let repo = open(&test).await;
    repo.status().await.unwrap();
    let root = repo.root().to_owned();
    let mut last = print(&repo).await;
    assert_eq!(print(&repo).await, last, "nothing happened");

    fs::create_dir(root.join(".ralph")).unwrap();
    fs::write(root.join(".ralph/log"), "ralph's own").unwrap();
    fs::create_dir(root.join("target")).unwrap();
    fs::write(root.join("target/out"), "ignored").unwrap();
    assert_eq!(print(&repo).await, last, "nobody's work");

    // A tracked file, an untracked one, more in it, the same size again, a deletion.
    let steps: [fn(&Path); 5] = [
        |root| fs::write(root.join("kept.txt"), "2\n").unwrap(),
        |root| fs::write(root.join("new.txt"), "a").unwrap(),
        |root| fs::write(root.join("new.txt"), "ab").unwrap(),
        |root| {
            fs::write(root.join("other"), "cd").unwrap();
            fs::rename(root.join("other"), root.join("new.txt")).unwrap();
        },
        |root| fs::remove_file(root.join("new.txt")).unwrap(),
    ];
    for (nth, step) in steps.into_iter().enumerate() {
        step(&root);
        let now = print(&repo).await;
        assert_ne!(now, last, "step {nth}");
        assert_eq!(print(&repo).await, now, "step {nth} once");
        last = now;
    }
}

#[tokio::test]
async fn looking_changes_nothing_of_what_is_staged_later() {
    let test = TestRepo::new();
    test.file("kept.txt", "1\n").commit("files");
    let repo = open(&test).await;
    repo.status().await.unwrap();
    let base = head(&test);
    fs::write(repo.root().join("kept.txt"), "2\n").unwrap();
    let index = fs::read(repo.root().join(".git/index")).unwrap();
    print(&repo).await;
    assert_eq!(fs::read(repo.root().join(".git/index")).unwrap(), index);
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged).len(), 1);
}
