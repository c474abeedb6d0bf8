//! Agents that work in a layer over the repository: what they do there reaches the user's folder only as a
//! commit that was verified.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Project, good_attempt, good_script, prd, story, wait_until};

/// One attempt that does this in a shell, and claims to be done.
fn does(shell: &str) -> Value {
    json!({"default": [{"do": [{"run": shell}, {"say": "Task A complete"}]}]})
}

/// A project whose layers are asked for: where there can be none, the run fails.
fn layered(shell: &str) -> Project {
    Project::with_stories(&[story("A")])
        .script(&does(shell))
        .env("RALPH_WORKSPACE_MODE", "overlay")
}

fn layers_left(project: &Project) -> Vec<String> {
    let folder = project.data_dir().join("layers");
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect()
}

#[test]
fn nothing_that_an_agent_writes_reaches_the_folder_but_the_commit() {
    let project = layered(
        "echo x > A.txt; echo log > debug.log; mkdir -p node_modules/evil; echo 1 > node_modules/evil/index.js",
    );
    project
        .repo
        .file(".gitignore", "*.log\nnode_modules/\n")
        .commit("ignore");
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.read("A.txt"), "x\n");
    assert!(!project.repo.exists("debug.log"));
    assert!(!project.repo.exists("node_modules"));
    assert_eq!(project.repo.git(["status", "--porcelain"]), "");
    assert_eq!(layers_left(&project), Vec::<String>::new());
}

#[test]
fn a_needed_file_that_the_agent_hides_from_git_is_not_there_when_it_is_verified() {
    let project = layered("echo A.txt > .gitignore; echo x > A.txt");
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert!(!project.repo.exists("A.txt"));
    assert!(!project.repo.exists(".gitignore"));
}

#[test]
fn ignored_files_that_make_a_test_pass_do_not_count() {
    let project =
        layered("echo x > B.txt; mkdir -p cache; echo pass > cache/A.txt; ln -s cache/A.txt A.txt");
    project
        .repo
        .file(".gitignore", "cache/\nA.txt\n")
        .commit("ignore");
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}

#[test]
fn what_was_there_and_ignored_before_the_agent_is_there_for_it_and_for_verification() {
    let mut own = story("A");
    own["verify"] = json!(["test -f A.txt", "test -f build/warm"]);
    let project = Project::with_stories(&[own])
        .script(&does("cat build/warm && echo x > A.txt"))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project.repo.file(".gitignore", "build/\n").commit("ignore");
    project.repo.file("build/warm", "1");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.read("build/warm"), "1");
}

#[test]
fn the_verify_command_cannot_write_what_ralph_trusts() {
    let evil = "#!/bin/sh\n\
        sed -i 's/\"passes\": false/\"passes\": true/' prd.json\n\
        echo 'loop: {max_attempts: 99}' > ralph.yaml\n\
        printf '#!/bin/sh\\ntouch \"$HOME/pwned\"\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit\n\
        git config core.pager evil; git update-ref refs/heads/main HEAD~1; echo bad > README.md; echo t > stray\n\
        exit 0\n";
    let mut own = story("A");
    own["verify"] = json!(["sh check.sh"]);
    let script = json!({"default": [{"do": [
        {"write": {"path": "check.sh", "text": evil}},
        {"write": {"path": "A.txt", "text": "x\n"}},
        {"say": "Task A complete"},
    ]}]});
    for mode in ["overlay", "in_place"] {
        let project = Project::with_stories(&[own.clone(), story("B")])
            .script(&script)
            .env("RALPH_WORKSPACE_MODE", mode);
        project.repo.file("README.md", "good\n").commit("readme");
        let main = project.repo.git(["rev-parse", "main"]);
        project.run(&["--task", "A"]);
        assert_eq!(project.landed(), ["A"], "{mode}");
        assert!(!project.passes("B"), "{mode}");
        assert!(!project.repo.exists("ralph.yaml"), "{mode}");
        assert!(!project.repo.exists(".git/hooks/pre-commit"), "{mode}");
        let set = project.repo.try_git(["config", "core.pager"]);
        assert!(!set.status.success(), "{mode}");
        if mode == "overlay" {
            assert_eq!(project.repo.git(["rev-parse", "main"]), main);
            assert_eq!(project.repo.read("README.md"), "good\n");
            assert!(!project.repo.exists("stray"));
        }
        assert!(!project.repo.home().join("pwned").exists(), "{mode}");
    }
}

