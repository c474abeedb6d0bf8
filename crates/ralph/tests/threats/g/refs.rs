//! Classes 3, 6 and 7: the index, objects and refs, and links.

use serde_json::json;

use crate::scene::{
    alone, assert_goes_on, assert_whole, deed, each, failing_checker, one_after_another, patient,
    refs, scene, script, some, with_attempts,
};
use crate::support::{Project, story};

/// A loop in which files are untracked that were tracked by mistake.
fn untracked(mode: &str) -> Project {
    let deeds = [
        (
            "A",
            "work; git rm -q --cached .env; echo .env >> .gitignore",
        ),
        (
            "B",
            "work; git rm -rq --cached build; echo build/ >> .gitignore",
        ),
        (
            "C",
            "work; echo '*.log' >> .gitignore; git rm -q --cached a.log b.log; git commit -qam 'untrack logs'",
        ),
    ];
    let project = scene(mode, &deeds);
    for path in UNTRACKED {
        project.repo.file(path, "kept\n");
    }
    project.repo.commit("tracked by mistake");
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{mode}: {}", ran.all());
    assert_eq!(project.landed(), ["A", "B", "C"], "{mode}");
    project
}

const UNTRACKED: [&str; 5] = [".env", "build/x", "build/y", "a.log", "b.log"];

fn g03_untracking_lands_as_meant(mode: &str) {
    let project = untracked(mode);
    let tracked = project.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    let expected = [
        ".gitignore",
        "A.txt",
        "B.txt",
        "C.txt",
        "README.md",
        "prd.json",
    ];
    assert_eq!(tracked.lines().collect::<Vec<_>>(), expected);
    assert_whole(&project, mode);
}
modes!(g03_untracking_lands_as_meant);

fn g03_an_untracked_file_stays_in_the_folder(mode: &str) {
    let project = untracked(mode);
    for path in UNTRACKED {
        let is_there = project.repo.exists(path);
        assert!(is_there && project.repo.read(path) == "kept\n", "{path}");
    }
}
modes!(g03_an_untracked_file_stays_in_the_folder);

/// Deeds that change the index alone, or the index and not the files.
const STAGED: [&str; 9] = [
    "git rm -q --cached README.md",
    "echo x > other.txt; git add other.txt; rm other.txt",
    "echo x > README.md; git add README.md; echo scratch > README.md",
    "git update-index --chmod=+x README.md",
    "echo x > n.txt; git add -N n.txt; rm n.txt",
    "git update-index --add --cacheinfo 100644,$(echo evil | git hash-object -w --stdin),evil.txt",
    "git read-tree --empty",
    "git read-tree HEAD~1",
    "git update-index --assume-unchanged README.md; git update-index --skip-worktree prd.json",
];

fn g03_an_attempt_that_only_stages_leaves_nothing(mode: &str) {
    let project = one_after_another(mode, &STAGED);
    let ran = project.run(&[]);
    assert_eq!(project.landed(), ["Z"], "{}", ran.all());
    assert_eq!(project.files_of("HEAD"), ["Z.txt", "prd.json"]);
    let hidden = project.repo.git(["ls-files", "-v"]);
    assert!(
        hidden.lines().all(|line| line.starts_with("H ")),
        "{hidden}"
    );
    assert_whole(&project, mode);
}
modes!(g03_an_attempt_that_only_stages_leaves_nothing);

fn g03_a_run_after_one_that_only_stages_starts_clean(mode: &str) {
    each(some(&STAGED, 3), |staged| {
        let how = format!("{mode}, {staged}");
        let project = with_attempts(alone(mode, staged));
        let ran = project.run(&["--once"]);
        assert_eq!(ran.code(), 3, "{how}: {}", ran.all());
        assert_eq!(project.leftovers(), [""; 0], "{how}");
        assert_goes_on(project, &["A"], &how);
    });
}
modes!(g03_a_run_after_one_that_only_stages_starts_clean);

fn g03_an_index_of_another_shape_is_no_hindrance(mode: &str) {
    let deeds = [
        ("A", "work; rm .git/index"),
        ("B", "work; echo garbage > .git/index"),
        ("C", "work; git update-index --split-index"),
        ("D", "work; git update-index --index-version 4; git add -A"),
        ("E", "work; : > .git/index"),
        ("F", "work; rm .git/index; mkdir .git/index"),
        ("G", "work; git add -A; chmod 000 .git/index"),
        ("H", "work; git sparse-checkout set --no-cone /A.txt"),
    ];
    let project = scene(mode, &deeds);
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    assert_eq!(
        project.landed(),
        ["A", "B", "C", "D", "E", "F", "G", "H"],
        "{}",
        ran.all()
    );
    assert_whole(&project, mode);
}
modes!(g03_an_index_of_another_shape_is_no_hindrance);

