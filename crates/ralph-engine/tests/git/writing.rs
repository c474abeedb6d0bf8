//! Trees and commits that are written by hand are the ones that git would have written.

use std::fs;
use std::os::unix::fs::symlink;

use ralph_engine::git::{GitEnvironment, Repo};
use ralph_testkit::TestRepo;

use crate::support::{head, land, open, stage};

/// The tree that git makes of all there is, by an index of its own.
fn tree_by_git(test: &TestRepo) -> String {
    let index = test.outside().join("other-index");
    let _ = fs::remove_file(&index);
    let run = |args: &[&str]| {
        let output = test
            .command("git")
            .env("GIT_INDEX_FILE", &index)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    run(&["add", "-A"]);
    run(&["write-tree"])
}

#[tokio::test]
async fn trees_are_those_of_git_through_a_long_change() {
    for format in ["sha1", "sha256"] {
        let test = TestRepo::bare_folder();
        let object_format = format!("--object-format={format}");
        test.git(["init", "-q", "-b", "main", &object_format]);
        // Names whose order in a tree depends on whether they are folders.
        for name in [
            "a.b",
            "a/c",
            "a0",
            "a-b/x",
            "a/b/c/d/e",
            "a/b.c",
            "z",
            "ü/ö",
        ] {
            test.file(name, name);
        }
        test.commit("start");
        let repo = open(&test).await;
        let mut base = head(&test);
        let steps: &[fn(&TestRepo) -> &TestRepo] = &[
            |t| t.file("a/b/c/d/f", "new\n"),
            |t| t.file("a-b/x", "changed\n").file("a0", "changed\n"),
            |t| t.remove("a/b").file("a/b", "a file now\n"),
            |t| t.script("run.sh", "#!/bin/sh\n").remove("ü"),
            |t| {
                symlink("z", t.path("a-b/link")).unwrap();
                t
            },
            |t| t.remove("z").file("z/y/x", "a folder now\n"),
            |t| t.remove("a").remove("a-b").remove("a.b"),
            |t| {
                for n in 0..3_000 {
                    t.file(format!("many/{n:04}-with-a-name-of-some-length"), "same\n");
                }
                t
            },
            |t| t.file("many/1500-with-a-name-of-some-length", "other\n"),
            |t| {
                for n in 0..100 {
                    t.file(format!("folders/{n}/x"), "more than are written by hand\n");
                }
                t
            },
            |t| t.file("folders/7/x", "one of them\n"),
        ];
        for (n, step) in steps.iter().enumerate() {
            step(&test);
            let expected = tree_by_git(&test);
            let staged = stage(&repo, &base).await;
            assert_eq!(staged.tree.as_str(), expected, "{format}, step {n}");
            base = land(&repo, &base, &staged).await.unwrap();
            assert_eq!(test.git(["rev-parse", "main^{tree}"]), expected);
            assert!(test.status().is_empty(), "{format}, step {n}");
        }
        test.git(["fsck", "--strict", "--no-dangling"]);
        // What ralph left in the index holds for git too.
        assert_eq!(
            test.git(["write-tree"]),
            test.git(["rev-parse", "main^{tree}"])
        );
    }
}

#[tokio::test]
async fn a_commit_is_what_git_would_have_written() {
    let test = TestRepo::new();
    let mut vars = test.environment();
    vars.push(("GIT_AUTHOR_NAME".into(), "Someone Else".into()));
    vars.push(("GIT_AUTHOR_EMAIL".into(), "else@test.invalid".into()));
    let state = test.data_dir().join("state");
    let environment = GitEnvironment::from_vars(vars);
    let repo = Repo::open(test.root(), &state, &environment).await.unwrap();
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let message = "feat: ünï\n\n\n# no comment\n  indented  \n\nA: b\n";
    let landing = ralph_engine::git::LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: "main",
        tree: &staged.tree,
        parent: &base,
        tip: &base,
        message,
        also: &[],
    };
    let commit = repo.land(&landing).await.unwrap();
    let time = test.git(["log", "-1", "--format=%ad", "--date=raw"]);
    let raw = test
        .command("git")
        .args(["cat-file", "commit", commit.as_str()])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8(raw.stdout).unwrap(),
        format!(
            "tree {}\nparent {base}\nauthor Someone Else <else@test.invalid> {time}\n\
             committer Test Person <person@test.invalid> {time}\n\n{message}",
            staged.tree
        )
    );
    // The same time and zone as git's own.
    let git_time = test.git(["var", "GIT_COMMITTER_IDENT"]);
    let (seconds, zone) = time.split_once(' ').unwrap();
    let mut words = git_time.rsplit(' ');
    assert_eq!(words.next(), Some(zone));
    let now: i64 = words.next().unwrap().parse().unwrap();
    assert!((0..60).contains(&(now - seconds.parse::<i64>().unwrap())));
}