#[test]
fn what_an_agent_does_to_its_git_folder_goes_with_the_layer() {
    for mischief in [
        "git checkout -q --detach; git branch -f main HEAD; git branch -D main",
        "git stash drop -q; git update-ref -d refs/heads/other",
        "git replace HEAD HEAD~1 -f; git tag -f v1 HEAD",
        "rm -rf .git/refs .git/packed-refs; echo garbage > .git/HEAD",
        "rm -rf .git; git init -q .; git commit -q --allow-empty -m mine",
        "mkfifo .git/index.lock; echo garbage > .git/index",
    ] {
        let project = layered(&format!("echo x > A.txt; {mischief}; true"));
        let repo = &project.repo;
        repo.file("f", "1").commit("one");
        repo.git(["branch", "other"]);
        repo.git(["tag", "v1"]);
        repo.file("f", "stashed");
        repo.git(["stash", "-q"]);
        let refs = || {
            let all = repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
            let kept = all.lines().filter(|line| !line.contains("ralph/"));
            kept.collect::<Vec<_>>().join("\n")
        };
        let before = refs();
        project.run(&[]).expect(0);
        assert_eq!(refs(), before, "{mischief}");
        assert_eq!(project.landed(), ["A"], "{mischief}");
        assert_eq!(repo.git(["status", "--porcelain"]), "", "{mischief}");
        assert_eq!(
            repo.git(["fsck", "--no-dangling", "--no-progress"]),
            "",
            "{mischief}"
        );
    }
}

#[test]
fn commits_of_the_agent_are_work_and_are_squashed() {
    let project = layered(
        "echo x > A.txt; git add -A; git commit -qm mine; echo y >> A.txt; git commit -qam again",
    );
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.read("A.txt"), "x\ny\n");
    let flagged = ran.flags().iter().any(|f| f.contains("squashed"));
    assert!(flagged, "{:?}", ran.flags());
    assert_eq!(
        project.repo.git(["log", "--format=%s", "main.."]),
        "feat: Write A"
    );
}

#[test]
fn a_file_that_is_untracked_and_ignored_is_untracked_by_the_commit_and_stays() {
    let project = layered("git rm -q --cached .env; echo .env > .gitignore; echo x > A.txt");
    project.repo.file(".env", "TOKEN=1\n").commit("env");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["ls-files", ".env"]), "");
    assert_eq!(project.repo.read(".gitignore"), ".env\n");
}

#[test]
fn a_file_that_is_ignored_and_added_by_force_is_landed() {
    let project =
        layered("echo x > A.txt; mkdir dist; echo built > dist/app.js; git add -f dist/app.js");
    project.repo.file(".gitignore", "dist/\n").commit("ignore");
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["show", "HEAD:dist/app.js"]), "built");
    assert_eq!(project.repo.read("dist/app.js"), "built\n");
}

#[test]
fn renames_deletions_links_and_modes_land_as_they_are() {
    let project = layered(
        "git mv dir moved; mv top.txt deep.txt; rm gone.txt; chmod +x run.sh; ln -s moved/a link; echo x > A.txt; \
         rm -r old && echo now-a-file > old",
    );
    for (path, text) in [
        ("dir/a", "a\n"),
        ("dir/sub/b", "b\n"),
        ("top.txt", "t\n"),
        ("gone.txt", "g\n"),
        ("run.sh", "#!/bin/sh\n"),
        ("old/inner", "i\n"),
    ] {
        project.repo.file(path, text);
    }
    project.repo.commit("files");
    project.run(&[]).expect(0);
    let files = project.repo.git(["ls-files"]);
    for path in [
        "A.txt",
        "deep.txt",
        "link",
        "moved/a",
        "moved/sub/b",
        "old",
        "run.sh",
    ] {
        assert!(files.lines().any(|line| line == path), "{path}: {files}");
        assert!(project.repo.exists(path), "{path}");
    }
    for path in ["dir/a", "dir/sub/b", "top.txt", "gone.txt", "old/inner"] {
        assert!(!files.lines().any(|line| line == path), "{path}: {files}");
        assert!(!project.repo.exists(path), "{path}");
    }
    let mode = project.repo.git(["ls-files", "--stage", "run.sh"]);
    assert!(mode.starts_with("100755"), "{mode}");
    assert_eq!(project.repo.git(["status", "--porcelain"]), "");
}

