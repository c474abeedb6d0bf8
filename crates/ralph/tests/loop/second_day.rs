//! The second day: a branch was merged, left behind, removed, or is gone on with, and `ralph run` is typed again.
//!
//! Tasks are read on the branch that will be worked on, and nobody is told "complete" of an old file.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::{Project, Ran, good_script, prd, story};

/// A first run that landed A on `ralph/work`; the person is on main again.
fn after_first_run() -> Project {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/work");
    project.repo.git(["switch", "-q", "main"]);
    project
}

/// Adds a story to the task file as it is on the branch that is checked out, and commits it.
fn add_story(project: &Project, id: &str) {
    let mut tasks: Value = serde_json::from_str(&project.repo.read("prd.json")).unwrap();
    tasks["userStories"].as_array_mut().unwrap().push(story(id));
    project.repo.prd(&tasks).commit(&format!("add {id}"));
}

fn short(project: &Project, rev: &str) -> String {
    project.repo.git(["rev-parse", rev]).trim()[..10].to_owned()
}

fn refs_below(project: &Project, place: &str) -> Vec<String> {
    let refs = project
        .repo
        .git(["for-each-ref", "--format=%(refname)", place]);
    refs.lines().map(str::to_owned).collect()
}

fn notices(ran: &Ran) -> String {
    let notices = [ran.named("notice"), ran.named("warning")].concat();
    let notices = notices
        .iter()
        .map(|n| n["message"].as_str().unwrap().to_owned());
    notices.collect::<Vec<_>>().join("\n")
}

/// The task that a dry run names; that it changes nothing is checked too.
fn dry_run_task(project: &Project, args: &[&str]) -> Value {
    let before = project.repo.git(["for-each-ref"]);
    let ran = project.run(&[&["--dry-run"], args].concat()).expect(0);
    assert_eq!(project.repo.git(["for-each-ref"]), before, "no ref moved");
    serde_json::from_slice(&ran.stdout).unwrap()
}

#[test]
fn after_a_merge_the_branch_starts_over_from_head_and_the_new_task_is_done() {
    let merges: [&[&[&str]]; 4] = [
        &[&["merge", "-q", "--no-ff", "--no-edit", "ralph/work"]],
        &[&["merge", "-q", "--ff-only", "ralph/work"]],
        &[
            &["merge", "-q", "--squash", "ralph/work"],
            &["commit", "-q", "-m", "the whole feature"],
        ],
        // As a rebase by a forge does it: the same change in another commit, on another base.
        &[
            &["commit", "-q", "--allow-empty", "-m", "meanwhile"],
            &["cherry-pick", "ralph/work"],
        ],
    ];
    for merge in merges {
        let project = after_first_run();
        for call in merge {
            project.repo.git(call.iter());
        }
        add_story(&project, "B");
        let from = format!("main@{}", short(&project, "main"));
        let looked = dry_run_task(&project, &[]);
        assert_eq!(
            (&looked["task"]["id"], &looked["from"]),
            (&json!("B"), &json!(from)),
            "{merge:?}"
        );
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["B verified"], "{merge:?}");
        assert_eq!(ran.one("loop_started")["from"], from, "{merge:?}");
        assert!(notices(&ran).contains("starts over"), "{}", ran.all());
        assert!(project.passes("A") && project.passes("B"));
        assert_eq!(project.leftovers(), [""; 0]);
        // Only the new work is on the branch, and main is where the person left it.
        let own = project
            .repo
            .git(["rev-list", "--count", "main..ralph/work"]);
        assert_eq!(own.trim(), "1", "{merge:?}");
        project
            .repo
            .git(["merge-base", "--is-ancestor", "main", "ralph/work"]);
    }
}

#[test]
fn the_old_tip_of_a_squashed_branch_is_kept() {
    let project = after_first_run();
    let tip = project.repo.git(["rev-parse", "ralph/work"]);
    project.repo.git(["merge", "-q", "--squash", "ralph/work"]);
    project.repo.commit("the whole feature");
    add_story(&project, "B");
    project.run(&[]).expect(0);
    let kept = refs_below(&project, "refs/ralph/branches");
    assert_eq!(kept.len(), 1);
    assert_eq!(project.repo.git(["rev-parse", &kept[0]]), tip);
}

