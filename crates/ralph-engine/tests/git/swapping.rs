//! The branch is moved by hand: others that move it at the same time, or hold its lock, lose nothing.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ralph_engine::git::{GitError, LandError, LandRequest, LockOwner, Oid, Repo, Staged};
use ralph_testkit::TestRepo;

use crate::support::{BRANCH, head, land, open, open_at, spec, stage};

async fn land_on(repo: &Repo, branch: &str, base: &Oid, staged: &Staged) -> Result<Oid, LandError> {
    repo.land(&LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch,
        tree: &staged.tree,
        parent: base,
        tip: base,
        message: "feat: landed\n",
        also: &[],
    })
    .await
}

/// Commits on the branch by plain git, as long as nobody says stop; returns the commits that won.
fn move_until(test: &TestRepo, stop: &AtomicBool) -> Vec<String> {
    let mut won = Vec::new();
    let tree = test.git(["rev-parse", "main^{tree}"]);
    for n in 0.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let old = test.git(["rev-parse", "main"]);
        let message = format!("theirs {n}");
        let new = test.git(["commit-tree", "-p", &old, "-m", &message, &tree]);
        let moved = test
            .command("git")
            .args(["update-ref", "refs/heads/main", &new, &old])
            .output()
            .unwrap();
        if moved.status.success() {
            won.push(new);
        }
    }
    won
}

#[tokio::test]
async fn of_two_that_move_a_branch_at_once_neither_is_lost() {
    let test = Arc::new(TestRepo::new());
    let repo = open(&test).await;
    test.file("a", "a\n");
    let staged = stage(&repo, &head(&test)).await;
    let stop = Arc::new(AtomicBool::new(false));
    let theirs = std::thread::spawn({
        let (test, stop) = (Arc::clone(&test), Arc::clone(&stop));
        move || move_until(&test, &stop)
    });
    let mut ours = Vec::new();
    let mut refused = 0;
    // Until each has won and lost a few times, within reason.
    for _ in 0..300 {
        let tip = fs::read_to_string(test.path(".git/refs/heads/main")).unwrap();
        let tip = Oid::parse(&tip).unwrap();
        match land_on(&repo, BRANCH, &tip, &staged).await {
            Ok(commit) => ours.push(commit.to_string()),
            Err(LandError::Moved { expected, found }) => {
                assert_eq!(expected, tip.to_string());
                assert_ne!(found, expected);
                refused += 1;
            }
            Err(error) => panic!("{error}"),
        }
        if ours.len() >= 5 && refused >= 5 {
            break;
        }
    }
    stop.store(true, Ordering::SeqCst);
    let theirs = theirs.join().unwrap();
    let history = test.git(["rev-list", "--first-parent", "main"]);
    let history: Vec<&str> = history.lines().collect();
    for commit in ours.iter().chain(&theirs) {
        assert!(history.contains(&commit.as_str()), "{commit} was lost");
    }
    // Nothing else is there but the first commit.
    assert_eq!(history.len(), ours.len() + theirs.len() + 1);
    assert!(!ours.is_empty() && !theirs.is_empty() && refused > 0);
    test.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn a_branch_that_is_only_packed_is_moved() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    repo.switch_to_branch("ralph/login", None).await.unwrap();
    test.git(["pack-refs", "--all", "--prune"]);
    assert!(!test.exists(".git/refs/heads/ralph/login"));
    let _ = fs::remove_dir(test.path(".git/refs/heads/ralph"));
    let base = head(&test);
    test.file("a", "a\n");
    let none = Default::default();
    let staged = repo
        .stage(&ralph_engine::git::StageSpec {
            branch: "ralph/login",
            ..spec(&base, &none)
        })
        .await
        .unwrap();
    let commit = land_on(&repo, "ralph/login", &base, &staged).await.unwrap();
    assert_eq!(test.git(["rev-parse", "ralph/login"]), commit.to_string());
    assert_eq!(head(&test), commit);
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn empty_folders_in_the_place_of_a_packed_branch_make_room() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.git(["pack-refs", "--all", "--prune"]);
    fs::create_dir_all(test.path(".git/refs/heads/main/gone/too")).unwrap();
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let commit = land(&repo, &base, &staged).await.unwrap();
    assert_eq!(head(&test), commit);
}