#[test]
fn a_person_can_work_in_the_folder_meanwhile_and_nothing_of_theirs_is_touched() {
    let hang = json!({"do": [
        {"run": "echo x > A.txt; echo agent > shared.txt; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done"},
        {"say": "Task A complete"},
    ]});
    let project = Project::with_stories(&[story("A")])
        .script(&json!({"default": [hang]}))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project
        .repo
        .file("shared.txt", "base\n")
        .file("mine.txt", "base\n");
    project.repo.commit("files");
    let live = project.start(&[]);
    wait_until("the agent has begun", || {
        project.repo.home().join("begun").exists()
    });
    project
        .repo
        .file("shared.txt", "person\n")
        .file("mine.txt", "person\n");
    project.repo.file("new-of-person.txt", "n\n");
    project.repo.git(["add", "mine.txt"]);
    std::fs::write(project.repo.home().join("go"), "").unwrap();
    let ran = live.wait().expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(project.repo.git(["show", "HEAD:shared.txt"]), "agent");
    assert_eq!(project.repo.git(["show", "HEAD:mine.txt"]), "base");
    assert_eq!(project.repo.read("shared.txt"), "person\n");
    assert_eq!(project.repo.read("mine.txt"), "person\n");
    assert!(project.repo.exists("new-of-person.txt"));
    let staged = project.repo.git(["diff", "--cached", "--name-only"]);
    assert_eq!(staged, "mine.txt", "what the person staged stays staged");
    assert!(
        ran.all().contains("shared.txt"),
        "the file is named: {}",
        ran.all()
    );
}

#[test]
fn a_task_file_that_a_person_edits_while_an_agent_runs_keeps_the_edit() {
    for (agent, flagged) in [
        ("true", false),
        ("sed -i 's/Write A/Write it/' prd.json", true),
    ] {
        let hang = json!({"do": [
            {"run": format!("echo x > A.txt; {agent}; touch \"$HOME/begun\"; while [ ! -e \"$HOME/go\" ]; do sleep 0.05; done")},
            {"say": "Task A complete"},
        ]});
        let project = Project::with_stories(&[story("A")])
            .script(&json!({"default": [hang, good_attempt()]}))
            .env("RALPH_WORKSPACE_MODE", "overlay");
        let live = project.start(&["--task", "A"]);
        wait_until("the agent has begun", || {
            project.repo.home().join("begun").exists()
        });
        project.repo.prd(&prd(&[story("A"), story("B")]));
        std::fs::write(project.repo.home().join("go"), "").unwrap();
        let ran = live.wait();
        assert_eq!(project.landed(), ["A"], "{}", ran.all());
        assert!(project.repo.read("prd.json").contains("Write B"), "{agent}");
        assert!(project.passes("A") && !project.passes("B"), "{agent}");
        let named = ran
            .flags()
            .iter()
            .any(|f| f.contains("changed by a person"));
        assert_eq!(named, flagged, "{agent}: {:?}", ran.flags());
    }
}

#[test]
fn an_edit_of_a_persons_untracked_file_is_not_landed() {
    let project = layered("echo x > A.txt; echo agent >> notes.txt");
    project.repo.file("notes.txt", "mine\n");
    let ran = project.run(&[]).expect(0);
    let named = ran
        .flags()
        .iter()
        .any(|f| f.contains("notes.txt was edited"));
    assert!(named, "{:?}", ran.flags());
    assert_eq!(project.repo.read("notes.txt"), "mine\n");
    assert_eq!(project.repo.git(["ls-files", "notes.txt"]), "");
}

#[test]
fn an_edit_of_the_configuration_is_named_and_not_taken() {
    let project = layered("echo x > A.txt; echo 'loop: {max_attempts: 99}' > ralph.yaml");
    let ran = project.run(&[]).expect(0);
    assert!(!project.repo.exists("ralph.yaml"));
    let flagged = ran
        .flags()
        .iter()
        .any(|f| f.contains("ralph.yaml was edited"));
    assert!(flagged, "{:?}", ran.flags());
}

#[test]
fn wedges_of_an_agent_do_not_outlive_it() {
    for wedge in [
        "mkfifo .gitignore",
        "echo '* text working-tree-encoding=nonsense' > .gitattributes",
        "mkdir locked; echo 1 > locked/f; chmod 000 locked",
        "git init -q nested; (cd nested; git commit -q --allow-empty -m x)",
    ] {
        let bad = json!({"do": [{"run": wedge}, {"say": "Task A complete"}]});
        let project = Project::with_stories(&[story("A")])
            .script(&json!({"default": [bad, good_attempt()]}))
            .env("RALPH_WORKSPACE_MODE", "overlay");
        project.run(&["--once"]);
        let project = project.script(&good_script());
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{wedge}");
        assert_eq!(project.repo.git(["status", "--porcelain"]), "", "{wedge}");
    }
}