#[test]
fn a_branch_or_commit_that_can_not_be_is_said_before_an_agent_that_is_missing() {
    let project = Project::with_stories(&[story("A")]).agent("command:/no/such/agent");
    for (flag, name, error) in [
        ("--from", "nope", "there is no commit nope"),
        ("--onto", "nope", "there is no commit nope"),
        ("--branch", "a..b", "'a..b' cannot be the name of a branch"),
    ] {
        project.run(&[flag, name]).expect(2).says(error);
    }
    let missing = "the agent is not available";
    for args in [&["--branch", "b"][..], &["--from", "HEAD"], &[]] {
        project.run(args).expect(6).says(missing);
    }
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(
        project
            .repo
            .git(["for-each-ref", "refs/ralph", "refs/heads/b"]),
        ""
    );
}

#[test]
fn a_branch_that_diverged_is_refused_with_both_sides_named_and_ways_out_that_work() {
    let diverged = || {
        let project = after_first_run();
        add_story(&project, "B");
        project
    };
    let project = diverged();
    let (own, theirs) = (short(&project, "ralph/work"), short(&project, "main"));
    let refs = project.repo.git(["for-each-ref"]);
    for args in [&[][..], &["--dry-run"][..]] {
        let ran = project.run(args).expect(2);
        let said = ran
            .says("ralph/work and main have diverged")
            .says(&format!("ralph/work has 1 commit (the last is {own} "))
            .says(&format!("main has 1 commit (the last is {theirs} add B)"))
            .says("--from HEAD")
            .says("--onto")
            .says("--branch NAME");
        drop(said);
        assert_eq!(project.repo.branch(), "refs/heads/main");
        assert_eq!(project.repo.git(["for-each-ref"]), refs);
    }

    let ran = project.run(&["--from", "HEAD"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    let kept = refs_below(&project, "refs/ralph/branches");
    assert!(kept[0].ends_with(&own), "{kept:?}");

    let project = diverged();
    assert_eq!(dry_run_task(&project, &["--onto"])["task"]["id"], "B");
    let ran = project.run(&["--onto"]).expect(0);
    assert_eq!(
        ran.verdicts(),
        ["B verified"],
        "A's commit was brought along"
    );
    assert_eq!(project.landed(), ["A", "B"]);
    assert!(project.passes("A") && project.passes("B"));
    project
        .repo
        .git(["merge-base", "--is-ancestor", "main", "ralph/work"]);
    assert_eq!(refs_below(&project, "refs/ralph/branches").len(), 1);
    assert_eq!(project.leftovers(), [""; 0]);

    let project = diverged();
    let own = short(&project, "ralph/work");
    let ran = project.run(&["--branch", "ralph/second"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/second");
    assert_eq!(
        short(&project, "ralph/work"),
        own,
        "the other one is as it was"
    );
}

#[test]
fn commits_that_conflict_are_not_brought_along_and_nothing_is_changed() {
    let project = after_first_run();
    project.repo.file("A.txt", "mine\n").commit("my own A");
    add_story(&project, "B");
    let refs = project.repo.git(["for-each-ref"]);
    project
        .run(&["--onto", "main"])
        .expect(2)
        .says("conflicts in A.txt")
        .says("--from HEAD");
    assert_eq!(project.repo.git(["for-each-ref"]), refs);
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn work_that_is_not_merged_yet_is_gone_on_with_wherever_the_person_is() {
    for on_it in [true, false] {
        let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
        let base = format!("main@{}", short(&project, "main"));
        project.run(&["--once"]).expect(0);
        if !on_it {
            project.repo.git(["switch", "-q", "main"]);
        }
        let looked = dry_run_task(&project, &[]);
        assert_eq!(looked["task"]["id"], "B", "A is done on the branch");
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["B verified"]);
        assert_eq!(ran.one("loop_started")["from"], base);
        assert_eq!(project.landed(), ["A", "B"]);
    }
}

#[test]
fn a_run_with_nothing_to_do_makes_and_checks_out_nothing() {
    // Everything is done on the branch, and the person is elsewhere.
    let project = after_first_run();
    let refs = project.repo.git(["for-each-ref"]);
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.stop()["why"], "all_complete");
    assert_eq!(ran.one("loop_ended")["tasks"]["completed"], 1);
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(project.repo.git(["for-each-ref"]), refs);
    // Everything is done before there is a branch; uncommitted work does not matter then.
    let mut done = story("A");
    done["passes"] = json!(true);
    let project = Project::with_stories(&[done]).script(&good_script());
    project.repo.file("README.md", "mine\n");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.branch(), "refs/heads/main");
    assert_eq!(refs_below(&project, "refs/heads"), ["refs/heads/main"]);
    assert_eq!(project.repo.read("README.md"), "mine\n");
}

#[test]
fn a_branch_that_the_person_removed_is_made_from_head_again() {
    let project = after_first_run();
    project.repo.git(["branch", "-q", "-D", "ralph/work"]);
    let from = format!("main@{}", short(&project, "main"));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    assert_eq!(ran.one("loop_started")["from"], from);
}

#[test]
fn a_new_feature_that_starts_from_the_last_ones_branch_says_so() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.run(&[]).expect(0);
    let mut next = prd(&[story("B")]);
    next["branchName"] = json!("ralph/next");
    project.repo.prd(&next).commit("the next feature");
    let ran = project.run(&[]).expect(0);
    let from = ran.one("loop_started")["from"].as_str().unwrap().to_owned();
    assert!(from.starts_with("ralph/work@"), "{from}");
    let said = notices(&ran);
    assert!(
        said.contains("ralph/next starts from ralph/work") && said.contains("--from"),
        "{said}"
    );
    // From main it says nothing of the kind.
    project.repo.git(["switch", "-q", "main"]);
    next["branchName"] = json!("ralph/third");
    next["userStories"] = json!([story("C")]);
    project.repo.prd(&next).commit("the third feature");
    let ran = project.run(&[]).expect(0);
    assert!(!notices(&ran).contains("starts from"), "{}", ran.all());
    assert_eq!(project.landed(), ["C"]);
}

#[test]
fn several_features_are_merged_one_after_the_other_on_the_same_branch_name() {
    let project = after_first_run();
    for id in ["B", "C"] {
        project.repo.git(["merge", "-q", "--no-edit", "ralph/work"]);
        add_story(&project, id);
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), [format!("{id} verified")]);
        project.repo.git(["switch", "-q", "main"]);
    }
    // A squash makes one commit of the last feature; what was merged before is left alone.
    project.repo.git(["merge", "-q", "--no-edit", "ralph/work"]);
    add_story(&project, "D");
    add_story(&project, "E");
    project.run(&[]).expect(0);
    let main = project.repo.git(["rev-parse", "main"]);
    let squashed = project.ralph(&["squash"]).output().unwrap();
    assert!(squashed.status.success(), "{squashed:?}");
    assert_eq!(project.repo.git(["rev-parse", "ralph/work^"]), main);
    assert_eq!(project.repo.git(["rev-parse", "main"]), main);
}

