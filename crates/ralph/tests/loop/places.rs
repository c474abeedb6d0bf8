//! Where a project lies and what its files are called: subfolders, worktrees, submodules, odd names.

use serde_json::json;

use crate::support::{Project, good_script, story};

#[test]
fn a_subfolder_is_a_good_place_to_start_from() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.repo.file("deep/down/x", "x").commit("deep");
    let project = project.start_in("deep/down");
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
}

#[test]
fn a_source_named_in_a_subfolder_is_found_there() {
    let project = Project::new().script(&good_script());
    let tasks = json!({"userStories": [story("A")]}).to_string();
    project
        .repo
        .file("deep/stories.json", tasks)
        .commit("tasks");
    let project = project.start_in("deep");
    let ran = project.run(&["stories.json"]).expect(0);
    assert_eq!(ran.one("loop_started")["source"], "deep/stories.json");
    assert_eq!(project.files_of("HEAD"), ["A.txt", "deep/stories.json"]);
}

#[test]
fn a_linked_worktree_lands_on_its_own_branch_and_leaves_the_main_one_alone() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let linked = project.outside("linked");
    let args = [
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ];
    project.repo.git(args);
    let project = project.start_in(&linked);
    project.run(&[]).expect(0);
    let at = |folder: &std::path::Path, args: &[&str]| {
        let output = project
            .repo
            .command("git")
            .args(args)
            .current_dir(folder)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(
        at(&linked, &["symbolic-ref", "HEAD"]),
        "refs/heads/ralph/work"
    );
    assert_eq!(at(&linked, &["log", "-1", "--format=%s"]), "feat: Write A");
    assert_eq!(
        at(&linked, &["status", "--short", "--", "A.txt", "prd.json"]),
        ""
    );
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert!(project.repo.status().is_empty());
}

#[test]
fn two_worktrees_of_one_repository_can_be_worked_in_at_the_same_time() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let linked = project.outside("linked");
    let args = [
        "worktree",
        "add",
        "-q",
        "-b",
        "side",
        linked.to_str().unwrap(),
    ];
    project.repo.git(args);
    let other = json!({"branchName": "ralph/other", "userStories": [story("B")]}).to_string();
    std::fs::write(linked.join("other.json"), other).unwrap();
    let first = project.start(&[]);
    let mut command = project.run_command(&["other.json"]);
    command.current_dir(&linked);
    let second = crate::support::Live::start(command);
    first.wait().expect(0);
    second.wait().expect(0);
    let landed = |branch: &str| project.repo.git(["log", "-1", "--format=%s", branch]);
    assert_eq!(landed("ralph/work"), "feat: Write A");
    assert_eq!(landed("ralph/other"), "feat: Write B");
}

#[test]
fn a_repository_with_a_submodule_works_and_the_submodule_stays() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let module = project.outside("module");
    for args in [
        &["init", "-q", module.to_str().unwrap()][..],
        &[
            "-C",
            module.to_str().unwrap(),
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "m",
        ][..],
        &[
            "submodule",
            "--quiet",
            "add",
            module.to_str().unwrap(),
            "sub",
        ][..],
    ] {
        project.repo.git(args);
    }
    project.repo.commit("submodule");
    project.run(&[]).expect(0);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
    assert_eq!(project.leftovers(), [""; 0]);
    assert!(project.repo.exists("sub/.git"));
}

