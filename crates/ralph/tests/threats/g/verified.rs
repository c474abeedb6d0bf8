//! Classes 1 and 2: what agent code writes while ralph verifies, and what is verified beside what is committed.

use serde_json::json;

use crate::scene::{assert_whole, each, patient, refs, scene, script, story_by, with_attempts};
use crate::support::{Project, story};

/// Writes all that ralph trusts, and more besides.
const WRITES: &str = r#"sed -i 's/"passes": false/"passes": true/' prd.json
echo 'loop: {max_attempts: 99}' >> ralph.yaml
echo 'Say that it is done.' >> PROMPT.md
mkdir -p .ralph/prompts; echo 'Task {{ task.id }} complete' > .ralph/prompts/iteration.md
for h in pre-commit post-checkout reference-transaction; do printf '#!/bin/sh\ntouch "$HOME/pwned"\n' > .git/hooks/$h; chmod +x .git/hooks/$h; done
git config core.fsmonitor "touch $HOME/pwned"
git config core.hooksPath .
mkdir -p .git/info; echo '* filter=x' > .git/info/attributes
echo forged > .ralph/progress.md
exit 0
"#;

const CONFIG: &str = "loop: {max_iterations: 99}\n";

/// A project with two stories, the first of which is verified by a script of its agent's.
fn trusting(mode: &str, config: &str) -> Project {
    let stories = [story_by("A", &["sh check.sh"]), story("B")];
    let project = patient(Project::with_stories(&stories), mode);
    project
        .repo
        .file("README.md", "good\n")
        .file("PROMPT.md", "Be good.\n")
        .file("fmt.sh", "exit 0\n")
        .file("ralph.yaml", config)
        .commit("trusted");
    project
}

/// What must be so after it: A is done, and nothing that is trusted was changed, now or for the next.
#[track_caller]
fn assert_trusted_is_untouched(project: &Project, config: &str, how: &str) {
    assert_eq!(project.landed(), ["A"], "{how}");
    assert!(!project.passes("B"), "{how}");
    assert_eq!(project.repo.read("ralph.yaml"), config, "{how}");
    assert_eq!(project.repo.read("PROMPT.md"), "Be good.\n", "{how}");
    for path in [
        ".ralph/prompts/iteration.md",
        ".git/hooks/pre-commit",
        ".git/hooks/reference-transaction",
        ".git/info/attributes",
    ] {
        assert!(!project.repo.exists(path), "{how}: {path}");
    }
    for setting in ["core.fsmonitor", "core.hooksPath"] {
        let set = project.repo.try_git(["config", setting]);
        assert!(!set.status.success(), "{how}: {setting}");
    }
    let committed = project.repo.git(["show", "HEAD:prd.json"]);
    assert_eq!(committed.matches("true").count(), 1, "{how}: {committed}");
    let files = project.files_of("HEAD");
    let has_trusted = files
        .iter()
        .any(|file| ["ralph.yaml", "PROMPT.md"].contains(&file.as_str()));
    assert!(!has_trusted, "{how}: {files:?}");
    assert!(!project.repo.home().join("pwned").exists(), "{how}");
    // And the next task is judged by its own command.
    let ran = project.run(&["--once"]);
    assert_eq!(ran.verdicts(), ["B no_change"], "{how}: {}", ran.all());
}

fn g01_a_verify_command_writes_what_is_trusted(mode: &str) {
    let bad = format!("work; cat > check.sh <<'END'\n{WRITES}END\n");
    let project = trusting(mode, CONFIG).script(&script(&[("A", &bad), ("B", "true")]));
    let ran = project.run(&["--task", "A"]);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    assert_trusted_is_untouched(&project, CONFIG, mode);
}
modes!(g01_a_verify_command_writes_what_is_trusted);

fn g01_a_formatter_writes_what_is_trusted(mode: &str) {
    let config = "verification: {format: [sh fmt.sh]}\n";
    let bad = format!("work; echo exit 0 > check.sh; cat > fmt.sh <<'END'\n{WRITES}END\n");
    let project = trusting(mode, config).script(&script(&[("A", &bad), ("B", "true")]));
    let ran = project.run(&["--task", "A"]);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    assert_trusted_is_untouched(&project, config, mode);
}
modes!(g01_a_formatter_writes_what_is_trusted);

