//! What an agent does to git: planted programs, rewritten history, locks, and commits of its own.

use serde_json::{Value, json};

use crate::support::{Project, good_script, story};

/// Does some mischief, then the work.
fn with_work(mischief: &str) -> Value {
    json!({"default": [{"do": [
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"run": mischief},
        {"say": "Task A complete"},
    ]}]})
}

fn project(mischief: &str) -> Project {
    Project::with_stories(&[story("A")]).script(&with_work(mischief))
}

#[test]
fn a_planted_hook_is_not_run_and_does_not_stay() {
    let plant = "for h in pre-commit commit-msg post-commit reference-transaction post-checkout post-index-change; do printf '#!/bin/sh\\ntouch \"$HOME/pwned\"\\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done";
    let project = project(plant).in_place();
    let ran = project.run(&[]).expect(0);
    assert!(!project.repo.home().join("pwned").exists());
    assert!(!project.repo.exists(".git/hooks/pre-commit"));
    assert!(
        ran.flags().iter().any(|f| f.contains("hooks/pre-commit")),
        "{:?}",
        ran.flags()
    );
    project
        .repo
        .git(["commit", "-q", "--allow-empty", "-m", "by the user"]);
    assert!(!project.repo.home().join("pwned").exists());
}

#[test]
fn hooks_by_configuration_are_not_run_and_do_not_stay() {
    let plant = "mkdir -p \"$HOME/h\"; for h in pre-commit reference-transaction post-index-change; do printf '#!/bin/sh\\ntouch \"$HOME/pwned\"\\n' > \"$HOME/h/$h\"; chmod +x \"$HOME/h/$h\"; done; git config core.hooksPath \"$HOME/h\"";
    let project = project(plant);
    project.run(&[]).expect(0);
    let set = project.repo.try_git(["config", "core.hooksPath"]);
    assert!(!set.status.success(), "the setting is gone");
    assert!(!project.repo.home().join("pwned").exists());
}

#[test]
fn filters_monitors_and_signing_programs_of_the_agent_are_not_run() {
    let plant = "printf '#!/bin/sh\\ntouch \"$HOME/pwned\"; cat\\n' > \"$HOME/evil\"; chmod +x \"$HOME/evil\"; \
        git config filter.x.clean \"$HOME/evil\"; git config filter.x.smudge \"$HOME/evil\"; git config filter.x.process \"$HOME/evil\"; \
        git config core.fsmonitor \"$HOME/evil\"; git config diff.external \"$HOME/evil\"; git config gpg.program \"$HOME/evil\"; \
        git config commit.gpgsign true; git config core.editor \"$HOME/evil\"; git config core.pager \"$HOME/evil\"; \
        mkdir -p .git/info; echo '* filter=x diff=x' > .git/info/attributes; rm -f \"$HOME/pwned\"";
    let project = project(plant);
    project.run(&[]).expect(0);
    assert!(!project.repo.home().join("pwned").exists());
    assert_eq!(project.landed(), ["A"]);
    assert!(!project.repo.exists(".git/info/attributes"));
}

#[test]
fn a_filter_named_by_committed_attributes_is_not_run_either() {
    let plant = "printf '#!/bin/sh\\ntouch \"$HOME/pwned\"; cat\\n' > \"$HOME/evil\"; chmod +x \"$HOME/evil\"; \
        git config filter.x.clean \"$HOME/evil\"; echo '*.txt filter=x' > .gitattributes; rm -f \"$HOME/pwned\"";
    let project = project(plant);
    project.run(&[]);
    assert!(!project.repo.home().join("pwned").exists());
}

#[test]
fn a_git_folder_that_was_replaced_is_refused_by_name() {
    for replace in [
        "mv .git \"$HOME/real\"; ln -s \"$HOME/real\" .git",
        "mv .git \"$HOME/real\"; echo \"gitdir: $HOME/real\" > .git",
        "mv .git \"$HOME/real\"; git init -q .",
    ] {
        let project = project(replace).in_place();
        let real = project.repo.home().join("real");
        let ran = project.run(&[]);
        assert_ne!(ran.code(), 0, "{replace}");
        assert!(ran.all().contains(".git"), "{replace}: {}", ran.all());
        let head = std::fs::read_to_string(real.join("refs/heads/ralph/work"));
        let main = std::fs::read_to_string(real.join("refs/heads/main"));
        if let (Ok(head), Ok(main)) = (head, main) {
            assert_eq!(head, main, "nothing landed: {replace}");
        }
        project.assert_nothing_alive();
    }
}