#[test]
fn two_features_side_by_side_are_each_gone_on_with_where_they_are() {
    let project = Project::new().script(&good_script());
    for (file, branch, ids) in [
        ("a.json", "ralph/a", ["A", "B"]),
        ("c.json", "ralph/c", ["C", "D"]),
    ] {
        let tasks = json!({"branchName": branch, "userStories": ids.map(story)});
        project.repo.file(file, tasks.to_string());
    }
    project.repo.commit("two features");
    project.run(&["a.json", "--once"]).expect(0);
    project.repo.git(["switch", "-q", "main"]);
    project.run(&["c.json", "--once"]).expect(0);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/c");
    project.run(&["a.json"]).expect(0);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/a");
    assert_eq!(project.landed(), ["A", "B"]);
    project.run(&["c.json"]).expect(0);
    assert_eq!(project.landed(), ["C", "D"]);
}

#[test]
fn the_header_says_the_branch_and_where_it_starts() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let from = short(&project, "main");
    let ran = project.run_for_people(&[]).expect(0);
    let expected = format!("branch  ralph/work from main@{from}");
    assert!(ran.all().contains(&expected), "{}", ran.all());
}

#[test]
fn an_edit_of_the_task_file_that_the_branch_would_overwrite_is_refused_by_name() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    project.repo.git(["switch", "-q", "main"]);
    let edited = prd(&[story("A"), story("B"), story("C")]);
    project.repo.prd(&edited);
    let text = project.repo.read("prd.json");
    for args in [&[][..], &["--dry-run"][..], &["--stash"][..]] {
        let ran = project.run(args).expect(2);
        assert!(!ran.all().contains("read-tree"), "{}", ran.all());
        drop(
            ran.says("can't switch to branch ralph/work")
                .says("prd.json"),
        );
        assert_eq!(project.repo.branch(), "refs/heads/main");
        assert_eq!(project.repo.read("prd.json"), text);
    }
}

