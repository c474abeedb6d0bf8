//! States of a repository that must not be touched: refused by name, with a way out, and unchanged.

use ralph_testkit::TestRepo;

use crate::support::{Project, good_script, story};

fn ready() -> Project {
    Project::with_stories(&[story("A")]).script(&good_script())
}

/// Everything that git can tell of a repository's state.
fn state(repo: &TestRepo) -> Vec<String> {
    let mut state = repo.status();
    state.push(repo.git(["for-each-ref"]));
    state.push(std::fs::read_to_string(repo.path(".git/HEAD")).unwrap());
    state.push(repo.git(["stash", "list"]));
    state
}

#[track_caller]
fn refused(project: &Project, says: &str) {
    let before = state(&project.repo);
    let ran = project.run(&[]).expect(2).says(says).says("hint: ");
    assert!(ran.events().is_empty(), "{}", ran.all());
    let mut after = state(&project.repo);
    after.retain(|line| line != "?? .ralph/.gitignore");
    assert_eq!(after, before);
}

#[test]
fn uncommitted_work_of_the_user_is_refused_by_name() {
    let project = ready();
    project.repo.file("README.md", "changed\n");
    refused(&project, "README.md");
    assert_eq!(project.repo.read("README.md"), "changed\n");
}

#[test]
fn staged_work_of_the_user_is_refused_by_name() {
    let project = ready();
    project.repo.file("new.txt", "new\n");
    project.repo.git(["add", "new.txt"]);
    refused(&project, "new.txt");
}