/// A repository with other branches, tags, notes, two stashes, and a replaced object of the person's own.
fn enriched(project: Project) -> Project {
    let repo = &project.repo;
    repo.file("f", "1").commit("one");
    repo.git(["branch", "other"]);
    repo.git(["branch", "feature/deep"]);
    repo.git(["tag", "v1"]);
    repo.git(["tag", "-a", "v2", "-m", "two"]);
    repo.git(["notes", "add", "-m", "a note"]);
    for text in ["stashed", "stashed again"] {
        repo.file("f", text);
        repo.git(["stash", "-q"]);
    }
    project
}

/// What an agent can do to the refs of a repository.
const MOVED: [&str; 13] = [
    "git branch -f main HEAD~1",
    "git update-ref refs/heads/other HEAD~1; git branch -D feature/deep -q",
    "git stash drop -q; git stash drop -q",
    "git stash clear",
    "git stash pop -q; git checkout -q -- f",
    "git replace HEAD HEAD~1",
    "git tag -f v1 HEAD~1; git tag -d v2",
    "git notes remove; git notes add -m other HEAD~1",
    "git branch evil; git tag evil; git update-ref refs/remotes/origin/main HEAD",
    "git pack-refs --all --prune; git branch -D other -q",
    "rm -rf .git/refs/heads/feature .git/refs/tags .git/logs",
    "echo garbage > .git/refs/heads/other",
    "git branch -m other renamed; git symbolic-ref refs/heads/alias refs/heads/main",
];

/// What only the stash's log names is gone once git collects it.
fn g06_a_stash_is_there_after_a_collection_of_garbage(mode: &str) {
    let project = enriched(alone(
        mode,
        "work; git reflog expire --expire=now --all; git gc -q --prune=now",
    ));
    let before = refs(&project);
    project.run(&[]).expect(0);
    assert_eq!(refs(&project), before);
    project.repo.git(["stash", "show", "-p", "stash@{1}"]);
    assert_whole(&project, mode);
}
modes!(g06_a_stash_is_there_after_a_collection_of_garbage);

/// Deeds after which older entries of the stash have lost their objects, or the log that names them.
const STASHES_LOST: [&str; 6] = [
    "git stash drop -q stash@{1}; git reflog expire --expire=now --all; git gc -q --prune=now",
    "git stash clear; git gc -q --prune=now",
    "git stash drop -q; git prune --expire=now; git repack -adq",
    "rm -rf .git/objects/pack",
    "rm -rf .git/logs/refs/stash; git gc -q --prune=now",
    "git reflog delete stash@{1}; git repack -adq; git prune-packed; git prune",
];

fn g06_every_entry_of_the_stash_is_whole_after_each_way_to_lose_it(mode: &str) {
    each(STASHES_LOST, |deed| {
        for packed in [false, true] {
            let how = format!("{mode}, {deed}, packed: {packed}");
            let project = enriched(alone(mode, &format!("work; {deed}")));
            if packed {
                project.repo.git(["gc", "-q"]);
            }
            let before = refs(&project);
            let ran = project.run(&[]);
            assert_eq!(refs(&project), before, "{how}: {}", ran.all());
            for entry in ["stash@{0}", "stash@{1}"] {
                let shown = project.repo.git(["stash", "show", "-p", entry]);
                assert!(shown.contains("+stashed"), "{how}: {shown}");
            }
            project.repo.git(["fsck", "--full", "--strict"]);
            assert_whole(&project, &how);
        }
    });
}
modes!(g06_every_entry_of_the_stash_is_whole_after_each_way_to_lose_it);

/// Loose objects and packs that are nobody's to delete.
fn g06_deleted_objects_come_back(mode: &str) {
    let project = enriched(one_after_another(
        mode,
        &[
            "work; rm -rf .git/objects/[0-9a-f][0-9a-f]",
            "work; rm -f .git/objects/pack/*; chmod 500 .git/objects/pack",
            "rm -rf .git/objects/pack .git/objects/[0-7]*; touch .git/objects/pack",
        ],
    ));
    project.repo.git(["stash", "show", "-p", "stash@{1}"]);
    project.repo.git(["gc", "-q"]);
    project.repo.file("g", "loose").commit("two");
    let before = refs(&project);
    let ran = project.run(&[]);
    assert_eq!(refs(&project), before, "{mode}: {}", ran.all());
    project.repo.git(["stash", "show", "-p", "stash@{1}"]);
    project.repo.git(["show", "v2", "other", "feature/deep"]);
    project.repo.git(["fsck", "--full", "--strict"]);
    assert_whole(&project, mode);
}
modes!(g06_deleted_objects_come_back);