#[tokio::test]
async fn what_is_not_understood_is_left_to_git() {
    let cases: &[(&str, &[&[&str]])] = &[
        ("version 4", &[&["update-index", "--index-version", "4"]]),
        ("split index", &[&["update-index", "--split-index"]]),
        (
            "sparse index",
            &[&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]],
        ),
        (
            "shared repository",
            &[&["config", "core.sharedRepository", "group"]],
        ),
        ("meant to be added", &[&["add", "-N", "in/meant"]]),
    ];
    for (name, commands) in cases {
        let test = TestRepo::new();
        test.file("in/a", "a\n")
            .file("out/b", "b\n")
            .commit("files");
        test.file("in/meant", "m\n");
        for command in *commands {
            test.git(*command);
        }
        let repo = open(&test).await;
        let base = repo.status().await.unwrap().head;
        test.file("in/new", "n\n");
        let staged = stage(&repo, &base).await;
        land(&repo, &base, &staged).await.unwrap();
        assert!(test.status().is_empty(), "{name}");
        assert_eq!(
            test.git(["ls-tree", "-r", "--name-only", "HEAD"]),
            "README.md\nin/a\nin/meant\nin/new\nout/b",
            "{name}"
        );
        test.git(["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn an_object_that_was_damaged_is_written_anew() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let tree = tree_by_git(&test);
    let object = test.path(format!(".git/objects/{}/{}", &tree[..2], &tree[2..]));
    fs::remove_file(&object).unwrap();
    fs::write(&object, "garbage").unwrap();
    let staged = stage(&repo, &base).await;
    assert_eq!(staged.tree.as_str(), tree);
    land(&repo, &base, &staged).await.unwrap();
    test.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn a_scan_that_was_started_early_is_used_once_and_only_if_it_still_holds() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    test.file("a", "a\n");
    repo.start_status().await;
    let seen = repo.status().await.unwrap();
    assert_eq!(seen.untracked, [std::path::Path::new("a")]);
    // Used up.
    test.file("b", "b\n");
    assert_eq!(repo.status().await.unwrap().untracked.len(), 2);
    // Another commit is checked out: what was seen is of no use.
    repo.start_status().await;
    test.commit("somebody else");
    let seen = repo.status().await.unwrap();
    assert_eq!(seen.head, head(&test));
    assert!(seen.is_clean(), "{seen:?}");
    // Something else comes in between.
    repo.start_status().await;
    test.file("c", "c\n");
    let staged = stage(&repo, &seen.head).await;
    assert_eq!(crate::support::told(&staged), ["+ c"]);
    assert_eq!(repo.status().await.unwrap().untracked.len(), 1);
}

#[tokio::test]
async fn what_an_agent_takes_out_of_the_index_is_tracked_all_the_same() {
    let test = TestRepo::new();
    test.file("prd.json", "{}\n").commit("prd");
    let tracked = async |repo: &Repo, name: &str| {
        let path = std::path::Path::new(name);
        repo.is_tracked(path).await.unwrap()
    };
    let repo = open(&test).await;
    repo.status().await.unwrap();
    test.file("new", "n\n").git(["add", "new"]);
    test.git(["rm", "-q", "--cached", "prd.json"]);
    assert!(tracked(&repo, "prd.json").await);
    assert!(!tracked(&repo, "new").await);
    // Opened afterwards, the index is the person's.
    let later = open(&test).await;
    assert!(!tracked(&later, "prd.json").await);
    assert!(tracked(&later, "new").await);
}