#[test]
fn a_start_that_does_not_exist_or_fits_no_branch_is_refused() {
    let project = after_first_run();
    project
        .run(&["--from", "nowhere"])
        .expect(2)
        .says("nowhere");
    project
        .run(&["--onto", "nowhere"])
        .expect(2)
        .says("nowhere");
    project.run(&["--branch", "a..b"]).expect(2).says("a..b");
    project
        .run(&["--from", "main", "--onto", "main"])
        .expect(2)
        .says("cannot be used with");
    assert_eq!(project.repo.branch(), "refs/heads/main");
}

#[test]
fn after_a_kill_another_start_can_be_asked_for_where_the_person_has_left_the_branch() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run_with("RALPH_FAILPOINT", "agent-running");
    project.repo.git(["switch", "-q", "main"]);
    project.run(&[]).expect(2).says("ralph/work");
    let ran = project.run(&["--branch", "ralph/again"]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified", "B verified"]);
    assert_eq!(project.repo.branch(), "refs/heads/ralph/again");
}

/// `command: what` of each step that the end names.
fn next_steps(ran: &Ran) -> Vec<String> {
    let ended = ran.one("loop_ended");
    let steps = ended["next"].as_array().unwrap().iter();
    let steps = steps.map(|step| {
        let (command, what) = (&step["command"], &step["what"]);
        format!("{}: {}", command.as_str().unwrap(), what.as_str().unwrap())
    });
    steps.collect()
}

#[test]
fn the_end_says_how_to_look_at_the_branch_and_how_to_merge_it() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    let one = project.run(&["--once"]).expect(0);
    assert_eq!(
        next_steps(&one),
        [
            "git diff main...ralph/work: 1 commit on ralph/work",
            "ralph report: everything about this feature",
            "git switch main && git merge ralph/work: take it into main",
        ]
    );
    let all = project.run(&[]).expect(0);
    let steps = next_steps(&all);
    assert_eq!(
        steps[0],
        "git diff main...ralph/work: 2 commits on ralph/work"
    );
    assert_eq!(steps[2], "ralph squash: one commit of ralph's 2");
    // The commands are ones that work.
    let diff = project.repo.git(["diff", "--stat", "main...ralph/work"]);
    assert!(diff.contains("A.txt") && diff.contains("B.txt"), "{diff}");
    project.repo.git(["switch", "-q", "main"]);
    project.repo.git(["merge", "-q", "ralph/work"]);
    let nothing = project.run(&[]).expect(0);
    assert_eq!(next_steps(&nothing), [""; 0], "all of it is merged");
}

#[test]
fn the_end_names_the_command_of_the_tool_that_owns_the_task_file() {
    let issues = "{\"id\":\"bd-1\",\"title\":\"One\",\"status\":\"open\"}\n{\"id\":\"bd-2\",\"title\":\"Two\",\"status\":\"open\"}\n";
    let tools = tempfile::tempdir().unwrap();
    let bd = tools.path().join("bd");
    std::fs::write(&bd, "#!/bin/sh\ntouch \"$0.was-started\"\n").unwrap();
    std::fs::set_permissions(&bd, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!(
        "{}:{}",
        tools.path().display(),
        std::env::var("PATH").unwrap()
    );
    for (has_bd, expected) in [(true, 1), (false, 0)] {
        let mut project = Project::new().script(&good_script());
        if has_bd {
            project = project.env("PATH", &path);
        }
        project.repo.file(".beads/issues.jsonl", issues);
        project.repo.commit("issues");
        let ran = project.run(&[".beads/issues.jsonl"]).expect(0);
        let steps = next_steps(&ran);
        let named = "bd close bd-1 bd-2: bd has records of its own, which ralph does not change";
        let count = steps.iter().filter(|step| *step == named).count();
        assert_eq!(count, expected, "{steps:?}");
    }
    assert!(!tools.path().join("bd.was-started").exists());
}

#[test]
fn the_end_is_readable_and_names_the_next_steps() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let ran = project.run_for_people(&[]).expect(0);
    let text = ran.all();
    let after = text
        .split("next:\n")
        .nth(1)
        .unwrap_or_else(|| panic!("{text}"));
    let steps: Vec<&str> = after.lines().take(3).map(str::trim).collect();
    assert_eq!(
        steps,
        [
            "git diff main...ralph/work                1 commit on ralph/work",
            "ralph report                              everything about this feature",
            "git switch main && git merge ralph/work   take it into main",
        ]
    );
}

