//! Classes 9 and 10: what an agent leaves that would stop every later run, and who is blamed for what
//! verification itself writes.

use serde_json::json;

use crate::scene::{
    alone, assert_goes_on, assert_whole, deed, each, one_after_another, patient, refusals, scene,
    script, some, story_by, with_attempts,
};
use crate::support::{Project, story};

/// What an agent can leave behind that git or ralph could stumble over.
const WEDGES: [&str; 22] = [
    "mkfifo .gitignore",
    "mkdir .gitignore",
    "ln -s .gitignore .gitignore",
    "ln -s /dev/zero .gitignore",
    "mkfifo .gitattributes",
    "mkfifo .gitmodules",
    "echo '[submodule' > .gitmodules; git init -q m",
    "mkdir locked; echo 1 > locked/f; chmod 000 locked",
    "echo x > unreadable; chmod 000 unreadable",
    "chmod 555 .",
    "mkdir ro; echo 1 > ro/f; chmod 555 ro",
    "git init -q nested; cd nested; git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x",
    "mkdir -p sub; echo 'gitdir: /nowhere' > sub/.git",
    "echo garbage > .git/refs/heads/other; echo garbage > .git/HEAD",
    "echo garbage > .git/packed-refs",
    "touch .git/index.lock; exec sleep 0",
    "rm -rf .git/objects/pack .git/objects/info; chmod -R 555 .git/objects",
    "i=0; while [ $i -lt 300 ]; do mkdir d; cd d; i=$((i+1)); done; echo x > f",
    "echo x > \"$(printf 'bad\\377name\\nline')\"",
    "python3 -c \"import socket; s=socket.socket(socket.AF_UNIX); s.bind('sock')\"",
    "mkdir -p .ralph; rm -rf .ralph/logs; mkfifo .ralph/logs",
    "rm -f README.md; mkdir README.md; mkdir -p prd.json.d; rm -f prd.json; mkdir prd.json",
];

/// The same, which once ended the loop and not their attempt alone.
const LOOP_ENDING: [&str; 2] = [
    "echo '* text working-tree-encoding=nonsense' > .gitattributes",
    "d=x; for i in 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0; do d=$d/$(printf '%0200d' 1); done; python3 -c \"import os,sys\nfor p in sys.argv[1].split('/'):\n os.mkdir(p); os.chdir(p)\nopen('f','w')\" $d",
];

fn g09_what_ends_a_loop_does_not_outlive_its_attempt(mode: &str) {
    each(LOOP_ENDING, |wedge| outlives_nothing(mode, wedge));
}
modes!(g09_what_ends_a_loop_does_not_outlive_its_attempt);

#[track_caller]
fn outlives_nothing(mode: &str, wedge: &str) {
    let how = format!("{mode}, {wedge}");
    let project = with_attempts(alone(mode, wedge));
    let ran = project.run(&["--once"]);
    let is_ordinary = [3, 4].contains(&ran.code());
    assert!(is_ordinary, "{how}: {}", ran.all());
    assert!(project.landed().is_empty(), "{how}: {}", ran.all());
    assert_goes_on(project, &["A"], &how);
}

fn g09_wedges_do_not_outlive_their_attempt(mode: &str) {
    each(some(&WEDGES, 7), |wedge| {
        outlives_nothing(mode, wedge);
    });
}
modes!(g09_wedges_do_not_outlive_their_attempt);

fn g09_wedges_do_not_stop_the_same_loop(mode: &str) {
    // In place a broken HEAD halts the loop, and its task is not charged.
    let mut wedges = WEDGES.to_vec();
    wedges.retain(|wedge| mode != "in_place" || !wedge.contains("> .git/HEAD"));
    let project = one_after_another(mode, &wedges);
    let ran = project.run(&[]);
    assert_eq!(project.landed(), ["Z"], "{}", ran.all());
    assert_eq!(ran.code(), 4, "{}", ran.all());
    assert_whole(&project, mode);
}
modes!(g09_wedges_do_not_stop_the_same_loop);

fn g09_a_wedge_that_ralph_did_not_live_to_see_is_cleared_by_the_next_run(mode: &str) {
    each(some(&WEDGES, 9), |wedge| {
        let how = format!("{mode}, {wedge}");
        let project = with_attempts(alone(mode, wedge));
        let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
        assert_eq!(ran.code(), -9, "{how}: {}", ran.all());
        assert_goes_on(project, &["A"], &how);
    });
}
modes!(g09_a_wedge_that_ralph_did_not_live_to_see_is_cleared_by_the_next_run);

