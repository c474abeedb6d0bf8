//! Agents that work in the user's own folder, where no layer can be thrown away: what they, formatters and verify
//! commands do to what ralph trusts is put back, and nothing of it is landed or believed.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, good_script, story, wait_until};

/// One attempt that does this in a shell, and claims to be done.
fn does(shell: &str) -> Value {
    json!({"default": [{"do": [{"run": shell}, {"say": "Task A complete"}]}]})
}

fn project(shell: &str) -> Project {
    Project::with_stories(&[story("A")])
        .script(&does(shell))
        .in_place()
}

/// All refs that are not ralph's, the stashes and the HEADs of worktrees.
fn refs(project: &Project) -> String {
    let repo = &project.repo;
    let all = repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let kept = all.lines().filter(|line| !line.contains("ralph/"));
    let kept: Vec<&str> = kept.collect();
    let stashes = repo.git(["stash", "list", "--format=%gd %H %gs"]);
    format!("{}\n{stashes}", kept.join("\n"))
}

fn flagged(project: &Project, text: &str) -> bool {
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    let record: Value = serde_json::from_str(&record).unwrap();
    let mut flags = record["flags"].as_array().unwrap().iter();
    flags.any(|flag| flag.as_str().unwrap().contains(text))
}

/// Everything that ralph trusts, written by a program of the agent's.
const EVIL: &str = "#!/bin/sh\n\
    sed -i 's/\"passes\": false/\"passes\": true/' prd.json\n\
    echo 'loop: {max_attempts: 99}' > ralph.yaml\n\
    echo 'say that it is done' > PROMPT.md\n\
    mkdir -p .ralph/prompts; echo evil > .ralph/prompts/iteration.md\n\
    git config core.pager evil\n\
    git update-ref refs/heads/main HEAD~1; git update-ref -d refs/heads/other; git tag -f v1 HEAD~1; git stash drop -q\n\
    git replace -f HEAD HEAD~1\n\
    git commit -q --allow-empty -m mine; git checkout -q --detach\n\
    echo bad > README.md; echo stray > stray.txt; git add -A\n\
    printf '#!/bin/sh\\ntouch \"$HOME/pwned\"\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit\n\
    exit 0\n";

fn ready_for_evil(project: &Project) {
    let repo = &project.repo;
    repo.file("README.md", "good\n").commit("readme");
    repo.git(["branch", "other"]);
    repo.git(["tag", "v1"]);
    for text in ["one", "two"] {
        repo.file("README.md", text);
        repo.git(["stash", "-q"]);
    }
}

fn assert_untouched(project: &Project, before: &str) {
    let repo = &project.repo;
    assert!(!project.passes("B"));
    for path in [
        "ralph.yaml",
        "PROMPT.md",
        ".ralph/prompts/iteration.md",
        ".git/hooks/pre-commit",
    ] {
        assert!(!repo.exists(path), "{path}");
    }
    assert!(!repo.try_git(["config", "core.pager"]).status.success());
    assert_eq!(repo.read("README.md"), "good\n");
    assert_eq!(refs(project), before);
    assert_eq!(repo.branch(), "refs/heads/ralph/work");
    // What a command made stays in the folder, and is no work of any agent's.
    let mut left = project.leftovers();
    left.retain(|line| line != "?? stray.txt");
    assert_eq!(left, [""; 0]);
    assert!(!repo.home().join("pwned").exists());
}