fn g06_other_refs_are_as_they_were(mode: &str) {
    let deeds = MOVED.map(|moved| format!("work; {moved}"));
    let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
    let project = enriched(one_after_another(mode, &deeds));
    let before = refs(&project);
    let ran = project.run(&[]);
    assert_eq!(refs(&project), before, "{mode}: {}", ran.all());
    assert_eq!(ran.code(), 0, "{mode}: {}", ran.all());
    assert_eq!(project.landed().len(), MOVED.len() + 1, "{mode}");
    assert_whole(&project, mode);
}
modes!(g06_other_refs_are_as_they_were);

fn g06_refs_are_as_they_were_after_failed_attempts_too(mode: &str) {
    let project = enriched(one_after_another(mode, &MOVED));
    let before = refs(&project);
    let ran = project.run(&[]);
    assert_eq!(refs(&project), before, "{mode}: {}", ran.all());
    assert_eq!(project.landed(), ["Z"], "{mode}: {}", ran.all());
    assert_whole(&project, mode);
}
modes!(g06_refs_are_as_they_were_after_failed_attempts_too);

/// Writes a loose object under the name of other content: of a file that the change holds, and of the tree.
const PLANT: &str = r"
import hashlib, os, zlib
good = open('big.txt', 'rb').read()
evil = good.replace(b'good', b'evil')
name = hashlib.sha1(b'blob %d\0' % len(good) + good).hexdigest()
path = '.git/objects/' + name[:2] + '/' + name[2:]
os.makedirs(os.path.dirname(path), exist_ok=True)
if os.path.exists(path): os.chmod(path, 0o644)
open(path, 'wb').write(zlib.compress(b'blob %d\0' % len(evil) + evil))
";

fn g06_a_planted_object_does_not_land(mode: &str) {
    for size in [100, 70_000, 3_000_000] {
        let how = format!("{mode}, {size}");
        let bad =
            format!("work; yes 'this is good' | head -c {size} > big.txt; python3 -c \"$PLANT\"");
        let project = alone(
            mode,
            &format!("PLANT=\"{}\"; {bad}", PLANT.replace('"', "\\\"")),
        );
        let ran = project.run(&[]);
        if ran.code() == 0 {
            let landed = project.repo.git(["show", "HEAD:big.txt"]);
            assert!(!landed.contains("evil"), "{how}");
            assert_eq!(landed.len() + usize::from(size % 13 == 0), size, "{how}");
        }
        let fsck = project.repo.try_git(["fsck", "--no-dangling"]);
        assert!(fsck.status.success(), "{how}: {}", ran.all());
        assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
    }
}
modes!(g06_a_planted_object_does_not_land);

fn g06_alternates_and_grafts_of_an_agent_are_not_followed(mode: &str) {
    let deeds = [
        (
            "A",
            "work; cp -r .git/objects \"$HOME/objects\"; mkdir -p .git/objects/info; echo \"$HOME/objects\" > .git/objects/info/alternates",
        ),
        (
            "B",
            "work; git rev-parse HEAD > .git/shallow; mkdir -p .git/info; git rev-parse HEAD > .git/info/grafts",
        ),
        ("C", "work; echo \"$HOME\" > .git/commondir"),
    ];
    let project = scene(mode, &deeds);
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    assert_eq!(project.landed(), ["A", "B", "C"]);
    let _ = std::fs::remove_dir_all(project.repo.home().join("objects"));
    for path in [
        ".git/objects/info/alternates",
        ".git/shallow",
        ".git/info/grafts",
        ".git/commondir",
    ] {
        assert!(!project.repo.exists(path), "{path}");
    }
    assert_whole(&project, mode);
}
modes!(g06_alternates_and_grafts_of_an_agent_are_not_followed);

/// Places of ralph's own that an agent makes links of.
const LINKED: [&str; 8] = [
    ".ralph/logs",
    ".ralph/progress.md",
    ".ralph/logs/iteration-1.json",
    ".ralph/logs/iteration-2.txt",
    ".ralph/archive",
    ".ralph/.gitignore",
    "prd.json",
    "ralph.yaml",
];