#[test]
fn the_journal_cannot_be_written_from_inside_a_run() {
    for mode in ["overlay", "in_place"] {
        let project = Project::with_stories(&[story("A"), story("B")]);
        let data = project.repo.data_dir();
        // Only a layer has mounts that guard the files themselves.
        let deeds: &[&str] = match mode {
            "overlay" => &["touch planted", "echo >> ralph.db", "mv ralph.db other.db"],
            _ => &[],
        };
        let deeds: Vec<String> = deeds
            .iter()
            .map(|d| format!("({d}); echo \"exit $?\"; "))
            .collect();
        let shell = format!(
            "cat > /dev/null; echo x > $RALPH_TASK_ID.txt; (exec >> \"$HOME/said\" 2>&1; ralph skip --task B --reason because; \
             echo \"exit $?\"; cd '{}' && test -s ralph.db && echo found; {}:); echo Task $RALPH_TASK_ID complete",
            data.display(),
            deeds.concat()
        );
        // Where other programs have their data in the same folder, it is ralph's files alone that are guarded.
        let elsewhere = project.repo.outside().join("elsewhere");
        let project = project
            .command(&shell)
            .env("RALPH_WORKSPACE_MODE", mode)
            .env("XDG_DATA_HOME", elsewhere.display().to_string());
        let path = std::env::var("PATH").unwrap();
        let own = std::path::Path::new(env!("CARGO_BIN_EXE_ralph"))
            .parent()
            .unwrap();
        let project = project.env("PATH", format!("{}:{path}", own.display()));
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A", "B"], "{mode}");
        let said = std::fs::read_to_string(project.repo.home().join("said")).unwrap();
        assert!(!said.contains("exit 0"), "{mode}: {said}");
        let tried = 2 * (1 + deeds.len());
        assert_eq!(said.matches("exit ").count(), tried, "{mode}: {said}");
        assert_eq!(said.matches("found").count(), 2, "{mode}: {said}");
        assert!(!data.join("planted").exists(), "{mode}");
    }
}

#[test]
fn a_failed_attempt_is_gone_on_with_from_its_files() {
    let first = json!({"do": [
        {"run": "echo half > half.txt; rm gone.txt; mkdir -p d; echo 1 > d/one"},
        {"say": "Task A complete"},
    ]});
    let second = json!({"do": [
        {"run": "test -f half.txt && test ! -e gone.txt && test -f d/one && echo x > A.txt"},
        {"say": "Task A complete"},
    ]});
    let project = Project::with_stories(&[story("A")])
        .script(&json!({"default": [first, second]}))
        .config("loop:\n  max_verify_retries: 0\n")
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project.repo.file("gone.txt", "g").commit("gone");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A failed", "A verified"]);
    assert!(project.repo.exists("half.txt") && !project.repo.exists("gone.txt"));
}

#[test]
fn killed_with_a_layer_mounted_nothing_is_mounted_and_the_next_run_goes_on() {
    let hang = json!({"do": [{"write": {"path": "B.txt", "text": "half\n"}}, {"run": "touch \"$HOME/begun\""}, "hang"]});
    let project = Project::with_stories(&[story("A")])
        .script(&json!({"default": [hang]}))
        .env("RALPH_WORKSPACE_MODE", "overlay");
    let live = project.start(&[]);
    wait_until("the agent has begun", || {
        project.repo.home().join("begun").exists()
    });
    assert_eq!(layers_left(&project).len(), 2, "a layer and its lock");
    live.signal(Signal::KILL);
    live.wait().expect(-Signal::KILL.as_raw());
    project.assert_nothing_alive();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = project.repo.root().display().to_string();
    assert!(!mounts.contains(&root), "{mounts}");
    assert!(!project.repo.exists("B.txt"), "the folder was not written");
    let project = project.script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert_eq!(layers_left(&project), Vec::<String>::new());
    let attempts = project.attempts();
    assert_eq!(attempts.len(), 1, "what the killed agent had is kept");
}

#[test]
fn an_installed_dependency_counts_where_the_change_says_so_and_nothing_makes_it() {
    let mut own = story("A");
    own["verify"] = json!(["test -f node_modules/dep/index.js"]);
    let install = "mkdir -p node_modules/dep; echo 1 > node_modules/dep/index.js";
    let with_manifest =
        format!("{install}; echo '{{\"dependencies\": {{\"dep\": \"1\"}}}}' > package.json");
    let project = |shell: &str| {
        let project = Project::with_stories(&[own.clone()])
            .script(&does(shell))
            .config("loop:\n  max_verify_retries: 0\n")
            .env("RALPH_WORKSPACE_MODE", "overlay");
        project
            .repo
            .file(".gitignore", "node_modules/\n")
            .commit("ignore");
        project
    };
    let ran = project(&with_manifest).run(&[]).expect(0);
    let flagged = ran
        .flags()
        .iter()
        .any(|f| f.contains("the agent's own node_modules"));
    assert!(flagged, "{:?}", ran.flags());
    // Without a reason in the change, it is a planted cache.
    let ran = project(&format!("{install}; echo x > A.txt"))
        .run(&["--once"])
        .expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
}