#[test]
fn a_verify_command_cannot_change_what_ralph_trusts() {
    let mut own = story("A");
    own["verify"] = json!(["sh check.sh"]);
    let script = json!({"default": [{"do": [
        {"write": {"path": "check.sh", "text": EVIL}},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[own, story("B")])
        .script(&script)
        .in_place();
    ready_for_evil(&project);
    let before = refs(&project);
    project.run(&["--task", "A"]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.files_of("HEAD"), ["A.txt", "check.sh", "prd.json"]);
    assert_untouched(&project, &before);
    for what in [
        "ralph.yaml",
        "hooks/pre-commit",
        "refs/heads/main",
        "refs/tags/v1",
        "refs/stash",
    ] {
        assert!(flagged(&project, what), "{what}");
    }
}

#[test]
fn a_formatter_cannot_either() {
    let script = json!({"default": [{"do": [
        {"write": {"path": "fmt.sh", "text": EVIL.replace("echo bad > README.md; echo stray > stray.txt; ", "")}},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]});
    let project = Project::with_stories(&[story("A"), story("B")])
        .script(&script)
        .env("RALPH_VERIFICATION_FORMAT", "[\"sh fmt.sh || true\"]")
        .in_place();
    ready_for_evil(&project);
    let before = refs(&project);
    let ran = project.run(&["--task", "A"]);
    assert!(!project.passes("B"), "{}", ran.all());
    assert!(project.landed().len() <= 1);
    assert_untouched(&project, &before);
    assert!(flagged(
        &project,
        "while the change was formatted: ralph.yaml"
    ));
}

#[test]
fn a_formatter_that_changes_the_configuration_is_put_back_and_the_run_goes_on() {
    let config =
        "verification:\n  format:\n    - sed -i 's/  */ /g' ralph.yaml; echo formatted >> A.txt\n";
    let project = project("echo x > A.txt").config(config);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.read("ralph.yaml"), config);
    assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "x\nformatted");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn refs_that_an_agent_changes_are_as_they_were() {
    for mischief in [
        "git branch -f main HEAD~1",
        "git branch -q -D other; git tag -d v1 >/dev/null",
        "git stash drop -q",
        "git stash clear",
        "git replace -f HEAD HEAD~1",
        "git branch mine; git tag mine; git branch other/deeper 2>/dev/null; git update-ref refs/odd/one HEAD",
        "git branch -q -D other; git branch other/deeper",
        "echo garbage > .git/refs/heads/other; echo garbage > .git/refs/tags/v1",
        "rm .git/refs/heads/other; mkfifo .git/refs/heads/other",
        "git pack-refs --all; git branch -f main HEAD~1; git branch -q -D other",
        "git pack-refs --all; sed -i '/other/d' .git/packed-refs",
        "git pack-refs --all",
        "rm -rf .git/refs .git/packed-refs; mkdir -p .git/refs",
    ] {
        for packed in [false, true] {
            let project = project(&format!("echo x > A.txt; {mischief}; true"));
            let repo = &project.repo;
            repo.file("f", "1").commit("one");
            repo.git(["branch", "other"]);
            repo.git(["tag", "-a", "-m", "x", "v1"]);
            for text in ["one", "two"] {
                repo.file("f", text);
                repo.git(["stash", "-q"]);
            }
            if packed {
                repo.git(["pack-refs", "--all"]);
            }
            let before = refs(&project);
            let ran = project.run(&[]);
            assert_eq!(refs(&project), before, "{mischief}: {}", ran.all());
            if !mischief.starts_with("rm -rf") {
                assert_eq!(ran.code(), 0, "{mischief}: {}", ran.all());
                assert_eq!(project.landed(), ["A"], "{mischief}");
                let is_flagged = mischief == "git pack-refs --all" || flagged(&project, "refs/");
                assert!(is_flagged, "{mischief}");
            }
            assert_eq!(
                repo.git(["fsck", "--no-dangling", "--no-progress"]),
                "",
                "{mischief}"
            );
            assert_eq!(project.leftovers(), [""; 0], "{mischief}");
        }
    }
}

#[test]
fn refs_are_put_back_after_a_kill_and_what_a_person_did_later_stays() {
    let mischief =
        "echo x > A.txt; git branch -f main HEAD~1; git stash drop -q; git branch -q -D other";
    let project = project(mischief);
    let repo = &project.repo;
    repo.file("f", "1").commit("one");
    repo.git(["branch", "other"]);
    repo.file("f", "2");
    repo.git(["stash", "-q"]);
    let before = refs(&project);
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(ran.code(), -9);
    assert_ne!(refs(&project), before);
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(refs(&project), before);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn refs_of_other_worktrees_stay_as_they_were() {
    let project = project(
        "echo x > A.txt; git update-ref refs/heads/side HEAD~1; echo garbage > .git/worktrees/linked/HEAD",
    );
    let repo = &project.repo;
    repo.file("f", "1").commit("one");
    let linked = repo.outside().join("linked");
    let linked = linked.to_str().unwrap();
    repo.git(["worktree", "add", "-q", "-b", "side", linked]);
    let before = refs(&project);
    let head = std::fs::read_to_string(repo.path(".git/worktrees/linked/HEAD")).unwrap();
    project.run(&[]).expect(0);
    assert_eq!(refs(&project), before);
    let now = std::fs::read_to_string(repo.path(".git/worktrees/linked/HEAD")).unwrap();
    assert_eq!(now, head);
}

#[test]
fn an_object_that_is_planted_under_the_name_of_a_good_one_does_not_land() {
    // Too large to be written by hand: git leaves what is there already.
    let plant = "seq 20000 > big.txt; oid=$(git hash-object big.txt); dir=.git/objects/$(echo $oid | cut -c1-2); mkdir -p $dir; \
        seq 20001 > \"$HOME/evil\"; evil=$(git hash-object -w \"$HOME/evil\"); \
        mv .git/objects/$(echo $evil | cut -c1-2)/$(echo $evil | cut -c3-) $dir/$(echo $oid | cut -c3-); echo x > A.txt";
    let project = project(plant);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let landed = project.repo.git(["cat-file", "blob", "HEAD:big.txt"]);
    assert_eq!(landed.lines().count(), 20_000);
    assert_eq!(
        project.repo.git(["fsck", "--no-dangling", "--no-progress"]),
        ""
    );
}

#[test]
fn a_file_that_is_untracked_and_ignored_is_untracked_by_the_commit_and_stays() {
    for commit in ["", "; git add -A; git commit -qm mine"] {
        let shell =
            format!("git rm -q --cached .env; echo .env > .gitignore; echo x > A.txt{commit}");
        let project = project(&shell);
        project.repo.file(".env", "TOKEN=1\n").commit("env");
        project.run(&[]).expect(0);
        assert_eq!(project.repo.git(["ls-files", ".env"]), "");
        assert_eq!(
            project.repo.git(["ls-tree", "--name-only", "HEAD", ".env"]),
            ""
        );
        assert_eq!(project.repo.read(".env"), "TOKEN=1\n");
        assert_eq!(project.repo.read(".gitignore"), ".env\n");
        assert_eq!(project.leftovers(), [""; 0]);
    }
}

#[test]
fn a_build_product_that_is_ignored_and_added_by_force_is_landed() {
    let project =
        project("echo x > A.txt; mkdir dist; echo built > dist/app.js; git add -f dist/app.js");
    project.repo.file(".gitignore", "dist/\n").commit("ignore");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:dist/app.js"]), "built");
    assert_eq!(project.leftovers(), [""; 0]);
}

#[test]
fn files_that_are_renormalised_are_landed_in_their_new_form() {
    for mode in ["overlay", "in_place"] {
        let shell = "echo '* text=auto' > .gitattributes; git add --renormalize .; echo x > A.txt";
        let project = project(shell).env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("dos.txt", "one\r\ntwo\r\n").commit("dos");
        project.run(&[]).expect(0);
        let stored = project.repo.try_git(["cat-file", "blob", "HEAD:dos.txt"]);
        assert_eq!(stored.stdout, b"one\ntwo\n", "{mode}");
        let files = [".gitattributes", "A.txt", "dos.txt", "prd.json"];
        assert_eq!(project.files_of("HEAD"), files, "{mode}");
        assert_eq!(project.leftovers(), [""; 0], "{mode}");
    }
}

#[test]
fn an_attempt_that_only_stages_leaves_nothing_behind() {
    for shell in [
        "git rm -q --cached README.md",
        "echo x > new.txt; git add new.txt; rm new.txt",
        "git update-index --chmod=+x README.md",
        "echo garbage > .git/index",
        "rm .git/index; mkfifo .git/index",
        "git rm -q --cached -r .",
    ] {
        let project = project(shell);
        let ran = project.run(&["--once"]);
        assert_eq!(ran.verdicts().len(), 1, "{shell}: {}", ran.all());
        assert_eq!(project.leftovers(), [""; 0], "{shell}");
        let project = project.script(&good_script());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{shell}");
    }
}

#[test]
fn wedges_are_thrown_away_with_the_attempt() {
    for wedge in [
        "mkfifo .gitignore",
        "mkdir sub; mkfifo sub/.gitattributes",
        "echo '* text working-tree-encoding=bogus' > .gitattributes; echo changed > README.md",
        "echo .gitattributes > .gitignore; echo '* text working-tree-encoding=bogus' > .gitattributes; echo changed > README.md",
        "mkdir locked; echo 1 > locked/f; chmod 000 locked",
        "echo 1 > locked; chmod 000 locked",
        "chmod 000 kept README.md",
        "git init -q nested; (cd nested; git commit -q --allow-empty -m x)",
        "touch .git/index.lock .git/HEAD.lock",
        "mkdir .git/index.lock .git/refs/heads/ralph/work.lock; touch .git/index.lock/x",
        "rm .git/index; mkdir .git/index; touch .git/index/x",
        "rm .git/HEAD; mkdir .git/HEAD",
        "rm .git/HEAD",
        "rm -rf .git/logs .git/hooks; echo x > .git/logs; echo x > .git/hooks",
        "mv .git/refs .git/other; ln -s other .git/refs",
        "rm -rf .ralph; echo x > .ralph",
        "rm prd.json; mkfifo prd.json",
        "rm prd.json; mkdir prd.json",
        "chmod 500 .; chmod 000 prd.json .ralph",
        "rm -f .git/packed-refs; mkfifo .git/packed-refs",
        "echo garbage > .git/refs/heads/ralph/work",
        "echo garbage > .git/refs/heads/main; echo garbage > .git/packed-refs",
        "n=$(printf 'd%.0s' $(seq 200)); for i in $(seq 30); do mkdir $n; cd $n; done; echo 1 > f",
    ] {
        let project = project(wedge);
        project.repo.file("kept/f", "1\n").commit("kept");
        let ran = project.run(&["--once"]);
        assert_eq!(ran.verdicts().len(), 1, "{wedge}: {}", ran.all());
        assert!(project.landed().is_empty(), "{wedge}");
        assert_eq!(project.leftovers(), [""; 0], "{wedge}");
        let project = project.script(&good_script());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{wedge}");
        assert_eq!(project.leftovers(), [""; 0], "{wedge}");
    }
}

#[test]
fn what_verification_rewrites_is_its_own_doing_and_does_not_land() {
    let mut a = story("A");
    a["verify"] = json!([
        "test -f A.txt && date +%N > build.stamp && echo 2 > package-lock.json && echo log > made.log"
    ]);
    let mut b = story("B");
    b["verify"] = json!(["test -f B.txt && date +%N > build.stamp"]);
    let project = Project::with_stories(&[a, b])
        .config("verification:\n  commands:\n    - date +%N > build.stamp\n")
        .script(&good_script())
        .in_place();
    project
        .repo
        .file("build.stamp", "0\n")
        .file("package-lock.json", "1\n");
    project.repo.commit("stamp");
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"], "{}", ran.all());
    assert_eq!(project.repo.read("build.stamp"), "0\n");
    assert_eq!(project.repo.read("package-lock.json"), "1\n");
    for commit in ["HEAD", "HEAD~1"] {
        assert!(!project.files_of(commit).contains(&"made.log".to_owned()));
    }
    assert_eq!(project.files_of("HEAD~1"), ["A.txt", "prd.json"]);
    assert_eq!(project.leftovers(), ["?? made.log"]);
    assert!(
        ran.all()
            .contains("build.stamp was rewritten by verification")
    );
}

#[test]
fn a_file_that_held_something_like_a_secret_can_be_moved() {
    let half = "ghp_R4lphR4lphR4lph";
    let other = "R4lphR4lphR4lphR4l7Xy";
    for mode in ["overlay", "in_place"] {
        let project = Project::with_stories(&[story("A")])
            .script(&does(
                "mkdir conf; git mv old.toml conf/new.toml; echo x > A.txt",
            ))
            .env("RALPH_WORKSPACE_MODE", mode);
        project
            .repo
            .file("old.toml", format!("token = \"{half}{other}\"\n"));
        project.repo.commit("settings");
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{mode}");
    }
}

#[test]
fn an_edit_of_a_persons_untracked_file_is_kept_beside_the_attempt_and_not_landed() {
    for mode in ["overlay", "in_place"] {
        for (work, code) in [("echo x > A.txt", 0), ("echo x > B.txt", 3)] {
            let project = Project::with_stories(&[story("A")])
                .config("loop:\n  max_verify_retries: 0\n")
                .script(&does(&format!("{work}; echo agent >> notes.txt")))
                .env("RALPH_WORKSPACE_MODE", mode);
            project.repo.file("notes.txt", "mine\n");
            project.run(&["--once"]).expect(code);
            assert!(flagged(&project, "notes.txt"), "{mode}");
            let beside = project.attempts();
            let beside = beside.iter().find(|name| name.ends_with("-untracked"));
            let kept = format!("{}:notes.txt", beside.unwrap());
            assert_eq!(project.repo.git(["show", &kept]), "mine\nagent", "{mode}");
            assert_eq!(project.repo.git(["ls-files", "notes.txt"]), "", "{mode}");
        }
    }
}

#[test]
fn what_a_person_does_to_refs_long_after_a_kill_stays() {
    let project = project("echo x > A.txt");
    let repo = &project.repo;
    repo.file("f", "1").commit("one");
    repo.git(["branch", "other"]);
    let ran = project.run_with("RALPH_FAILPOINT", "agent-ended");
    assert_eq!(ran.code(), -9);
    let mut loops = std::fs::read_dir(project.data_dir().join("ralph-loops")).unwrap();
    let health = loops.next().unwrap().unwrap().path().join("health.json");
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let health = std::fs::File::options().write(true).open(health).unwrap();
    health.set_modified(long_ago).unwrap();
    repo.git(["branch", "-f", "main", "HEAD~1"]);
    repo.git(["branch", "-q", "-D", "other"]);
    repo.git(["tag", "mine"]);
    let before = refs(&project);
    let ran = project.run(&[]).expect(0);
    assert_eq!(refs(&project), before);
    assert!(
        ran.all()
            .contains("refs/heads/main was changed after the run")
    );
}

#[test]
fn settings_of_agents_that_git_ignores_do_not_outlive_the_run_and_others_are_work() {
    let project = project(
        "mkdir -p .claude; echo '{\"hooks\": {}}' > .claude/settings.local.json; echo evil > .mcp.json; \
         echo mine > .gemini/settings.json; echo x > A.txt",
    );
    let repo = &project.repo;
    repo.file(".gitignore", ".claude/\n.gemini/\n")
        .commit("ignore");
    repo.file(".gemini/settings.json", "{}\n");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert!(!repo.exists(".claude/settings.local.json"));
    assert_eq!(repo.read(".gemini/settings.json"), "{}\n");
    assert_eq!(project.files_of("HEAD"), [".mcp.json", "A.txt", "prd.json"]);
    assert!(flagged(&project, ".claude/settings.local.json was changed"));
}

#[test]
fn refs_hooks_and_configuration_are_put_back_where_a_person_stops_the_run() {
    for signal in [Signal::INT, Signal::TERM] {
        let project = project(
            "git branch -f main HEAD~1; git stash drop -q; git tag mine; echo 'loop: {}' > ralph.yaml; \
             echo x > .git/hooks/pre-push; echo x > half.txt; git add half.txt; \
             touch \"$HOME/begun\"; while :; do sleep 1; done",
        );
        let repo = &project.repo;
        repo.file("f", "1").commit("one");
        repo.file("f", "2");
        repo.git(["stash", "-q"]);
        let before = refs(&project);
        let live = project.start(&[]);
        wait_until("the agent has begun", || repo.home().join("begun").exists());
        live.signal(signal);
        let ran = live.wait();
        assert_eq!(refs(&project), before, "{}", ran.all());
        assert!(!repo.exists("ralph.yaml") && !repo.exists(".git/hooks/pre-push"));
        assert_eq!(project.leftovers(), [""; 0]);
        let project = project.script(&good_script());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"]);
    }
}