#[test]
fn the_end_names_questions_that_wait() {
    let asks = json!({"default": [{"do": [{"say": "<escalate type=\"clarification\"><question>Which?</question></escalate>"}]}]});
    let project = Project::with_stories(&[story("A")]).script(&asks);
    let ran = project.run(&[]).expect(4);
    let steps = next_steps(&ran);
    assert!(
        steps.contains(&"ralph escalations: 1 question waits for an answer".to_owned()),
        "{steps:?}"
    );
}

#[test]
fn a_stash_takes_tracked_changes_only_and_is_back_at_the_end() {
    for in_place in [true, false] {
        let mut project = Project::with_stories(&[story("A")]).script(&good_script());
        if in_place {
            project = project.in_place();
        }
        project
            .repo
            .file("README.md", "mine\n")
            .file("untracked.txt", "mine too\n");
        let ran = project.run(&["--stash"]).expect(0);
        assert_eq!(project.landed(), ["A"]);
        assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json"]);
        assert_eq!(project.repo.read("README.md"), "mine\n");
        assert_eq!(project.repo.read("untracked.txt"), "mine too\n");
        assert_eq!(project.leftovers(), [" M README.md", "?? untracked.txt"]);
        assert_eq!(project.repo.git(["stash", "list"]), "");
        assert!(
            notices(&ran).contains("your uncommitted changes are back"),
            "{}",
            ran.all()
        );
    }
}

#[test]
fn a_stash_that_does_not_fit_the_landed_work_is_named_and_kept() {
    let writes = json!({"default": [{"do": [
        {"write": {"path": "README.md", "text": "the agent's\n"}},
        {"write": {"path": "{id}.txt", "text": "{id}\n"}},
        {"say": "Task {id} complete"},
    ]}]});
    let project = Project::with_stories(&[story("A")]).script(&writes);
    project.repo.file("README.md", "mine\n");
    let ran = project.run(&["--stash"]).expect(0);
    assert!(
        notices(&ran).contains("README.md changed meanwhile"),
        "{}",
        ran.all()
    );
    assert_eq!(project.repo.read("README.md"), "the agent's\n");
    assert_eq!(project.leftovers(), [""; 0]);
    let steps = next_steps(&ran);
    let named = "git stash pop 'stash@{0}': work that ralph put aside";
    assert!(steps.contains(&named.to_owned()), "{steps:?}");
    // Also by later loops, until it is gone.
    let again = project.run(&[]).expect(0);
    assert!(next_steps(&again).contains(&named.to_owned()));
}

#[test]
fn a_stash_of_a_killed_run_is_back_at_the_end_of_the_resumed_one() {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    project.repo.file("README.md", "mine\n");
    let mut killed = project.run_command(&["--stash"]);
    killed.env("RALPH_FAILPOINT", "agent-running");
    killed.output().unwrap();
    assert_eq!(project.repo.read("README.md"), "scratch\n");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.read("README.md"), "mine\n");
    assert_eq!(project.repo.git(["stash", "list"]), "");
}

#[test]
fn what_was_put_aside_is_back_at_once_where_the_branch_can_not_be_taken() {
    let project = Project::with_stories(&[story("A"), story("B")]).script(&good_script());
    project.run(&["--once"]).expect(0);
    project.repo.git(["switch", "-q", "main"]);
    project
        .repo
        .file("README.md", "mine\n")
        .file("A.txt", "in the way\n");
    project.run(&["--stash"]).expect(2).says("A.txt");
    assert_eq!(project.repo.read("README.md"), "mine\n");
    assert_eq!(project.repo.git(["stash", "list"]), "");
    assert_eq!(project.repo.branch(), "refs/heads/main");
}