#[test]
fn uncommitted_work_is_put_aside_where_the_user_asks_for_it() {
    let project = ready();
    project.repo.file("README.md", "changed\n");
    project.repo.file("staged.txt", "new\n");
    project.repo.git(["add", "staged.txt"]);
    project.run(&["--stash"]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    // It is back at the end, staged where it was.
    assert_eq!(project.repo.read("README.md"), "changed\n");
    assert_eq!(project.leftovers(), [" M README.md", "A  staged.txt"]);
    assert_eq!(project.repo.git(["stash", "list"]), "");
}

#[test]
fn the_users_own_edit_of_the_task_file_is_not_foreign_work() {
    let project = ready();
    project
        .repo
        .prd(&crate::support::prd(&[story("A"), story("B")]));
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"]);
}

#[test]
fn a_detached_head_is_refused() {
    let project = ready();
    project.repo.git(["switch", "-q", "--detach"]);
    refused(&project, "HEAD is detached");
}

#[test]
fn a_branch_without_a_commit_is_refused() {
    let project = Project::of(TestRepo::unborn()).script(&good_script());
    project.repo.prd(&crate::support::prd(&[story("A")]));
    let ran = project
        .run(&[])
        .expect(2)
        .says("has no commit yet")
        .says("hint: ");
    assert!(ran.events().is_empty());
    assert!(!project.repo.try_git(["rev-parse", "HEAD"]).status.success());
}

#[test]
fn a_folder_without_a_repository_is_refused() {
    let project = Project::of(TestRepo::bare_folder()).script(&good_script());
    project.repo.prd(&crate::support::prd(&[story("A")]));
    project
        .run(&[])
        .expect(2)
        .says("not in a git repository")
        .says("hint: ");
}

/// Two branches that change the same line.
fn conflict(project: &Project) {
    let repo = &project.repo;
    repo.git(["switch", "-q", "-c", "other"]);
    repo.file("README.md", "other\n").commit("other");
    repo.git(["switch", "-q", "main"]);
    repo.file("README.md", "main\n").commit("main");
}

#[test]
fn a_merge_in_progress_is_refused() {
    let project = ready();
    conflict(&project);
    assert!(!project.repo.try_git(["merge", "other"]).status.success());
    refused(&project, "a merge is in progress");
}

#[test]
fn a_rebase_in_progress_is_refused() {
    let project = ready();
    conflict(&project);
    assert!(!project.repo.try_git(["rebase", "other"]).status.success());
    refused(&project, "a rebase is in progress");
}

#[test]
fn a_cherry_pick_in_progress_is_refused() {
    let project = ready();
    conflict(&project);
    assert!(
        !project
            .repo
            .try_git(["cherry-pick", "other"])
            .status
            .success()
    );
    refused(&project, "a cherry-pick is in progress");
}

#[test]
fn a_bisect_in_progress_is_refused() {
    let project = ready();
    project.repo.commit("two").commit("three");
    project
        .repo
        .git(["bisect", "start", "-q", "HEAD", "HEAD~2"]);
    refused(&project, "a bisect is in progress");
}

#[test]
fn a_repository_without_an_identity_is_refused_before_anything_is_done() {
    let project = ready();
    std::fs::write(
        project.repo.home().join(".gitconfig"),
        "[user]\n\tuseConfigOnly = true\n",
    )
    .unwrap();
    let before = state(&project.repo);
    let ran = project
        .run(&[])
        .expect(2)
        .says("who commits")
        .says("user.email");
    assert!(ran.events().is_empty());
    assert_eq!(state(&project.repo), before);
}

#[test]
fn a_data_folder_that_cannot_be_used_is_named_and_nothing_is_begun() {
    let project = ready();
    let file = project.outside("no-folder");
    std::fs::write(&file, "").unwrap();
    let project = project.env("RALPH_DATA_DIR", &file);
    let before = state(&project.repo);
    let ran = project.run(&[]).expect(1).says("no-folder");
    assert!(ran.events().is_empty());
    assert_eq!(state(&project.repo), before);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_is_refused() {
    let project = ready();
    let other = project.outside("other");
    project.repo.git([
        "worktree".as_ref(),
        "add".as_ref(),
        "-q".as_ref(),
        "-b".as_ref(),
        "ralph/work".as_ref(),
        other.as_os_str(),
    ]);
    let ran = project.run(&[]).expect(2).says("ralph/work");
    assert!(ran.events().is_empty());
}

#[test]
fn an_untracked_file_that_the_branch_would_overwrite_is_refused() {
    let project = ready();
    project.repo.git(["switch", "-q", "-c", "ralph/work"]);
    project.repo.file("clash.txt", "theirs\n").commit("clash");
    project.repo.git(["switch", "-q", "main"]);
    project.repo.file("clash.txt", "mine\n");
    let ran = project.run(&[]).expect(2).says("clash.txt");
    assert!(ran.events().is_empty());
    assert_eq!(project.repo.read("clash.txt"), "mine\n");
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn a_branch_that_is_there_already_is_gone_on_with() {
    let project = ready();
    project.repo.git(["switch", "-q", "-c", "ralph/work"]);
    project.repo.file("earlier.txt", "x\n").commit("earlier");
    project.repo.git(["switch", "-q", "main"]);
    project.run(&[]).expect(0);
    assert_eq!(
        project.repo.log_subjects()[..2],
        ["feat: Write A", "earlier"]
    );
}

#[test]
fn a_failing_hook_of_the_user_does_not_decide_what_lands() {
    let project = ready();
    project
        .repo
        .script(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert!(project.repo.exists(".git/hooks/pre-commit"));
}

/// A folder of the user's, with something in it, that a configured path names.
fn with_docs() -> Project {
    let project = ready();
    project
        .repo
        .file("docs/deep/precious.txt", "precious\n")
        .commit("docs");
    project
}

/// Fails unless every command that reads the configuration for a loop refuses it by name.
#[track_caller]
fn refused_by_all(project: &Project, says: &str) {
    refused(project, says);
    for args in [&["run", "--dry-run"][..], &["lint"], &["doctor"]] {
        let output = project.ralph(args).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(says), "{args:?}: {said}");
    }
}

#[test]
fn a_configured_path_that_names_a_folder_is_refused_and_the_folder_stays() {
    for key in [
        "memory:\n  progress_file",
        "tasks:\n  parent_id_file",
        "economics:\n  prices_file",
    ] {
        let project = with_docs().config(&format!("{key}: docs\n"));
        let name = key.replace(":\n  ", ".");
        refused_by_all(
            &project,
            &format!("`{name}` is docs, which is a folder, not a file"),
        );
        assert_eq!(project.repo.read("docs/deep/precious.txt"), "precious\n");
    }
}

#[test]
fn a_configured_path_outside_of_what_is_ralphs_to_write_is_refused() {
    let outside = "leads out of the repository";
    let of_git = "is in git's own folder";
    for (key, path, why) in [
        ("memory:\n  progress_file", "../notes", outside),
        ("memory:\n  progress_file", "docs/../../notes", outside),
        ("memory:\n  progress_file", "docs/../.git/config", of_git),
        ("memory:\n  archive_dir", "/nowhere/notes", outside),
        ("memory:\n  archive_dir", ".git/notes", of_git),
        ("tasks:\n  parent_id_file", "../notes", outside),
        ("tasks:\n  parent_id_file", ".git/config", of_git),
    ] {
        let name = key.replace(":\n  ", ".");
        let project = with_docs().config(&format!("{key}: {path}\n"));
        let config = project.repo.read(".git/config");
        refused_by_all(&project, &format!("`{name}` is {path}, which {why}"));
        assert_eq!(project.repo.read(".git/config"), config);
        assert!(!project.outside("notes").exists());
    }
}

#[test]
fn a_folder_named_by_a_variable_is_refused_too() {
    let project = with_docs().env("RALPH_MEMORY_PROGRESS_FILE", "docs");
    refused(&project, "`memory.progress_file` is docs");
    assert_eq!(project.repo.read("docs/deep/precious.txt"), "precious\n");
}

#[test]
fn a_configured_path_without_a_name_of_its_own_is_refused() {
    for path in [".", "..", "docs/..", "/"] {
        let project = with_docs().env("RALPH_MEMORY_PROGRESS_FILE", path);
        let ran = project.run(&[]).expect(2).says("memory.progress_file");
        assert!(ran.events().is_empty(), "{}", ran.all());
        assert_eq!(project.repo.read("docs/deep/precious.txt"), "precious\n");
    }
}

#[test]
fn a_file_where_the_archive_should_be_is_refused() {
    let project = ready().config("memory:\n  archive_dir: README.md\n");
    refused_by_all(
        &project,
        "`memory.archive_dir` is README.md, which is not a folder",
    );
}
