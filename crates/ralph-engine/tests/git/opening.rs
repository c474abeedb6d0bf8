//! Opening repositories of every kind, and refusing states by name.

use std::fs;

use ralph_engine::git::{GitEnvironment, GitError, Repo, RepoProblem};
use ralph_testkit::TestRepo;

use crate::support::{head, land, open, open_at, stage, told};

async fn problem(test: &TestRepo) -> RepoProblem {
    open(test).await.preflight().await.unwrap_err()
}

#[tokio::test]
async fn a_clean_repository_is_ready() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let found = repo.preflight().await.unwrap();
    assert_eq!((found.oid, found.branch.as_str()), (head(&test), "main"));
    assert!(repo.status().await.unwrap().is_clean());
}

#[tokio::test]
async fn a_folder_without_a_repository_is_refused_with_a_way_out() {
    let test = TestRepo::bare_folder();
    let error = open_at(&test, test.root()).await.unwrap_err();
    assert!(matches!(error, GitError::NotARepository { .. }), "{error}");
    assert!(error.hint().unwrap().contains("git init"));
}

#[tokio::test]
async fn a_bare_repository_is_refused_by_name() {
    let test = TestRepo::bare_folder();
    test.git(["init", "-q", "--bare"]);
    let error = open_at(&test, test.root()).await.unwrap_err();
    assert!(matches!(error, GitError::Bare { .. }), "{error}");
}

#[tokio::test]
async fn a_repository_with_refs_in_tables_is_refused_by_name() {
    let test = TestRepo::bare_folder();
    test.git(["init", "-q", "--ref-format=reftable"]);
    let error = open_at(&test, test.root()).await.unwrap_err();
    assert!(error.to_string().contains("reftable"), "{error}");
}

#[tokio::test]
async fn an_unborn_head_is_refused_with_a_way_out() {
    let problem = problem(&TestRepo::unborn()).await;
    assert!(matches!(&problem, RepoProblem::UnbornHead { branch } if branch == "main"));
    assert!(problem.hint().unwrap().contains("first commit"));
}

#[tokio::test]
async fn a_detached_head_is_refused_by_name() {
    let test = TestRepo::new();
    test.git(["checkout", "-q", "--detach"]);
    assert!(matches!(
        problem(&test).await,
        RepoProblem::DetachedHead { .. }
    ));
}

