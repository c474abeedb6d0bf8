//! LandRequest: what was verified, durably, and only if nobody else moved the branch.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

use ralph_core::change::ChangePolicy;
use ralph_engine::git::{GitEnvironment, LandError, LandRequest, Oid, Repo, StageSpec};
use ralph_testkit::TestRepo;

use crate::support::{BRANCH, head, land, open, stage, told};

#[tokio::test]
async fn lands_what_was_staged_and_not_what_verify_made_afterwards() {
    let test = TestRepo::new();
    test.file("prd.json", "{}\n").commit("prd");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    test.file("a", "changed by verify\n")
        .file("coverage.out", "c\n");
    test.file("prd.json", "{\"passes\":true}\n");
    let also = [PathBuf::from("prd.json")];
    let landing = LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: BRANCH,
        tree: &staged.tree,
        parent: &base,
        tip: &base,
        message: "feat: a\n\nRalph-Task: US-1\n",
        also: &also,
    };
    let commit = repo.land(&landing).await.unwrap();
    assert_eq!(head(&test), commit);
    assert_eq!(test.log_subjects(), ["feat: a", "prd", "start"]);
    assert_eq!(test.git(["show", "HEAD:a"]), "a");
    assert_eq!(test.git(["show", "HEAD:prd.json"]), "{\"passes\":true}");
    assert_eq!(test.status(), [" M a", "?? coverage.out"]);
    assert_eq!(
        test.git(["log", "-1", "--format=%(trailers:key=Ralph-Task,valueonly)"])
            .trim(),
        "US-1"
    );
    test.git(["fsck", "--strict"]);
}

#[tokio::test]
async fn lands_three_times_in_a_row_from_one_opening() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let mut base = head(&test);
    for name in ["a", "b", "c"] {
        test.file(name, name);
        let staged = stage(&repo, &base).await;
        assert_eq!(told(&staged), [format!("+ {name}")]);
        base = land(&repo, &base, &staged).await.unwrap();
        assert!(test.status().is_empty());
    }
    assert_eq!(test.log_subjects().len(), 4);
}

#[tokio::test]
async fn lands_a_tree_that_another_process_staged() {
    let test = TestRepo::new();
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&open(&test).await, &base).await;
    land(&open(&test).await, &base, &staged).await.unwrap();
    assert_eq!(test.git(["show", "HEAD:a"]), "a");
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_branch_that_moved_meanwhile_is_left_alone() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    test.git(["commit", "-q", "--allow-empty", "-m", "someone else"]);
    let moved = head(&test);
    let error = land(&repo, &base, &staged).await.unwrap_err();
    let LandError::Moved { expected, found } = error else {
        panic!("{error}")
    };
    assert_eq!((expected, found), (base.to_string(), moved.to_string()));
    assert_eq!(test.log_subjects(), ["someone else", "start"]);
    assert_eq!(test.status(), ["?? a"]);
}

#[tokio::test]
async fn a_branch_that_was_deleted_or_set_back_meanwhile_is_not_landed_on() {
    for command in [
        &["update-ref", "-d", "refs/heads/main"][..],
        &["reset", "-q", "--soft", "HEAD~1"],
    ] {
        let test = TestRepo::new();
        test.commit("second");
        let repo = open(&test).await;
        let base = head(&test);
        test.file("a", "a\n");
        let staged = stage(&repo, &base).await;
        test.git(command);
        let error = land(&repo, &base, &staged).await.unwrap_err();
        assert!(
            matches!(error, LandError::Moved { .. }),
            "{command:?}: {error}"
        );
    }
}

#[tokio::test]
async fn a_ref_lock_that_was_left_does_not_stop_a_landing() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for lock in [".git/refs/heads/main.lock", ".git/index.lock"] {
        test.file(lock, "");
        fs::File::options()
            .write(true)
            .open(test.path(lock))
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    land(&repo, &base, &staged).await.unwrap();
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_landing_is_found_again_by_its_trailer_alone() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    let commit = land(&repo, &base, &staged).await.unwrap();
    test.git([
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "about 0190-a\n\nSee Ralph-Iteration: 0190-a above.",
    ]);
    let find = async |from: &Oid, value: &str| {
        repo.find_commit_with_trailer(from, BRANCH, "Ralph-Iteration", value)
            .await
            .unwrap()
    };
    let found = find(&base, "0190-a").await.unwrap();
    assert_eq!(
        (&found.oid, &found.tree, found.parents.as_slice()),
        (&commit, &staged.tree, &[base.clone()][..])
    );
    assert_eq!(find(&base, "0190").await, None);
    assert_eq!(find(&base, "0190-b").await, None);
    assert_eq!(find(&commit, "0190-a").await, None);
}