#[test]
fn preparing_makes_the_checkout_ready_in_every_verification() {
    let mut own = story("A");
    own["verify"] = json!(["test -f node_modules/dep/index.js && test -f A.txt"]);
    let project = Project::with_stories(&[own])
        .script(&does("echo x > A.txt"))
        .config("verification:\n  prepare:\n    - mkdir -p node_modules/dep && echo 1 > node_modules/dep/index.js\n")
        .env("RALPH_WORKSPACE_MODE", "overlay");
    project
        .repo
        .file(".gitignore", "node_modules/\n")
        .commit("ignore");
    project.run(&[]).expect(0);
    assert!(!project.repo.exists("node_modules"));
}

#[test]
fn where_there_can_be_no_layer_auto_works_in_place_and_says_why_and_overlay_refuses() {
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .env("RALPH_CONTAINMENT", "subreaper");
    let refused = project
        .run_with("RALPH_WORKSPACE_MODE", "overlay")
        .expect(2);
    assert!(
        refused.all().contains("mount namespace"),
        "{}",
        refused.all()
    );
    let ran = project.run(&[]).expect(0);
    assert!(
        ran.all().contains("agents work in your own folder"),
        "{}",
        ran.all()
    );
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn a_script_that_a_verify_command_leads_to_is_flagged_when_it_changes() {
    let project = layered("echo x > A.txt; echo 'exit 0' > tools/inner.sh");
    project
        .repo
        .file(
            "ralph.yaml",
            "verification:\n  commands:\n    - make check\n",
        )
        .file("Makefile", "check:\n\tsh tools/outer.sh\n")
        .file("tools/outer.sh", "sh tools/inner.sh\n")
        .file("tools/inner.sh", "test -d .\n")
        .commit("checks");
    let ran = project.run(&[]).expect(0);
    let flagged = ran.flags().iter().any(|f| f.contains("tools/inner.sh"));
    assert!(flagged, "{:?}", ran.flags());
}

#[test]
fn files_that_are_touched_or_written_again_as_they_are_are_no_change() {
    let again = "touch check.sh; sed -i s/nothing-like-it/x/ check.sh; cp -p run.sh t; mv t run.sh; rm link; ln -s run.sh link";
    for (more, verdict, files) in [
        ("; echo x > A.txt", "A verified", vec!["A.txt"]),
        ("", "A no_change", vec![]),
    ] {
        let project = layered(&format!("{again}{more}"));
        project
            .repo
            .file(
                "ralph.yaml",
                "verification:\n  commands:\n    - sh check.sh\n",
            )
            .file("check.sh", "exit 0\n")
            .script("run.sh", "#!/bin/sh\n");
        std::os::unix::fs::symlink("run.sh", project.repo.path("link")).unwrap();
        project.repo.commit("files");
        let ran = project.run(&["--once"]);
        assert_eq!(ran.verdicts(), [verdict]);
        let inspected = ran.named("inspected");
        let found = inspected
            .iter()
            .flat_map(|event| event["files"].as_array().unwrap());
        let found: Vec<&str> = found.map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(found, files);
        assert_eq!(ran.flags(), [""; 0]);
    }
}

#[test]
fn links_to_the_data_folder_and_to_the_logs_are_followed() {
    let project = layered("echo x > A.txt");
    let (real, link) = (project.outside("real-data"), project.outside("data-link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    let logs = project.outside("ralph-folder");
    std::fs::create_dir(&logs).unwrap();
    project
        .repo
        .file(".gitignore", "/.ralph\n")
        .commit("ignore");
    std::os::unix::fs::symlink(&logs, project.repo.root().join(".ralph")).unwrap();
    let project = project.env("RALPH_DATA_DIR", &link);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    assert!(real.join("ralph.db").exists());
}

#[test]
fn a_data_folder_that_holds_the_repository_does_not_hide_it() {
    for mode in ["overlay", "in_place"] {
        let project = Project::with_stories(&[story("A")])
            .script(&good_script())
            .env("RALPH_WORKSPACE_MODE", mode);
        let above = project.repo.root().parent().unwrap().to_owned();
        let project = project.env("RALPH_DATA_DIR", above);
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["A"], "{mode}");
    }
}
