//! The git folder is put back, and one that was replaced is refused.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ralph_engine::git::{ChangedBy, GitError, Guard, GuardedFiles, RefGuard, TamperedHow};
use ralph_testkit::TestRepo;

use crate::support::{head, open, reset, stage, told};

fn told_tampering(test: &TestRepo, guard: &Guard) -> Vec<String> {
    let git = test.path(".git");
    guard
        .restore_changed()
        .unwrap()
        .iter()
        .map(|tampered| {
            let how = match tampered.how {
                TamperedHow::Created => "created",
                TamperedHow::Changed => "changed",
                TamperedHow::Removed => "removed",
            };
            format!(
                "{how} {}",
                tampered.path.strip_prefix(&git).unwrap().display()
            )
        })
        .collect()
}

#[tokio::test]
async fn puts_back_what_was_changed_created_or_removed_and_says_so() {
    let test = TestRepo::new();
    test.script(".git/hooks/pre-push", "#!/bin/sh\nexit 0\n");
    let config = test.read(".git/config");
    let exclude = test.read(".git/info/exclude");
    let repo = open(&test).await;
    let guard = Guard::take(&repo).unwrap();
    assert!(told_tampering(&test, &guard).is_empty());

    test.git(["config", "alias.x", "!evil"]);
    test.file(".git/info/attributes", "* filter=x\n")
        .remove(".git/info/exclude");
    test.file(".git/HEAD", "ref: refs/heads/elsewhere\n")
        .file(".git/MERGE_HEAD", "x\n");
    test.file(".git/hooks/pre-push", "#!/bin/sh\nexit 1\n");
    symlink("/bin/false", test.path(".git/hooks/post-commit")).unwrap();
    test.file(".git/rebase-merge/done", "x\n");
    let mut said = told_tampering(&test, &guard);
    said.sort();
    assert_eq!(
        said,
        [
            "changed HEAD",
            "changed config",
            "changed hooks/pre-push",
            "created MERGE_HEAD",
            "created hooks/post-commit",
            "created info/attributes",
            "created rebase-merge",
            "removed info/exclude",
        ]
    );
    assert_eq!(
        (test.read(".git/config"), test.read(".git/info/exclude")),
        (config, exclude)
    );
    assert_eq!(test.branch(), "refs/heads/main");
    assert!(
        test.command(test.path(".git/hooks/pre-push"))
            .status()
            .unwrap()
            .success()
    );
    assert!(!test.exists(".git/hooks/post-commit") && !test.exists(".git/rebase-merge"));
    assert!(told_tampering(&test, &guard).is_empty());
}

#[tokio::test]
async fn a_config_that_became_a_link_is_replaced_and_what_it_points_to_is_left() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let guard = Guard::take(&repo).unwrap();
    let config = test.read(".git/config");
    test.file("../precious", "precious\n").remove(".git/config");
    symlink(test.outside().join("precious"), test.path(".git/config")).unwrap();
    assert_eq!(told_tampering(&test, &guard), ["changed config"]);
    assert_eq!(test.read(".git/config"), config);
    assert!(!test.path(".git/config").is_symlink());
    assert_eq!(test.read("../precious"), "precious\n");
}