/// A `git` that notes how it was called and what it flushed, and is the real one otherwise.
fn noting_git(test: &TestRepo) -> GitEnvironment {
    let real = test
        .command("sh")
        .args(["-c", "command -v git"])
        .output()
        .unwrap()
        .stdout;
    let real = String::from_utf8(real).unwrap();
    let place = test.outside().display();
    test.script(
        "../bin/git",
        &format!(
            "#!/bin/sh\nprintf '%s\\n' \"$*\" >> {place}/calls\n\
             GIT_TRACE2_EVENT={place}/trace exec {} \"$@\"\n",
            real.trim()
        ),
    );
    let mut vars = test.environment();
    vars[0].1 = format!("{place}/bin:{}", vars[0].1.display()).into();
    GitEnvironment::from_vars(vars)
}

/// The number of scans of the working tree that git was called for.
fn scans(test: &TestRepo) -> usize {
    let calls = fs::read_to_string(test.outside().join("calls")).unwrap();
    let is_scan = |line: &&str| line.split(' ').any(|word| word == "status");
    calls.lines().filter(is_scan).count()
}

#[tokio::test]
async fn the_look_after_verification_stands_for_the_one_before_the_next_iteration() {
    let test = TestRepo::new();
    test.file("prd.json", "{}\n").commit("prd");
    test.file("mine", "m\n");
    let state = test.data_dir().join("state");
    let environment = noting_git(&test);
    let repo = Repo::open(test.root(), &state, &environment).await.unwrap();
    let before = [PathBuf::from("mine")].into();
    let own = [PathBuf::from("prd.json")];
    let land = async |n: usize, verify: &dyn Fn()| {
        let base = head(&test);
        test.file("prd.json", format!("{n} is in progress\n"));
        test.file(format!("a{n}"), "a\n");
        let spec = StageSpec {
            own_paths: &own,
            ..crate::support::spec(&base, &before)
        };
        let staged = repo.stage(&spec).await.unwrap();
        verify();
        let looked = repo.restore_staged(&spec, &staged.tree, &|_| false).await;
        looked.unwrap();
        test.file("prd.json", format!("{n} is done\n"));
        let landing = LandRequest {
            changed_index: ralph_engine::git::ChangedIndex::Agents,
            own: &own,
            branch: BRANCH,
            tree: &staged.tree,
            parent: &base,
            tip: &base,
            message: "feat: a\n",
            also: &own,
        };
        repo.land(&landing).await.unwrap();
    };
    let status = async || {
        let before = scans(&test);
        repo.start_status().await;
        let status = repo.status().await.unwrap();
        assert_eq!(status.head, head(&test));
        (status, scans(&test) - before)
    };
    land(0, &|| {}).await;
    assert_eq!(status().await.1, 1, "git looks once for itself");
    land(1, &|| {}).await;
    let (seen, scanned) = status().await;
    assert_eq!((seen.untracked, scanned), (vec![PathBuf::from("mine")], 0));
    assert_eq!(seen.changed, []);
    assert_eq!(test.status(), ["?? mine"]);
    // It is used once.
    assert_eq!(status().await.1, 1);
    // A verify command left something: that has to be looked at.
    let make = || {
        test.file("made", "x\n");
    };
    land(2, &make).await;
    let (seen, scanned) = status().await;
    assert_eq!((seen.untracked.len(), scanned), (2, 1));
    test.remove("made");
    // A person commits meanwhile.
    land(3, &|| {}).await;
    test.git(["commit", "-q", "--allow-empty", "-m", "mine"]);
    assert_eq!(status().await.1, 1);
    // Now and then git notes in its index what it has seen.
    let mut scanned = 0;
    for n in 4..40 {
        land(n, &|| {}).await;
        scanned += status().await.1;
    }
    assert!((2..=3).contains(&scanned), "{scanned}");
    assert_eq!(test.status(), ["?? mine"]);
    test.git(["fsck", "--strict"]);
}