#[tokio::test]
async fn a_missing_identity_is_refused_with_the_two_commands() {
    let test = TestRepo::new();
    fs::write(
        test.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    let problem = problem(&test).await;
    assert!(
        matches!(problem, RepoProblem::NoIdentity { .. }),
        "{problem}"
    );
    let hint = problem.hint().unwrap();
    assert!(
        hint.contains("user.name") && hint.contains("user.email"),
        "{hint}"
    );
}

#[tokio::test]
async fn an_identity_in_the_environment_is_enough() {
    let test = TestRepo::new();
    fs::remove_file(test.home().join(".gitconfig")).unwrap();
    let mut vars = test.environment();
    for name in ["AUTHOR", "COMMITTER"] {
        vars.push((format!("GIT_{name}_NAME").into(), "E".into()));
        vars.push((format!("GIT_{name}_EMAIL").into(), "e@test.invalid".into()));
    }
    let state = test.data_dir().join("state");
    let environment = GitEnvironment::from_vars(vars);
    let repo = Repo::open(test.root(), &state, &environment).await.unwrap();
    repo.preflight().await.unwrap();
}

/// Two branches that change the same line, and a third commit to bisect over.
fn diverged() -> TestRepo {
    let test = TestRepo::new();
    test.file("a", "base\n").commit("base");
    test.git(["switch", "-q", "-c", "other"]);
    test.file("a", "theirs\n").commit("theirs");
    test.git(["switch", "-q", "main"]);
    test.file("a", "ours\n").commit("ours");
    test
}

#[tokio::test]
async fn every_operation_in_progress_is_refused_by_name() {
    let cases: &[(&[&str], &str)] = &[
        (&["merge", "other"], "a merge is"),
        (&["rebase", "other"], "a rebase is"),
        (&["rebase", "--apply", "other"], "a rebase is"),
        (&["cherry-pick", "other"], "a cherry-pick is"),
        (&["revert", "--no-edit", "HEAD~1"], "a revert is"),
        (&["bisect", "start"], "a bisect is"),
    ];
    for (command, said) in cases {
        let test = diverged();
        test.try_git(*command);
        let problem = problem(&test).await;
        assert!(
            problem.to_string().starts_with(said),
            "{command:?}: {problem}"
        );
        assert!(problem.hint().is_some());
    }
    let test = diverged();
    let patch = test.git(["format-patch", "--stdout", "-1", "other"]);
    test.file("../patch", patch + "\n");
    test.try_git(["am", "../patch"]);
    assert!(problem(&test).await.to_string().contains("git am"));
}

#[tokio::test]
async fn a_subdirectory_opens_the_repository_above_it() {
    let test = TestRepo::new();
    test.file("deep/er/a", "a\n").commit("a");
    let repo = open_at(&test, &test.path("deep/er")).await.unwrap();
    assert_eq!(repo.root(), test.root());
    test.file("b", "b\n");
    let base = head(&test);
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ b"]);
}

#[tokio::test]
async fn a_linked_worktree_lands_on_its_own_branch() {
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
    let repo = open_at(&test, &place).await.unwrap();
    let base = repo.preflight().await.unwrap();
    assert_eq!(
        (base.branch.as_str(), repo.root()),
        ("lane", place.as_path())
    );
    fs::write(place.join("a"), "a\n").unwrap();
    let before = Default::default();
    let spec = ralph_engine::git::StageSpec {
        branch: "lane",
        ..crate::support::spec(&base.oid, &before)
    };
    let staged = repo.stage(&spec).await.unwrap();
    let landing = ralph_engine::git::LandRequest {
        changed_index: ralph_engine::git::ChangedIndex::Agents,
        own: &[],
        branch: "lane",
        tree: &staged.tree,
        parent: &base.oid,
        tip: &base.oid,
        message: "feat: x\n",
        also: &[],
    };
    repo.land(&landing).await.unwrap();
    assert_eq!(test.git(["log", "--format=%s", "lane"]), "feat: x\nstart");
    assert_eq!(test.log_subjects(), ["start"]);
    assert_eq!(
        test.git(["-C", place.to_str().unwrap(), "status", "--short"]),
        ""
    );

    let error = open(&test)
        .await
        .switch_to_branch("lane", None)
        .await
        .unwrap_err();
    assert!(
        matches!(&error, GitError::BranchElsewhere { worktree, .. } if *worktree == place),
        "{error}"
    );
}

#[tokio::test]
async fn works_inside_a_submodule() {
    let (test, library) = (TestRepo::new(), TestRepo::new());
    test.git([
        "submodule",
        "--quiet",
        "add",
        library.root().to_str().unwrap(),
        "lib",
    ]);
    test.commit("with a submodule");
    let inside = test.path("lib");
    let repo = open_at(&test, &inside).await.unwrap();
    assert_eq!(repo.root(), inside);
    let base = repo.preflight().await.unwrap().oid;
    fs::write(inside.join("a"), "a\n").unwrap();
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ a"]);
    land(&repo, &base, &staged).await.unwrap();
    assert_eq!(
        test.git(["-C", "lib", "log", "--format=%s"]),
        "feat: landed\nstart"
    );
    assert_eq!(test.git(["-C", "lib", "status", "--short"]), "");
}

#[tokio::test]
async fn works_in_a_shallow_clone_with_packed_refs() {
    let test = TestRepo::new();
    test.file("a", "1\n")
        .commit("one")
        .file("a", "2\n")
        .commit("two");
    let url = format!("file://{}", test.root().display());
    let place = test.outside().join("shallow");
    test.git(["clone", "-q", "--depth", "1", &url, place.to_str().unwrap()]);
    test.git(["-C", place.to_str().unwrap(), "pack-refs", "--all"]);
    let repo = open_at(&test, &place).await.unwrap();
    let base = repo.preflight().await.unwrap().oid;
    fs::write(place.join("b"), "b\n").unwrap();
    let staged = stage(&repo, &base).await;
    land(&repo, &base, &staged).await.unwrap();
    let log = test.git(["-C", place.to_str().unwrap(), "log", "--format=%s"]);
    assert_eq!(log, "feat: landed\ntwo");
}

#[tokio::test]
async fn settings_of_the_person_still_hold() {
    let test = TestRepo::new();
    fs::write(test.home().join("ignore"), "*.tmp\n").unwrap();
    fs::write(
        test.home().join("more"),
        "[user]\n\tname = An \\\"Included\\\" One\n",
    )
    .unwrap();
    test.git(["config", "--global", "core.excludesFile", "~/ignore"]);
    test.git(["config", "--global", "include.path", "~/more"]);
    test.git(["config", "filter.shout.clean", "tr a-z A-Z"]);
    test.file(".git/info/attributes", "*.loud filter=shout\n");
    test.file(".git/info/exclude", "*.mine\n");
    let repo = open(&test).await;
    let base = head(&test);
    test.file("x.tmp", "x")
        .file("y.mine", "y")
        .file("a.loud", "quiet\n");
    let staged = stage(&repo, &base).await;
    assert_eq!(told(&staged), ["+ a.loud"]);
    land(&repo, &base, &staged).await.unwrap();
    assert_eq!(test.git(["show", "HEAD:a.loud"]), "QUIET");
    assert_eq!(
        test.git(["log", "-1", "--format=%an"]),
        "An \"Included\" One"
    );
    assert!(test.status().is_empty());
}

#[tokio::test]
async fn a_git_in_the_working_tree_is_not_run_though_it_is_first_on_the_path() {
    let test = TestRepo::new();
    let marker = test.outside().join("marker");
    test.script(
        "bin/git",
        &format!("#!/bin/sh\ntouch {}\nexit 1\n", marker.display()),
    );
    let mut vars = test.environment();
    let path = format!("{}:{}", test.path("bin").display(), vars[0].1.display());
    vars[0].1 = path.into();
    let environment = GitEnvironment::from_vars(vars);
    let opened = Repo::open(test.root(), &test.data_dir().join("state"), &environment).await;
    assert!(!marker.exists());
    opened.unwrap().status().await.unwrap();
    assert!(!marker.exists());
}

#[tokio::test]
async fn a_lock_that_nobody_holds_is_removed() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for lock in [
        ".git/index.lock",
        ".git/HEAD.lock",
        ".git/refs/heads/main.lock",
    ] {
        test.file(lock, "");
        fs::File::options()
            .write(true)
            .open(test.path(lock))
            .unwrap()
            .set_modified(old)
            .unwrap();
        repo.preflight().await.unwrap();
        assert!(!test.exists(lock), "{lock}");
    }
}