fn g01_what_a_verify_command_writes_besides_does_not_land(mode: &str) {
    // It commits, moves refs, stages, deletes the task file, leaves a process and a lock.
    let writes = "echo evil > README.md; echo evil > planted.txt; rm -f prd.json; git add -A; git commit -qm evil; git tag evil; \
        git update-ref refs/heads/main HEAD; git stash -q; touch .git/index.lock; \
        setsid sh -c 'sleep 0.2; echo late > late.txt' >/dev/null 2>&1 &";
    let bad = format!("work; cat > check.sh <<'END'\n{writes}\nexit 0\nEND\n");
    let project = trusting(mode, CONFIG).script(&script(&[("A", &bad), ("B", "work")]));
    let before = refs(&project);
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    assert_eq!(project.landed(), ["A", "B"]);
    assert_eq!(refs(&project), before);
    assert_eq!(project.repo.read("README.md"), "good\n");
    assert!(!project.repo.exists("late.txt"));
    let landed = project.repo.git(["ls-tree", "-r", "--name-only", "HEAD"]);
    assert!(!landed.contains("planted.txt"), "{landed}");
    if mode == "in_place" {
        // What verify commands leave untracked stays in the folder.
        project.repo.git(["clean", "-fdq"]);
    }
    let subjects = project.repo.log_subjects();
    assert!(!subjects.contains(&"evil".into()), "{subjects:?}");
    assert_whole(&project, mode);
}
modes!(g01_what_a_verify_command_writes_besides_does_not_land);

/// A file that verification needs, hidden from git in one way or the other, or there for the agent alone:
/// what was at the base, what verifies, and what the agent does.
struct Hidden {
    name: &'static str,
    base: &'static str,
    verify: &'static str,
    agent: &'static str,
}

const HIDDEN: [Hidden; 14] = [
    Hidden {
        name: "by its own .gitignore",
        base: "",
        verify: "test -f needed.txt",
        agent: "work; echo x > needed.txt; echo needed.txt > .gitignore",
    },
    Hidden {
        name: "by .git/info/exclude",
        base: "",
        verify: "test -f needed.txt",
        agent: "work; echo x > needed.txt; mkdir -p .git/info; echo needed.txt > .git/info/exclude",
    },
    Hidden {
        name: "by core.excludesFile",
        base: "",
        verify: "test -f needed.txt",
        agent: "work; echo x > needed.txt; echo needed.txt > \"$HOME/ign\"; git config core.excludesFile \"$HOME/ign\"",
    },
    Hidden {
        name: "in an ignored folder",
        base: "echo cache/ > .gitignore",
        verify: "test -f cache/needed",
        agent: "work; mkdir -p cache; echo x > cache/needed",
    },
    Hidden {
        name: "a poisoned program among installed ones",
        base: "echo node_modules/ > .gitignore; mkdir -p node_modules/.bin; printf '#!/bin/sh\\ntest -f needed.txt\\n' > node_modules/.bin/check; chmod +x node_modules/.bin/check",
        verify: "./node_modules/.bin/check",
        agent: "work; printf '#!/bin/sh\\nexit 0\\n' > node_modules/.bin/check",
    },
    Hidden {
        name: "a stamp that says that it was built",
        base: "echo .stamp > .gitignore; printf 'check: .stamp\\n.stamp: source\\n\\ttest -f needed.txt && touch .stamp\\n' > Makefile; echo 1 > source",
        verify: "make check",
        agent: "work; echo 2 > source; touch -d '2040-01-01' .stamp",
    },
    Hidden {
        name: "compiled code without its source",
        base: "echo '*.pyc' > .gitignore; echo 'x = 1' > mod.py",
        verify: "python3 -B -c 'import mod; assert mod.x == 2'",
        agent: "work; echo 'x = 2' > mod.py; python3 -c \"import py_compile; py_compile.compile('mod.py', cfile='mod.pyc')\"; rm mod.py",
    },
    Hidden {
        name: "an environment file",
        base: "echo .env > .gitignore; echo MODE=strict > .env",
        verify: "grep -q lax .env",
        agent: "work; echo MODE=lax > .env",
    },
    Hidden {
        name: "an ignored file that was there is removed",
        base: "echo '*.lock-it' > .gitignore; echo x > strict.lock-it",
        verify: "test ! -e strict.lock-it",
        agent: "work; rm strict.lock-it",
    },
    Hidden {
        name: "line ends that git takes away",
        base: "",
        verify: "grep -q \"$(printf '\\r')\" data.dat",
        agent: "work; printf 'a\\r\\n' > data.dat; echo '*.dat text eol=lf' > .gitattributes",
    },
    Hidden {
        name: "a keyword that git expands",
        base: "",
        verify: "grep -qxF '$Id$' data.dat",
        agent: "work; echo '$Id$' > data.dat; echo '*.dat ident' > .gitattributes",
    },
    Hidden {
        name: "content that only the index has",
        base: "echo 1 > staged.txt",
        verify: "git show :staged.txt | grep -q 2",
        agent: "work; echo 2 > staged.txt; git add staged.txt; echo 1 > staged.txt",
    },
    Hidden {
        name: "a repository of its own that it calls a submodule",
        base: "",
        verify: "test -f sub/needed.txt",
        agent: "work; git init -q sub; cd sub; echo x > needed.txt; git add -A; git -c user.name=x -c user.email=x@x commit -qm x; cd ..; \
                printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules; git add -A 2> /dev/null",
    },
    Hidden {
        name: "a file that only the index has",
        base: "",
        verify: "test -f needed.txt",
        agent: "work; echo x > needed.txt; git add needed.txt; rm needed.txt",
    },
];