#[test]
fn a_repository_whose_git_folder_was_replaced_works_again_once_it_is_put_back() {
    let project = project("mv .git \"$HOME/real\"; git init -q .").in_place();
    assert_ne!(project.run(&[]).code(), 0);
    std::fs::remove_dir_all(project.repo.path(".git")).unwrap();
    std::fs::rename(project.repo.home().join("real"), project.repo.path(".git")).unwrap();
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn history_that_the_agent_rewrites_is_put_back_and_the_loop_halts() {
    for rewrite in [
        "git commit -q --amend -m forged",
        "git reset -q --hard HEAD~1",
        "git add -A; git commit -q -m own; git commit-tree HEAD^{tree} -m new | xargs git reset -q --hard",
        "git checkout -q --orphan other; git commit -q -m orphan --allow-empty",
        "git update-ref refs/heads/ralph/work HEAD~1",
    ] {
        let project = project(rewrite).in_place();
        let base = project.repo.head();
        let ran = project.run(&[]).expect(4);
        assert_eq!(ran.stop()["why"], "halted", "{rewrite}: {}", ran.all());
        assert_eq!(project.repo.head(), base, "{rewrite}");
        assert_eq!(project.repo.branch(), "refs/heads/ralph/work", "{rewrite}");
        assert_eq!(project.leftovers(), [""; 0], "{rewrite}");
        let project = project.script(&good_script());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{rewrite}");
    }
}

#[test]
fn an_agent_that_leaves_the_branch_is_brought_back() {
    for leave in [
        "git switch -q -c mine",
        "git switch -q --detach",
        "git switch -q main",
        "git add -A; git switch -q -c mine; git commit -q -m mine",
    ] {
        let project = project(leave).in_place();
        let base = project.repo.head();
        let ran = project.run(&[]).expect(4);
        assert_eq!(ran.stop()["why"], "halted", "{leave}: {}", ran.all());
        assert_eq!(project.repo.branch(), "refs/heads/ralph/work", "{leave}");
        assert_eq!(project.repo.head(), base, "{leave}");
        assert_eq!(project.repo.git(["rev-parse", "main"]), base, "{leave}");
        assert_eq!(project.leftovers(), [""; 0], "{leave}");
    }
}

#[test]
fn commits_of_the_agents_own_are_squashed_into_one_that_was_verified() {
    let commit = "git add -A; git commit -q -m 'one of mine'; echo y >> A.txt; git commit -qam 'two of mine'";
    let project = project(commit);
    let base = project.repo.head();
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["rev-parse", "HEAD~1"]), base);
    assert_eq!(project.repo.log_subjects()[0], "feat: Write A");
    assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "x\ny");
    assert!(
        ran.flags().iter().any(|f| f.contains("squashed")),
        "{:?}",
        ran.flags()
    );
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn commits_of_the_agents_own_that_fail_verification_are_taken_off_the_branch() {
    let script = json!({"default": [{"do": [
        {"run": "echo x > B.txt; git add -A; git commit -q -m mine"},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")]).script(&script);
    let base = project.repo.head();
    project.run(&["--once"]).expect(3);
    assert_eq!(project.repo.head(), base);
    assert_eq!(project.leftovers(), [""; 0]);
    assert_eq!(project.attempts().len(), 1);
}

#[test]
fn a_commit_with_forged_trailers_is_not_taken_for_one_of_ralphs() {
    let forge = "git add -A; git commit -q -m 'feat: x\n\nRalph-Task: A\nRalph-Iteration: 01a1de91-0000-7000-8000-000000000000'";
    let project = project(forge);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let log = project.repo.git(["log", "--format=%B"]);
    assert!(!log.contains("000000000000"), "{log}");
}

#[test]
fn locks_left_by_the_agent_are_removed_when_nobody_holds_them() {
    let locks = "touch .git/index.lock .git/HEAD.lock .git/refs/heads/ralph/work.lock .git/packed-refs.lock .git/config.lock";
    let project = project(locks);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_lock_left_before_the_start_is_no_reason_to_fail() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.repo.file(".git/index.lock", "");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn what_the_agent_staged_makes_no_difference() {
    let project = project("git add A.txt; echo later >> A.txt; git rm -q --cached README.md");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "x\nlater");
    assert_eq!(project.repo.git(["show", "HEAD:README.md"]), "scratch");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn files_hidden_from_git_by_flags_in_the_index_are_seen() {
    let hide = "git update-index --assume-unchanged README.md; git update-index --skip-worktree prd.json; echo hidden > README.md";
    let project = project(hide);
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:README.md"]), "hidden");
}

#[test]
fn an_operation_begun_by_the_agent_does_not_stay() {
    let bisect = "git bisect start -q 2>/dev/null; echo x > .git/MERGE_HEAD";
    let project = project(bisect);
    project.run(&[]).expect(0);
    assert!(!project.repo.exists(".git/MERGE_HEAD") && !project.repo.exists(".git/BISECT_LOG"));
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn a_git_folder_that_is_taken_away_ends_the_loop_in_order_and_a_later_run_goes_on() {
    let taken =
        "if ! test -e \"$HOME/once\"; then touch \"$HOME/once\"; mv .git .git2; mkdir .git; fi";
    // In a sandbox it can't be moved.
    let project = project(taken).in_place().env("RALPH_SAFETY_SANDBOX", "off");
    let ran = project.run(&[]).expect(1);
    let events = ran.events();
    let last = events.last().unwrap();
    assert_eq!(last["event"], "loop_ended", "{}", ran.all());
    assert_eq!(last["stop"]["why"], "failed");
    assert_eq!(last["exitCode"], 1);
    let started = events
        .iter()
        .find(|e| e["event"] == "loop_started")
        .unwrap();
    let folder = project.data_dir().join("ralph-loops");
    let folder = folder.join(started["loopId"].as_str().unwrap());
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(folder.join(name)).unwrap()).unwrap()
    };
    assert_eq!(read("status.json")["state"], "failed");
    assert_eq!(read("status.json")["termination_reason"], "internal_error");
    assert_eq!(read("report.json")["exit_code"], 1);
    project.assert_nothing_alive();
    // The way back is a person's; then the iteration is brought to its end, and the task is done.
    std::fs::remove_dir_all(project.repo.path(".git")).unwrap();
    std::fs::rename(project.repo.path(".git2"), project.repo.path(".git")).unwrap();
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"], "{}", ran.all());
}