#[tokio::test]
async fn a_lock_that_a_live_process_holds_is_named_and_left() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    test.file(".git/index.lock", "");
    let held = fs::File::open(test.path(".git/index.lock")).unwrap();
    let old = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    fs::File::options()
        .write(true)
        .open(test.path(".git/index.lock"))
        .unwrap()
        .set_modified(old)
        .unwrap();
    let problem = repo.preflight().await.unwrap_err();
    assert!(
        problem.to_string().contains("index.lock is locked by"),
        "{problem}"
    );
    assert!(
        problem
            .to_string()
            .contains(&std::process::id().to_string()),
        "{problem}"
    );
    assert!(test.exists(".git/index.lock"));
    drop(held);
    repo.preflight().await.unwrap();
}

#[tokio::test]
async fn a_git_that_waits_for_its_editor_keeps_its_lock() {
    let test = TestRepo::new();
    let repo = open(&test).await;
    // The editor says that it runs, then waits until its input ends.
    test.script("../editor", "#!/bin/sh\necho started\ncat >/dev/null\n");
    test.file("README.md", "changed\n");
    let mut child = test
        .command("git")
        .args(["commit", "-q", "-a"])
        .env("GIT_EDITOR", test.outside().join("editor"))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 7];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut said).unwrap();
    let problem = repo.preflight().await.unwrap_err();
    assert!(
        problem.to_string().contains("locked by git (process"),
        "{problem}"
    );
    drop(child.stdin.take());
    child.wait().unwrap();
    repo.preflight().await.unwrap();
}

#[tokio::test]
async fn two_that_are_open_at_once_do_not_meet_and_leftovers_are_swept() {
    let test = TestRepo::new();
    let state = test.data_dir().join("state");
    let one = open(&test).await;
    fs::create_dir(state.join("git-left")).unwrap();
    fs::write(state.join("git-left/owner"), "").unwrap();
    let two = open(&test).await;
    assert!(!state.join("git-left").exists());
    test.file("a", "a\n");
    let base = head(&test);
    let staged = stage(&one, &base).await;
    assert!(!two.status().await.unwrap().is_clean());
    land(&one, &base, &staged).await.unwrap();
    assert!(two.status().await.unwrap().is_clean());
    drop((one, two));
    let left = fs::read_dir(&state).unwrap().flatten();
    let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["git.lock"]);
}