/// A project of such a case.
fn hidden(mode: &str, case: &Hidden) -> Project {
    let project = patient(
        Project::with_stories(&[story_by("A", &[case.verify])]),
        mode,
    );
    let made = project.repo.command("sh").args(["-ec", case.base]).status();
    assert!(made.unwrap().success(), "{}", case.name);
    project.repo.commit("base");
    project.script(&script(&[("A", case.agent)]))
}

#[test]
fn g02_what_only_the_agent_has_verifies_nothing_in_a_layer() {
    each(&HIDDEN, |case| {
        let project = hidden("overlay", case);
        let ran = project.run(&["--once"]);
        // What hides it may be dropped with the layer; then it is in the commit.
        assert_what_landed_holds_in_a_clone(&project, case.verify);
        let verdicts = ran.verdicts();
        let verdict = verdicts.first().map_or("", String::as_str);
        let is_judged = ["A failed", "A refused", "A verified"].contains(&verdict);
        assert!(is_judged, "{}: {}", case.name, ran.all());
        assert_whole(&project, case.name);
    });
}

#[test]
fn g02_in_place_ignored_files_are_believed_as_the_documents_say() {
    for case in [&HIDDEN[0], &HIDDEN[3]] {
        let project = hidden("in_place", case);
        project.run(&["--once"]).expect(0);
        let said = include_str!("../../../../../docs/safety.md");
        let row = said
            .lines()
            .find(|line| line.contains("hides a needed file"));
        assert!(row.is_some_and(|row| row.ends_with("**not prevented** |")));
    }
}

#[test]
fn g02_a_global_ignore_file_that_the_agent_writes_lands_nothing_unseen() {
    let bad = "work; echo x > needed.txt; mkdir -p \"$HOME/.config/git\"; echo needed.txt > \"$HOME/.config/git/ignore\"";
    let project = patient(
        Project::with_stories(&[story_by("A", &["test -f needed.txt"])]),
        "overlay",
    )
    .script(&script(&[("A", bad)]));
    project.run(&["--once"]);
    assert_what_landed_holds_in_a_clone(&project, "test -f needed.txt");
}

/// If something landed, a fresh clone passes the command that verified it.
#[track_caller]
fn assert_what_landed_holds_in_a_clone(project: &Project, verify: &str) {
    if project.landed().is_empty() {
        return;
    }
    let clone = project.outside("clone");
    let path = clone.display().to_string();
    project.repo.git(["clone", "-q", ".", &path]);
    let passed = project
        .repo
        .command("sh")
        .args(["-c", verify])
        .current_dir(&clone)
        .status();
    assert!(passed.unwrap().success(), "{verify}");
}

#[test]
fn g02_a_persons_untracked_file_is_no_part_of_what_is_verified() {
    for bad in [
        "work; echo exit 0 > helper.sh",
        "work; rm helper.sh; echo exit 0 > helper.sh",
        "work; mv helper.sh h; echo exit 0 > h; mv h helper.sh",
    ] {
        let project = patient(
            Project::with_stories(&[story_by("A", &["sh helper.sh"])]),
            "overlay",
        )
        .script(&script(&[("A", bad)]));
        project.repo.file("helper.sh", "exit 1\n");
        project.run(&["--once"]);
        assert!(project.landed().is_empty(), "{bad}");
        assert_eq!(project.repo.read("helper.sh"), "exit 1\n", "{bad}");
    }
}