fn g07_links_in_the_place_of_ralphs_files_are_not_followed(mode: &str) {
    for target in ["precious", "folder"] {
        let how = format!("{mode}, to {target}");
        let deeds = LINKED.map(|place| {
            format!("mkdir -p $(dirname {place}); rm -rf {place}; ln -s \"$HOME/{target}\" {place}")
        });
        let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
        let project = one_after_another(mode, &deeds);
        let home = project.repo.home();
        std::fs::write(home.join("precious"), "mine").unwrap();
        std::fs::create_dir(home.join("folder")).unwrap();
        std::fs::write(home.join("folder/kept"), "mine").unwrap();
        let ran = project.run(&[]);
        let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
        assert_eq!(read("precious"), "mine", "{how}: {}", ran.all());
        assert_eq!(read("folder/kept"), "mine", "{how}");
        let count = std::fs::read_dir(home.join("folder")).unwrap().count();
        assert_eq!(count, 1, "{how}: {}", ran.all());
        // An edit of the configuration halts a loop in place, whose task is not charged; the next one goes on.
        let project = project.script(&script(&[]));
        let again = project.run(&[]);
        let landed = project.landed();
        let last = landed.last().map(String::as_str);
        assert_eq!(last, Some("Z"), "{how}: {}", again.all());
        assert!(!project.repo.path("prd.json").is_symlink(), "{how}");
        assert!(!project.repo.exists("ralph.yaml"), "{how}");
        assert!(project.repo.path(".ralph/logs").is_dir(), "{how}");
        assert_whole(&project, &how);
    }
}
modes!(g07_links_in_the_place_of_ralphs_files_are_not_followed);

fn g07_a_folder_of_tasks_that_becomes_a_link_loses_no_task(mode: &str) {
    let text = "id: A\ntitle: Write A\nverify: ['test -f A.txt']\nstatus: open\n";
    for target in ["\"$HOME/folder\"", "../elsewhere", "tasks2"] {
        let how = format!("{mode}, {target}");
        let bad = format!(
            "mkdir -p \"$HOME/folder\" elsewhere; mv .ralph/tasks .ralph/tasks2; ln -s {target} .ralph/tasks"
        );
        let project =
            with_attempts(patient(Project::new(), mode)).script(&json!({"default": [deed(&bad)]}));
        project
            .repo
            .file(".ralph/tasks/a.yaml", text)
            .commit("tasks");
        let ran = project.run(&["--once"]);
        assert!([3, 4].contains(&ran.code()), "{how}: {}", ran.all());
        assert_eq!(project.repo.read(".ralph/tasks/a.yaml"), text, "{how}");
        assert!(!project.repo.path(".ralph/tasks").is_symlink(), "{how}");
        let project = project.script(&json!({"default": [deed("work")]}));
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{how}");
    }
}
modes!(g07_a_folder_of_tasks_that_becomes_a_link_loses_no_task);

fn g07_a_path_folder_that_is_a_link_into_the_repository_is_not_searched(mode: &str) {
    let bad =
        "mkdir -p tools; printf '#!/bin/sh\\nexit 0\\n' > tools/checker; chmod +x tools/checker";
    let mut own = story("A");
    own["verify"] = json!([["checker"]]);
    let project = patient(Project::with_stories(&[own]), mode).script(&script(&[("A", bad)]));
    let (link, chain) = (project.outside("link"), project.outside("chain"));
    std::os::unix::fs::symlink(project.repo.path("tools"), &link).unwrap();
    std::os::unix::fs::symlink(&link, &chain).unwrap();
    let path = format!(
        "{}:{}:{}/../repo/tools:{}:{}",
        link.display(),
        chain.display(),
        project.repo.root().display(),
        failing_checker(&project),
        std::env::var("PATH").unwrap()
    );
    let project = project.env("PATH", path);
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}
modes!(g07_a_path_folder_that_is_a_link_into_the_repository_is_not_searched);

fn g07_a_folder_of_the_repository_that_becomes_a_link_is_not_written_through(mode: &str) {
    // The second agent works below the folder; the first one's link never reaches the person's folder.
    let deeds = [
        (
            "A",
            "work; rm -r src; mkdir -p \"$HOME/victim\"; ln -s \"$HOME/victim\" src; echo x > src/a",
        ),
        ("B", "work; echo changed > src/a"),
    ];
    let project = scene(mode, &deeds);
    project.repo.file("src/a", "base\n").commit("src");
    let ran = project.run(&[]).expect(4);
    assert_eq!(ran.verdicts(), ["A refused", "B verified"]);
    assert_eq!(project.repo.read("src/a"), "changed\n");
    assert!(!project.repo.path("src").is_symlink());
    let victim = std::fs::read_to_string(project.repo.home().join("victim/a")).unwrap();
    assert_eq!(victim, "x\n", "as the agent left it");
    assert_whole(&project, mode);
}
modes!(g07_a_folder_of_the_repository_that_becomes_a_link_is_not_written_through);