#[tokio::test]
async fn a_lock_that_a_live_process_holds_is_left_and_its_owner_named() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let lock = test.path(".git/refs/heads/main.lock");
    let held = fs::File::create_new(&lock).unwrap();
    let error = land(&repo, &base, &staged).await.unwrap_err();
    let LandError::Git(GitError::Locked { path, owner }) = error else {
        panic!("{error}")
    };
    assert_eq!(path, lock);
    assert!(
        matches!(owner, LockOwner::Process { pid, .. } if pid == std::process::id()),
        "{owner}"
    );
    assert!(lock.exists());
    assert_eq!(head(&test), base);
    assert_eq!(test.status(), ["?? a"]);
    drop(held);
}

#[tokio::test]
async fn a_linked_worktree_lands_in_the_folder_that_all_share() {
    let test = TestRepo::new();
    test.git(["worktree", "add", "-q", "-b", "lane", "../lane"]);
    let place = test.outside().join("lane");
    let repo = open_at(&test, &place).await.unwrap();
    let base = head(&test);
    fs::write(place.join("a"), "a\n").unwrap();
    let none = Default::default();
    let staged = repo
        .stage(&ralph_engine::git::StageSpec {
            branch: "lane",
            ..spec(&base, &none)
        })
        .await
        .unwrap();
    let commit = land_on(&repo, "lane", &base, &staged).await.unwrap();
    assert_eq!(test.git(["rev-parse", "lane"]), commit.to_string());
    assert_eq!(test.git(["-C", "../lane", "status", "--porcelain"]), "");
    assert_eq!(head(&test), base);
    assert_eq!(
        test.git(["reflog", "-1", "--format=%gs", "lane"]),
        "ralph: land"
    );
}

#[tokio::test]
async fn a_move_is_in_the_reflog_as_git_would_write_it() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let commit = land(&repo, &base, &staged).await.unwrap();
    assert_eq!(
        test.git(["reflog", "-1", "--format=%H %gn <%ge> %gs", "main"]),
        format!("{commit} Test Person <person@test.invalid> ralph: land")
    );
    assert_eq!(test.git(["rev-parse", "main@{1}"]), base.to_string());
    // The line that git itself would write, but for the time.
    let log = test.read(".git/logs/refs/heads/main");
    let time = test.git(["log", "-1", "--format=%cd", "--date=raw"]);
    let line = log.lines().last().unwrap();
    let seconds: i64 = time.split(' ').next().unwrap().parse().unwrap();
    let near = (seconds..seconds + 60).any(|second| {
        let zone = time.split(' ').nth(1).unwrap();
        line == format!(
            "{base} {commit} Test Person <person@test.invalid> {second} {zone}\tralph: land"
        )
    });
    assert!(near, "{line}");
    test.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn a_reflog_is_made_only_where_the_settings_want_one() {
    for (setting, expected) in [("true", true), ("always", true), ("false", false)] {
        let test = TestRepo::new();
        test.git(["config", "core.logAllRefUpdates", setting]);
        let repo = open(&test).await;
        let base = head(&test);
        fs::remove_dir_all(test.path(".git/logs/refs/heads")).unwrap();
        test.file("a", "a\n");
        let staged = stage(&repo, &base).await;
        land(&repo, &base, &staged).await.unwrap();
        assert_eq!(
            test.exists(".git/logs/refs/heads/main"),
            expected,
            "{setting}"
        );
    }
}

#[tokio::test]
async fn what_is_planted_in_place_of_a_reflog_is_neither_written_to_nor_waited_for() {
    let link: fn(&TestRepo, &Path) = |test, log| {
        test.file("../precious", "precious\n");
        std::os::unix::fs::symlink(test.outside().join("precious"), log).unwrap();
    };
    let pipe: fn(&TestRepo, &Path) = |test, log| {
        let made = test.command("mkfifo").arg(log).status().unwrap();
        assert!(made.success());
    };
    for plant in [link, pipe] {
        let test = TestRepo::new();
        let repo = open(&test).await;
        let base = head(&test);
        test.file("a", "a\n");
        let staged = stage(&repo, &base).await;
        test.remove(".git/logs/refs/heads/main");
        plant(&test, &test.path(".git/logs/refs/heads/main"));
        let error = land(&repo, &base, &staged).await.unwrap_err();
        assert!(matches!(error, LandError::Git(GitError::Io { .. })));
        if test.exists("../precious") {
            assert_eq!(test.read("../precious"), "precious\n");
        }
        assert_eq!(head(&test), base);
        assert!(!test.exists(".git/refs/heads/main.lock"));
    }
}