/// What git was called for while one file was staged, and landed with another.
async fn calls_of_a_landing(test: &TestRepo) -> (Vec<String>, u64) {
    let environment = noting_git(test);
    let state = test.data_dir().join("state");
    let repo = Repo::open(test.root(), &state, &environment).await.unwrap();
    // Asks who commits, and where attributes would stand: once.
    repo.preflight().await.unwrap();
    let base = repo.status().await.unwrap().head;
    test.file("before", "b\n");
    let staged = stage(&repo, &base).await;
    let base = land(&repo, &base, &staged).await.unwrap();
    fs::remove_file(test.outside().join("calls")).unwrap();
    fs::remove_file(test.outside().join("trace")).unwrap();
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    test.file("README.md", "a task file, say\n");
    let also = PathBuf::from("README.md");
    assert!(repo.is_tracked(&also).await.unwrap());
    let landing = LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: BRANCH,
        tree: &staged.tree,
        parent: &base,
        tip: &base,
        message: "feat: a\n",
        also: &[also],
    };
    repo.land(&landing).await.unwrap();
    assert_eq!(
        test.git(["show", "--format=", "--name-only"]),
        "README.md\na"
    );

    let calls = fs::read_to_string(test.outside().join("calls")).unwrap();
    let commands = calls
        .lines()
        .map(|line| {
            line.split(' ')
                .find(|word| !word.starts_with('-') && !word.contains('='))
                .unwrap()
                .to_owned()
        })
        .collect();
    for line in calls.lines() {
        assert!(line.contains("-c core.fsync=committed"), "{line}");
        assert!(line.contains("-c core.hooksPath=/dev/null"), "{line}");
    }
    let trace = fs::read_to_string(test.outside().join("trace")).unwrap();
    let flushed = trace
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|event| event["name"] == "hardware-flush" || event["key"] == "fsync/hardware-flush")
        .filter_map(|event| {
            event["count"]
                .as_u64()
                .or_else(|| event["value"].as_str()?.parse().ok())
        })
        .sum();
    (commands, flushed)
}

#[tokio::test]
async fn a_landing_of_plain_files_needs_git_for_the_look_alone() {
    let (commands, flushed) = calls_of_a_landing(&TestRepo::new()).await;
    assert_eq!(commands, ["status"]);
    // All that is stored is ralph's own to flush.
    assert_eq!(flushed, 0);
}

#[tokio::test]
async fn a_landing_of_files_with_attributes_reaches_the_disk_in_few_calls() {
    let test = TestRepo::new();
    test.file(".gitattributes", "* text\n").commit("attributes");
    let (commands, flushed) = calls_of_a_landing(&test).await;
    // What git wrote of an agent's is checked against its name.
    assert_eq!(
        commands,
        ["status", "update-index", "rev-list", "update-index"]
    );
    // Two blobs. Trees, the commit and the ref are ralph's own to flush.
    assert_eq!(flushed, 2);
}

#[tokio::test]
async fn a_task_file_is_committed_without_what_else_is_staged_or_changed() {
    let test = TestRepo::new();
    test.file("prd.json", "{}\n")
        .file("a", "a\n")
        .file("b", "b\n")
        .commit("files");
    test.file("b", "staged\n").git(["add", "b"]);
    test.file("a", "changed\n").file("prd.json", "{ }\n");
    let repo = open(&test).await;
    let files = [PathBuf::from("prd.json")];
    let commit = repo
        .commit_paths("chore: skip US-1\n", &files)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(head(&test), commit);
    assert_eq!(
        test.git(["show", "--name-only", "--format=%s", "HEAD"]),
        "chore: skip US-1\n\nprd.json"
    );
    assert_eq!(test.status(), [" M a", "M  b"]);
    assert_eq!(repo.commit_paths("again\n", &files).await.unwrap(), None);
}