#[tokio::test]
async fn a_git_folder_that_was_replaced_is_refused() {
    type Replace = fn(&TestRepo);
    let cases: [(&str, Replace); 4] = [
        ("a file now", |t| {
            fs::rename(t.path(".git"), t.path("../moved")).unwrap();
            t.file(".git", "gitdir: ../moved\n");
        }),
        ("a symlink now", |t| {
            fs::rename(t.path(".git"), t.path("../moved")).unwrap();
            symlink("../moved", t.path(".git")).unwrap();
        }),
        ("another folder now", |t| {
            fs::rename(t.path(".git"), t.path("../moved")).unwrap();
            t.git(["init", "-q"]);
        }),
        ("not there now", |t| {
            t.remove(".git");
        }),
    ];
    for (said, replace) in cases {
        let test = TestRepo::new();
        let repo = open(&test).await;
        let guard = Guard::take(&repo).unwrap();
        replace(&test);
        let error = guard.restore_changed().unwrap_err();
        assert!(matches!(error, GitError::ReplacedGitDir { .. }), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

/// The snapshot on disk with other numbers of the git folders, as if they had been elsewhere before.
fn with_other_numbers(state: &Path, device: u64, inode: u64) -> Guard {
    let path = state.join("git-guard.json");
    let mut guard: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for folder in guard["folders"].as_array_mut().unwrap() {
        for (name, more) in [("device", device), ("inode", inode)] {
            folder[name] = (folder[name].as_u64().unwrap() + more).into();
        }
    }
    fs::write(&path, guard.to_string()).unwrap();
    Guard::load(state).unwrap().unwrap()
}

#[tokio::test]
async fn a_repository_on_another_device_is_told_from_one_that_was_replaced() {
    // Whether the device differs, the inode differs, the id of the repository is another, and what is right.
    for (device, inode, other_id, is_same) in [
        (0, 0, false, true),
        // A remount.
        (1, 0, false, true),
        // A restore from a backup to another disk.
        (1, 1, false, true),
        (1, 1, true, false),
        // On the same device another inode is another folder.
        (0, 1, false, false),
    ] {
        let how = format!("device {device}, inode {inode}, other id {other_id}");
        let test = TestRepo::new();
        test.file(".git/ralph/id", "1f6b0c5e-0000-7000-8000-000000000000\n");
        let state = test.data_dir().join("state");
        let repo = open(&test).await;
        Guard::take(&repo).unwrap();
        let guard = with_other_numbers(&state, device, inode);
        if other_id {
            test.file(".git/ralph/id", "1f6b0c5e-0000-7000-8000-000000000001\n");
        }
        let found = guard.restore_changed();
        assert_eq!(found.is_ok(), is_same, "{how}: {found:?}");
        if !is_same {
            assert!(Guard::set_aside(&state).unwrap(), "{how}");
        }
        assert_eq!(Guard::is_in_force(&state), is_same, "{how}");
    }
}

#[tokio::test]
async fn the_snapshot_holds_over_a_crash_until_it_is_released() {
    let test = TestRepo::new();
    test.file("a", "1\n").commit("a");
    let state = test.data_dir().join("state");
    let base = head(&test);
    {
        let repo = open(&test).await;
        Guard::take(&repo).unwrap();
    }
    assert!(Guard::is_in_force(&state));
    // The agent went on for a while after ralph was killed.
    test.git(["config", "core.fsmonitor", "/bin/false"]);
    test.git(["update-index", "--assume-unchanged", "a"]);
    test.file("a", "2\n");

    let guard = Guard::load(&state).unwrap().unwrap();
    assert_eq!(told_tampering(&test, &guard), ["changed config"]);
    let repo = open(&test).await;
    assert_eq!(told(&stage(&repo, &base).await), ["~ a"]);
    assert!(!repo.status().await.unwrap().is_clean());
    reset(&repo, &base, &Default::default()).await;
    assert_eq!(test.read("a"), "1\n");
    guard.release().unwrap();
    assert!(!Guard::is_in_force(&state));
    assert!(Guard::load(&state).unwrap().is_none());
}

#[tokio::test]
async fn a_rebase_that_a_person_began_after_a_kill_is_set_aside_and_not_deleted() {
    let test = TestRepo::new();
    let state = test.data_dir().join("state");
    let repo = open(&test).await;
    Guard::take(&repo).unwrap();
    let guard = Guard::load(&state).unwrap().unwrap();
    for text in ["pick 1\n", "pick 2\n"] {
        test.file(".git/rebase-merge/git-rebase-todo", text);
        test.file(".git/hooks/mine/precious", text);
        let told = told_tampering(&test, &guard);
        assert_eq!(told, ["created rebase-merge", "created hooks/mine"]);
        assert!(!test.exists(".git/rebase-merge") && !test.exists(".git/hooks/mine"));
    }
    let kept = |path: &str| fs::read_to_string(state.join(path)).unwrap();
    assert_eq!(kept("taken-away-rebase-merge/git-rebase-todo"), "pick 1\n");
    assert_eq!(
        kept("taken-away-rebase-merge-2/git-rebase-todo"),
        "pick 2\n"
    );
    assert_eq!(kept("taken-away-mine/precious"), "pick 1\n");
    assert_eq!(kept("taken-away-mine-2/precious"), "pick 2\n");
}

#[tokio::test]
async fn a_linked_worktree_is_guarded_in_both_its_folders() {
    let test = TestRepo::new();
    let place = test.outside().join("linked");
    test.git([
        "worktree",
        "add",
        "-q",
        "-b",
        "lane",
        place.to_str().unwrap(),
    ]);
    let repo = crate::support::open_at(&test, &place).await.unwrap();
    let guard = Guard::take(&repo).unwrap();
    test.git([
        "-C",
        place.to_str().unwrap(),
        "config",
        "core.fsmonitor",
        "/bin/false",
    ]);
    test.git(["-C", place.to_str().unwrap(), "checkout", "-q", "--detach"]);
    let mut said = told_tampering(&test, &guard);
    said.sort();
    assert_eq!(said, ["changed config", "changed worktrees/linked/HEAD"]);
    fs::write(place.join(".git"), "gitdir: elsewhere\n").unwrap();
    assert!(guard.restore_changed().is_err());
}

#[tokio::test]
async fn deleted_objects_come_back_though_the_time_of_their_folder_was_set_back() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let guarded = GuardedFiles {
        besides: &[],
        own: &[],
        task_folder: None,
    };
    let first = RefGuard::take(&repo, "main", guarded, None).unwrap();
    let begun_at = first.begun_at();
    assert!(begun_at.is_some());
    first.release().unwrap();
    // One that came since is kept by the next snapshot, which passes by what it knows.
    test.file("new.txt", "new\n").commit("new");
    let refs = RefGuard::take(&repo, "main", guarded, begun_at).unwrap();
    let objects = ["HEAD", "HEAD:new.txt", "HEAD~1"].map(|of| test.git(["rev-parse", of]));
    for object in &objects {
        let folder = test.path(".git/objects").join(&object[..2]);
        fs::remove_file(folder.join(&object[2..])).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        fs::File::open(&folder)
            .unwrap()
            .set_modified(long_ago)
            .unwrap();
    }
    assert_eq!(
        refs.restore_changed(ChangedBy::Programs).unwrap(),
        ["3 files with objects of git were deleted and are put back"]
    );
    test.git(["fsck", "--strict"]);
    assert!(
        refs.restore_changed(ChangedBy::Programs)
            .unwrap()
            .is_empty()
    );
}
