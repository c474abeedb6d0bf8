//! Files that are stored by hand are those that git would store as they are, and no others.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use ralph_engine::git::{LandRequest, Oid, Repo};
use ralph_testkit::TestRepo;

use crate::support::{BRANCH, head, land, open, open_with, stage};

/// Puts a rule for line ends somewhere.
type Prepare<'a> = &'a dyn Fn(&TestRepo);

const WINDOWS: &str = "one\r\ntwo\r\n";
const AS_IT_IS: &str = "10";
const LINE_ENDS_CHANGED: &str = "8";

/// Stages `in/new.txt` and lands it with `in/tasks.txt`, both with line ends of Windows.
async fn land_both(test: &TestRepo, repo: &Repo, base: &Oid) {
    test.file("in/new.txt", WINDOWS);
    let staged = stage(repo, base).await;
    test.file("in/tasks.txt", WINDOWS);
    let landing = LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: BRANCH,
        tree: &staged.tree,
        parent: base,
        tip: base,
        message: "feat: both\n",
        also: &[PathBuf::from("in/tasks.txt")],
    };
    repo.land(&landing).await.unwrap();
}

fn sizes(test: &TestRepo) -> [String; 2] {
    ["HEAD:in/new.txt", "HEAD:in/tasks.txt"].map(|name| test.git(["cat-file", "-s", name]))
}

/// Whether the object of a path is stored without compression, which git does not do.
fn is_by_hand(test: &TestRepo, name: &str, content: &str) -> bool {
    let oid = test.git(["rev-parse", name]);
    let object = test.path(format!(".git/objects/{}/{}", &oid[..2], &oid[2..]));
    let bytes = fs::read(object).unwrap();
    bytes
        .windows(content.len())
        .any(|part| part == content.as_bytes())
}

/// Opens a repository by the git of the machine, or by one before 2.41, which can't name its files of attributes.
async fn open_by(test: &TestRepo, git: Git) -> Repo {
    let Git::Old = git else {
        return open(test).await;
    };
    let folder = test.outside().join("old");
    fs::create_dir_all(&folder).unwrap();
    let script = "#!/bin/sh\nfor word; do case $word in GIT_ATTR_*) exit 129;; esac; done\n\
                  PATH=${PATH#*:} exec git \"$@\"\n";
    let program = folder.join("git");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    open_with(test, &folder).await
}

#[derive(Debug, Clone, Copy)]
enum Git {
    OfTheMachine,
    Old,
}

#[tokio::test]
async fn files_without_attributes_are_stored_as_they_are_without_git() {
    for git in [Git::OfTheMachine, Git::Old] {
        store_without_git(git).await;
    }
}

async fn store_without_git(git: Git) {
    let test = TestRepo::new();
    test.file("in/tasks.txt", "x\n").commit("tasks");
    let repo = open_by(&test, git).await;
    land_both(&test, &repo, &head(&test)).await;
    assert_eq!(sizes(&test), [AS_IT_IS, AS_IT_IS]);
    for name in ["HEAD:in/new.txt", "HEAD:in/tasks.txt"] {
        assert!(is_by_hand(&test, name, WINDOWS), "{name} {git:?}");
    }
    assert!(test.status().is_empty());
    test.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn attributes_hold_wherever_they_stand() {
    const RULE: &str = "*.txt text\n";
    let global = |test: &TestRepo| {
        let folder = test.home().join(".config/git");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("attributes"), RULE).unwrap();
    };
    let cases: &[(&str, Prepare<'_>)] = &[
        ("of the top", &|t| {
            t.file(".gitattributes", RULE);
        }),
        ("of the folder", &|t| {
            t.file("in/.gitattributes", RULE);
        }),
        ("only in the index", &|t| {
            t.file(".gitattributes", RULE).commit("attributes");
            t.git(["update-index", "--skip-worktree", ".gitattributes"]);
            t.remove(".gitattributes");
        }),
        ("of the repository", &|t| {
            t.file(".git/info/attributes", RULE);
        }),
        ("of the person", &global),
        ("a file that is named", &|t| {
            fs::write(t.outside().join("named"), RULE).unwrap();
            let named = t.outside().join("named");
            t.git(["config", "core.attributesFile", named.to_str().unwrap()]);
        }),
        ("a file that is named from the repository", &|t| {
            t.file("named", RULE).commit("named");
            t.git(["config", "core.attributesFile", "named"]);
        }),
        ("a setting", &|t| {
            t.git(["config", "core.autocrlf", "input"]);
        }),
    ];
    let gits = [Git::OfTheMachine, Git::Old];
    let cases = cases.iter().flat_map(|case| gits.map(|git| (case, git)));
    for ((name, prepare), git) in cases {
        let test = TestRepo::new();
        test.file("in/tasks.txt", "x\n").commit("tasks");
        prepare(&test);
        let repo = open_by(&test, git).await;
        let base = repo.status().await.unwrap().head;
        land_both(&test, &repo, &base).await;
        assert_eq!(
            sizes(&test),
            [LINE_ENDS_CHANGED, LINE_ENDS_CHANGED],
            "{name} {git:?}"
        );
        test.git(["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn attributes_that_an_agent_adds_hold_for_its_own_files() {
    let test = TestRepo::new();
    test.file("in/tasks.txt", "x\n").commit("tasks");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("before", "plain\n");
    let staged = stage(&repo, &base).await;
    let base = land(&repo, &base, &staged).await.unwrap();
    test.file(".gitattributes", "*.txt text\n");
    land_both(&test, &repo, &base).await;
    assert_eq!(sizes(&test), [LINE_ENDS_CHANGED, LINE_ENDS_CHANGED]);
}

#[tokio::test]
async fn a_large_file_is_left_to_git() {
    let test = TestRepo::new();
    let large = "x".repeat(70_000);
    let repo = open(&test).await;
    let base = head(&test);
    test.file("large", &large);
    let staged = stage(&repo, &base).await;
    land(&repo, &base, &staged).await.unwrap();
    assert!(!is_by_hand(&test, "HEAD:large", &large));
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_change_right_after_landing_is_seen_though_size_and_time_are_the_same() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "one\n");
    let staged = stage(&repo, &base).await;
    let time = fs::metadata(test.path("a")).unwrap().modified().unwrap();
    land(&repo, &base, &staged).await.unwrap();
    let file = fs::File::options()
        .write(true)
        .open(test.path("a"))
        .unwrap();
    std::io::Write::write_all(&mut &file, b"two\n").unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(test.status(), [" M a"]);
    let seen = repo.status().await.unwrap();
    assert_eq!(seen.changed.len(), 1);
}