#[tokio::test]
async fn an_attempt_is_kept_without_trailers_and_can_be_started_from() {
    let test = TestRepo::new();
    test.file("a", "1\n").file("gone", "x\n").commit("files");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("a", "2\n").file("new/b", "b\n").remove("gone");
    let staged = stage(&repo, &base).await;
    let policy = ChangePolicy::default().compile().unwrap();
    let kept = repo
        .save_attempt(&"0190-a".into(), &base, &staged.tree, &policy)
        .await
        .unwrap();
    assert_eq!((&kept.tree, &kept.hidden[..]), (&staged.tree, &[][..]));
    let name = kept.reference;
    assert_eq!(name, "refs/ralph/attempts/0190-a");
    assert_eq!(
        test.git(["log", "-1", "--format=%B", &name]).trim(),
        "attempt 0190-a"
    );
    assert_eq!(test.git(["branch", "--list"]), "* main");
    let none = repo
        .find_commit_with_trailer(&base, BRANCH, "Ralph-Iteration", "0190-a")
        .await
        .unwrap();
    assert_eq!(none, None);

    crate::support::reset(&repo, &base, &Default::default()).await;
    assert!(test.status().is_empty());
    repo.start_from_attempt(&name, &base).await.unwrap();
    assert_eq!(test.status(), [" M a", " D gone", "?? new/b"]);
    assert_eq!(head(&test), base);
    let again = stage(&repo, &base).await;
    assert_eq!(again.tree, staged.tree);
    assert!(
        repo.save_attempt(&"../x".into(), &base, &staged.tree, &policy)
            .await
            .is_err()
    );
    assert!(
        repo.start_from_attempt("refs/ralph/attempts/none", &base)
            .await
            .is_err()
    );
}

#[tokio::test]
async fn what_stood_at_the_base_can_be_read_up_to_a_limit() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let base = head(&test);
    test.file("README.md", "changed\n");
    let cases: [(&str, u64, Option<&[u8]>); 3] = [
        ("README.md", 100, Some(b"scratch\n")),
        ("README.md", 3, Some(b"scr")),
        ("missing", 100, None),
    ];
    for (path, limit, expected) in cases {
        let read = repo.read_at(&base, Path::new(path), limit).await.unwrap();
        assert_eq!(read.as_deref(), expected, "{path}, {limit}");
    }
}

#[tokio::test]
async fn an_index_that_a_crash_left_behind_head_is_made_to_match() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let index = fs::read(test.path(".git/index")).unwrap();
    let base = head(&test);
    test.file("a", "a\n");
    let staged = stage(&repo, &base).await;
    land(&repo, &base, &staged).await.unwrap();
    // As if ralph had ended between the ref and the index.
    fs::write(test.path(".git/index"), index).unwrap();
    fs::write(test.path(".git/ralph-index"), "half").unwrap();
    fs::hard_link(test.path(".git/ralph-index"), test.path(".git/index.lock")).unwrap();
    assert_eq!(test.status(), ["D  a", "?? a"]);
    open(&test).await.match_index_to_head().await.unwrap();
    assert!(test.status().is_empty());
    assert!(!test.exists(".git/ralph-index"));
}

#[tokio::test]
async fn lands_in_a_repository_with_long_object_names_and_in_a_sparse_one() {
    let long = TestRepo::bare_folder();
    long.git(["init", "-q", "-b", "main", "--object-format=sha256"]);
    long.file("a", "a\n").commit("start");
    let sparse = TestRepo::new();
    sparse
        .file("in/a", "a\n")
        .file("out/b", "b\n")
        .commit("files");
    sparse.git(["sparse-checkout", "set", "in"]);
    assert!(!sparse.exists("out/b"));
    for test in [long, sparse] {
        let repo = open(&test).await;
        let base = repo.status().await.unwrap().head;
        test.file("in/new", "n\n");
        let staged = stage(&repo, &base).await;
        assert_eq!(told(&staged), ["+ in/new"]);
        land(&repo, &base, &staged).await.unwrap();
        assert!(test.status().is_empty());
        assert_eq!(
            test.git(["show", "--name-only", "--format=", "HEAD"]),
            "in/new"
        );
        test.git(["fsck", "--strict"]);
    }
}