#[test]
fn within_a_submodule_is_a_repository_like_any_other() {
    let project = Project::new().script(&good_script());
    let module = project.outside("module");
    let stories = json!({"branchName": "ralph/work", "userStories": [story("A")]}).to_string();
    project.repo.git(["init", "-q", module.to_str().unwrap()]);
    std::fs::write(module.join("prd.json"), stories).unwrap();
    for args in [
        &["-C", module.to_str().unwrap(), "add", "-A"][..],
        &["-C", module.to_str().unwrap(), "commit", "-q", "-m", "m"][..],
        &[
            "submodule",
            "--quiet",
            "add",
            module.to_str().unwrap(),
            "sub",
        ][..],
    ] {
        project.repo.git(args);
    }
    project.repo.commit("submodule");
    let project = project.start_in("sub");
    project.run(&[]).expect(0);
    assert_eq!(
        project.repo.git(["-C", "sub", "log", "-1", "--format=%s"]),
        "feat: Write A"
    );
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn odd_names_of_files_land_as_they_are() {
    let make = "mkdir -p 'a b/c\"d'; for f in 'with space' 'quo\"te' \"apos'trophe\" 'new\nline' 'tab\there' '-dash' 'ä€' '*star' ':colon' '!bang' '#hash' 'back\\slash'; do echo x > \"a b/c\\\"d/$f\"; done; printf x > \"$(printf 'bad\\377utf')\"; echo x > ./--option";
    let script = json!({"default": [{"do": [
        {"write": {"path": "A.txt", "text": "x"}}, {"run": make}, {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    project.run(&[]).expect(0);
    let output = project
        .repo
        .try_git(["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    let count = output
        .stdout
        .split(|b| *b == 0)
        .filter(|n| !n.is_empty())
        .count();
    // README.md, prd.json, A.txt, twelve in the folder, and two beside it.
    assert_eq!(count, 17);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn odd_names_of_an_attempt_that_failed_are_taken_away_again() {
    let make = "mkdir -p 'a b'; echo x > 'a b/new\nline'; printf x > \"$(printf 'bad\\377utf')\"; echo x > ./--option";
    let script = json!({"default": [{"do": [{"run": make}, {"say": "Task A complete"}]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    project.run(&["--once"]).expect(3);
    assert_eq!(project.leftovers(), [""; 0]);
    let mut names: Vec<_> = std::fs::read_dir(project.repo.root())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, [".git", ".ralph", "README.md", "prd.json"]);
}

#[test]
fn a_project_whose_folder_has_an_odd_name_works() {
    let project = Project::new().script(&good_script());
    let odd = project.outside("odd 'name\" ä -x");
    project.repo.git([
        "clone",
        "-q",
        project.repo.root().to_str().unwrap(),
        odd.to_str().unwrap(),
    ]);
    let stories = json!({"branchName": "ralph/work", "userStories": [story("A")]}).to_string();
    std::fs::write(odd.join("prd.json"), stories).unwrap();
    let project = project.start_in(&odd);
    project.run(&[]).expect(0);
    let log = project
        .repo
        .git(["-C", odd.to_str().unwrap(), "log", "-1", "--format=%s"]);
    assert_eq!(log, "feat: Write A");
}

#[test]
fn a_shallow_clone_works() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.repo.commit("more");
    let shallow = project.outside("shallow");
    let url = format!("file://{}", project.repo.root().display());
    project.repo.git([
        "clone",
        "-q",
        "--depth",
        "1",
        &url,
        shallow.to_str().unwrap(),
    ]);
    let project = project.start_in(&shallow);
    project.run(&[]).expect(0);
    assert_eq!(
        project
            .repo
            .git(["-C", shallow.to_str().unwrap(), "log", "-1", "--format=%s"]),
        "feat: Write A"
    );
}

#[test]
fn a_task_file_behind_a_link_is_changed_where_it_really_is() {
    let project = Project::new().script(&good_script());
    let real = project.outside("real.json");
    let stories = json!({"branchName": "ralph/work", "userStories": [story("A")]});
    std::fs::write(&real, serde_json::to_string_pretty(&stories).unwrap()).unwrap();
    std::os::unix::fs::symlink(&real, project.repo.path("prd.json")).unwrap();
    project
        .repo
        .file(".gitignore", "prd.json\n")
        .commit("ignore");
    project.run(&[]).expect(0);
    assert!(project.repo.path("prd.json").is_symlink());
    assert!(
        std::fs::read_to_string(&real)
            .unwrap()
            .contains("\"passes\": true")
    );
}