/// Commands that rewrite tracked files while they verify or format.
const REWRITING: [(&str, &str); 7] = [
    ("a lock file", "date +%N > Cargo.lock"),
    ("a stamp", "echo $$ >> build.stamp"),
    ("the configuration", "echo '# checked' >> ralph.yaml"),
    (
        "the task file",
        "python3 -c \"import json; t = open('prd.json').read(); open('prd.json', 'w').write(json.dumps(json.loads(t), indent=4))\"",
    ),
    ("a mode", "chmod +x README.md"),
    ("a deletion", "rm -f build.stamp"),
    ("a new file", "date > report.xml"),
];

/// Two tasks that are verified, or formatted, by a command that rewrites a file.
fn rewritten(mode: &str, key: &str, command: &str) -> Project {
    let project = scene(mode, &[("A", "work"), ("B", "work")]);
    let config = format!("verification:\n  {key}:\n    - {}\n", json!(command));
    project
        .repo
        .file("Cargo.lock", "locked\n")
        .file("build.stamp", "0\n")
        .file("ralph.yaml", config)
        .commit("files");
    project
}

fn g10_a_verify_command_that_rewrites_a_tracked_file_blames_nobody(mode: &str) {
    each(some(&REWRITING, 2), |(name, command)| {
        let how = format!("{mode}, {name}");
        let project = rewritten(mode, "commands", command);
        let config = project.repo.read("ralph.yaml");
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A", "B"], "{how}");
        assert_eq!(refusals(&ran), ["", ""], "{how}");
        assert_eq!(project.repo.read("ralph.yaml"), config, "{how}");
        assert_eq!(project.repo.read("build.stamp"), "0\n", "{how}");
        assert_eq!(project.files_of("HEAD"), ["B.txt", "prd.json"], "{how}");
        if mode == "in_place" {
            // What verify commands leave untracked stays in the folder.
            project.repo.git(["clean", "-fdq"]);
        }
        assert_whole(&project, &how);
    });
}
modes!(g10_a_verify_command_that_rewrites_a_tracked_file_blames_nobody);

fn g10_a_formatter_that_rewrites_what_is_trusted_blames_nobody(mode: &str) {
    for (name, command) in &REWRITING[2..4] {
        let how = format!("{mode}, {name}");
        let project = rewritten(mode, "format", command);
        let config = project.repo.read("ralph.yaml");
        let ran = project.run(&[]);
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
        assert_eq!(project.landed(), ["A", "B"], "{how}");
        assert_eq!(project.repo.read("ralph.yaml"), config, "{how}");
        assert_whole(&project, &how);
    }
}
modes!(g10_a_formatter_that_rewrites_what_is_trusted_blames_nobody);

fn g10_what_a_formatter_changes_lands(mode: &str) {
    let project = scene(mode, &[("A", "printf 'x  \\n' > A.txt"), ("B", "work")])
        .config("verification:\n  format:\n    - sed -i 's/ *$//' *.txt\n");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "x");
    assert_whole(&project, mode);
}
modes!(g10_what_a_formatter_changes_lands);

fn g10_a_lock_file_that_belongs_to_the_change_lands_as_verified(mode: &str) {
    let own = story_by("A", &["cksum < Cargo.toml > Cargo.lock"]);
    let project = patient(Project::with_stories(&[own, story("B")]), mode).script(&script(&[
        (
            "A",
            "echo 'dep = \"1\"' >> Cargo.toml; echo stale > Cargo.lock",
        ),
        ("B", "work"),
    ]));
    project
        .repo
        .file("Cargo.toml", "[package]\n")
        .file("Cargo.lock", "locked\n")
        .commit("manifest");
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    let locked = project.repo.git(["show", "HEAD:Cargo.lock"]);
    assert!(locked != "stale" && locked != "locked", "{mode}: {locked}");
    assert_whole(&project, mode);
}
modes!(g10_a_lock_file_that_belongs_to_the_change_lands_as_verified);

fn g10_a_person_is_still_told_from_verification(mode: &str) {
    // Nothing that verification writes hides an edit of a person's that was there before.
    let project = alone(mode, "work");
    project.repo.file("README.md", "edited by a person\n");
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 2, "{}", ran.all());
    assert!(ran.stderr().contains("README.md"), "{}", ran.stderr());
    assert_eq!(project.repo.read("README.md"), "edited by a person\n");
    let project = project.script(&json!({"default": [deed("work")]}));
    project.repo.git(["checkout", "-q", "--", "README.md"]);
    project.run(&[]).expect(0);
}
modes!(g10_a_person_is_still_told_from_verification);