#[tokio::test]
async fn what_a_person_stages_at_any_moment_before_the_index_follows_stays_staged() {
    for moment in ["after a look", "after a look that was taken over", "last"] {
        let test = TestRepo::new();
        test.file("mine", "base\n").commit("mine");
        let repo = open(&test).await;
        let base = head(&test);
        let stage_mine = || {
            test.file("mine", "person\n");
            test.git(["add", "mine"]);
        };
        repo.status().await.unwrap();
        if moment.starts_with("after a look") {
            stage_mine();
        }
        if moment.ends_with("taken over") {
            repo.tracked_paths().await.unwrap();
        }
        test.file("a", "a\n");
        let before = crate::support::paths(&["mine"]);
        let mut spec = crate::support::spec(&base, &before);
        let own = [PathBuf::from("mine")];
        spec.own_paths = &own;
        let staged = repo.stage(&spec).await.unwrap();
        let landing = LandRequest {
            changed_index: ralph_engine::git::ChangedIndex::Persons,
            own: &[],
            branch: BRANCH,
            tree: &staged.tree,
            parent: &base,
            tip: &base,
            message: "feat: a\n",
            also: &[],
        };
        repo.land(&landing).await.unwrap();
        if moment == "last" {
            stage_mine();
        }
        repo.finish_following().await.unwrap();
        assert_eq!(test.git(["show", "HEAD:mine"]), "base", "{moment}");
        let staged = test.git(["diff", "--cached", "--name-only"]);
        assert_eq!(staged, "mine", "{moment}");
    }
}

/// Waits until a file that is made now would have a later time than all that were made before.
fn until_the_clock_moves(test: &TestRepo) {
    use std::os::unix::fs::MetadataExt as _;
    let changed = |name: &str| {
        let path = test.data_dir().join(name);
        std::fs::write(&path, "").unwrap();
        let found = std::fs::metadata(path).unwrap();
        (found.ctime(), found.ctime_nsec())
    };
    let before = changed("before");
    let moved = (0..10_000_000).any(|_| changed("after") > before);
    assert!(moved, "the clock of the file system stands still");
}

#[tokio::test]
async fn git_looks_again_after_verification_only_where_something_was_changed() {
    use std::os::unix::fs::PermissionsExt as _;
    let test = TestRepo::new();
    test.file("old", "old\n")
        .file("gone", "gone\n")
        .commit("files");
    let state = test.data_dir().join("state");
    let environment = noting_git(&test);
    let repo = Repo::open(test.root(), &state, &environment).await.unwrap();
    let (base, before) = (head(&test), HashSet::new());
    let own = [PathBuf::from("logs")];
    let spec = StageSpec {
        own_paths: &own,
        ..crate::support::spec(&base, &before)
    };
    test.file("logs/one", "1\n").file("new", "new\n");
    std::fs::create_dir(test.path("empty")).unwrap();
    let verify = async |commands: &dyn Fn()| {
        until_the_clock_moves(&test);
        let staged = repo.stage(&spec).await.unwrap();
        let scanned = scans(&test);
        commands();
        let found = repo.restore_staged(&spec, &staged.tree, &|_| false);
        let found = found.await.unwrap();
        let names = |paths: &[PathBuf]| -> Vec<String> {
            paths
                .iter()
                .map(|path| path.display().to_string())
                .collect()
        };
        let (rewritten, made) = (names(&found.rewritten), names(&found.made));
        (rewritten.join(" "), made.join(" "), scans(&test) > scanned)
    };
    let found = |rewritten: &str, made: &str| (rewritten.to_owned(), made.to_owned(), true);
    let nothing = (String::new(), String::new(), false);
    assert_eq!(verify(&|| {}).await, nothing);
    let log = || {
        test.file("logs/two", "2\n");
    };
    assert_eq!(verify(&log).await, nothing, "logs of ralph's own");
    let edit = || {
        let path = test.path("old");
        let written = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::write(&path, "OLD\n").unwrap();
        let file = std::fs::File::options().write(true).open(path);
        file.unwrap().set_modified(written).unwrap();
    };
    assert_eq!(
        verify(&edit).await,
        found("old", ""),
        "its time is put back"
    );
    let delete = || std::fs::remove_file(test.path("gone")).unwrap();
    assert_eq!(verify(&delete).await, found("gone", ""));
    let allow = || {
        let rights = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(test.path("new"), rights).unwrap();
    };
    assert_eq!(verify(&allow).await, found("new", ""));
    let make = || {
        test.file("empty/made", "x\n");
    };
    assert_eq!(verify(&make).await, found("", "empty/made"));
}