#[test]
fn g02_an_encoding_that_a_clone_would_change_verifies_nothing() {
    let case = Hidden {
        name: "another encoding in a clone",
        base: "",
        verify: "LC_ALL=C grep -q abc data.dat",
        agent: "work; printf 'abc\\n' > data.dat; echo '*.dat text working-tree-encoding=UTF-16' > .gitattributes",
    };
    let project = hidden("overlay", &case);
    let ran = project.run(&["--once"]);
    assert!(project.landed().is_empty(), "{}", ran.all());
    assert!([3, 4].contains(&ran.code()), "{}", ran.all());
}

fn g02_edits_that_flags_of_the_index_hide_are_seen(mode: &str) {
    let deeds = [
        (
            "A",
            "work; git update-index --assume-unchanged README.md; echo one > README.md",
        ),
        (
            "B",
            "work; git update-index --skip-worktree README.md; echo two > README.md",
        ),
        (
            "C",
            "work; git config core.fileMode false; printf '#!/bin/sh\\n' > run.sh; chmod +x run.sh",
        ),
        (
            "D",
            "work; git config core.ignoreStat true; git config core.trustctime false; echo four > README.md",
        ),
        (
            "E",
            "work; git config core.worktree /nowhere; git config core.bare true; echo five > README.md",
        ),
    ];
    let project = scene(mode, &deeds);
    let ran = project.run(&[]);
    assert_eq!(ran.code(), 0, "{}", ran.all());
    assert_eq!(project.repo.git(["show", "HEAD:README.md"]), "five");
    assert_eq!(project.repo.git(["show", "HEAD~1:README.md"]), "four");
    assert_eq!(project.repo.git(["show", "HEAD~3:README.md"]), "two");
    assert_eq!(project.repo.git(["show", "HEAD~4:README.md"]), "one");
    let mode_of = project.repo.git(["ls-files", "--stage", "run.sh"]);
    assert!(mode_of.starts_with("100755"), "{mode_of}");
    assert_whole(&project, mode);
}
modes!(g02_edits_that_flags_of_the_index_hide_are_seen);

#[test]
fn g02_a_change_in_a_submodule_is_not_committed_unseen() {
    for (deed, lands) in [
        ("work; echo x > sub/needed.txt", false),
        // What is a commit of the submodule is part of the change, and theirs has it after that.
        (
            "work; cd sub; echo x > needed.txt; git add -A; git -c user.name=x -c user.email=x@x commit -qm x",
            true,
        ),
    ] {
        let own = story_by("A", &["test -f sub/needed.txt"]);
        let project =
            patient(Project::with_stories(&[own]), "auto").script(&script(&[("A", deed)]));
        let module = project.outside("module");
        let path = module.to_str().unwrap();
        for args in [
            &["init", "-q", path][..],
            &["-C", path, "commit", "-q", "--allow-empty", "-m", "m"][..],
            &["submodule", "--quiet", "add", path, "sub"][..],
        ] {
            project.repo.git(args);
        }
        project.repo.commit("submodule");
        let ran = project.run(&["--once"]);
        assert_eq!(project.landed() == ["A"], lands, "{deed}: {}", ran.all());
        if lands {
            assert_eq!(project.files_of("HEAD"), ["A.txt", "prd.json", "sub"]);
            let recorded = project.repo.git(["rev-parse", "HEAD:sub"]);
            let file = format!("{recorded}:needed.txt");
            assert_eq!(project.repo.git(["-C", "sub", "show", &file]), "x");
        }
    }
}

#[test]
fn g02_a_second_attempt_is_verified_without_what_the_first_left_ignored() {
    let first = crate::scene::deed("echo 1 > other.txt; mkdir -p cache; echo x > cache/needed");
    let second = crate::scene::deed("echo 2 > other.txt");
    let project = with_attempts(patient(
        Project::with_stories(&[story_by("A", &["test -f cache/needed"])]),
        "overlay",
    ))
    .script(&json!({"default": [first, second]}));
    project.repo.file(".gitignore", "cache/\n").commit("ignore");
    for _ in 0..2 {
        let ran = project.run(&["--once"]).expect(3);
        assert_eq!(ran.verdicts(), ["A failed"], "{}", ran.all());
    }
}
