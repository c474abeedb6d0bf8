//! Cases 21 to 30: what an agent does to git, and what its change may not hold.

use serde_json::json;

use crate::scene::{
    MODES, alone, assert_flagged, assert_goes_on, assert_refused, assert_whole, each, holders,
    modes_of, one_after_another, patient, refs, scene, script, some, with_attempts,
};
use crate::support::{Project, story};

/// A program that says that it ran.
const EVIL: &str = "printf '#!/bin/sh\\ntouch \"$HOME/pwned\"; cat\\n' > \"$HOME/evil\"; chmod +x \"$HOME/evil\"; ";

fn is_pwned(project: &Project) -> bool {
    project.repo.home().join("pwned").exists()
}

/// A person's own git afterwards starts nothing of the agent's either.
#[track_caller]
fn assert_safe_for_the_person(project: &Project, how: &str) {
    assert!(!is_pwned(project), "{how}: ralph ran it");
    project.repo.file("of-the-person.txt", "x\n");
    project.repo.git(["status", "--short"]);
    project.repo.git(["add", "-A"]);
    project.repo.git(["diff", "--cached"]);
    project.repo.git(["commit", "-q", "-m", "by the person"]);
    project.repo.git(["log", "-p", "-1"]);
    assert!(!is_pwned(project), "{how}: the person's git ran it");
}

#[test]
fn a21_planted_hooks_are_neither_run_nor_left() {
    let hooks = "for h in pre-commit commit-msg post-commit prepare-commit-msg reference-transaction post-checkout post-index-change fsmonitor-watchman; do";
    let plants = [
        format!("{EVIL}{hooks} cp \"$HOME/evil\" .git/hooks/$h; done"),
        format!("{EVIL}{hooks} ln -sf \"$HOME/evil\" .git/hooks/$h; done"),
        format!(
            "{EVIL}mkdir -p \"$HOME/h\"; {hooks} cp \"$HOME/evil\" \"$HOME/h/$h\"; done; git config core.hooksPath \"$HOME/h\""
        ),
        format!(
            "{EVIL}mkdir -p hooks; {hooks} cp \"$HOME/evil\" hooks/$h; done; git config core.hooksPath hooks; rm -r .git/hooks; ln -s ../hooks .git/hooks"
        ),
    ];
    let deeds = plants.map(|plant| format!("{plant}; rm -f \"$HOME/pwned\"; work"));
    let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
    for mode in MODES {
        let project = one_after_another(mode, &deeds);
        project.run(&[]).expect(0);
        assert_eq!(
            project.landed(),
            ["B01", "B02", "B03", "B04", "Z"],
            "{mode}"
        );
        assert_whole(&project, mode);
        assert_safe_for_the_person(&project, mode);
    }
}

/// Settings by which git starts a program, each as its own call.
const SETTINGS: [&str; 26] = [
    "core.fsmonitor",
    "core.editor",
    "core.pager",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "diff.external",
    "diff.x.textconv",
    "diff.x.command",
    "merge.x.driver",
    "filter.x.clean",
    "filter.x.smudge",
    "filter.x.process",
    "gpg.program",
    "gpg.ssh.program",
    "credential.helper",
    "pager.log",
    "pager.status",
    "interactive.diffFilter",
    "trailer.x.command",
    "uploadpack.packObjectsHook",
    "web.browser",
    "difftool.x.cmd",
    "remote.origin.uploadpack",
];

#[test]
fn a22_settings_that_start_programs_are_neither_followed_nor_left() {
    let set: String = SETTINGS
        .iter()
        .map(|name| format!("git config {name} \"$HOME/evil\"; "))
        .collect();
    let more = "git config commit.gpgSign true; git config filter.x.required true; git config diff.x.cachetextconv true; \
        git config alias.status '!touch \"$HOME/pwned\"'; mkdir -p .git/info; echo '* filter=x diff=x merge=x' > .git/info/attributes; ";
    let plants = [
        format!("{EVIL}{set}{more}"),
        format!(
            "{EVIL}git config include.path ../planted; printf '[core]\\n\\tfsmonitor = %s\\n[filter \"x\"]\\n\\tclean = %s\\n' \"$HOME/evil\" \"$HOME/evil\" > planted; mkdir -p .git/info; echo '* filter=x' > .git/info/attributes; "
        ),
        format!(
            "{EVIL}git config extensions.worktreeConfig true; git config --worktree core.fsmonitor \"$HOME/evil\"; git config --worktree core.hooksPath .; "
        ),
    ];
    for mode in MODES {
        let deeds: Vec<String> = plants
            .iter()
            .map(|plant| format!("work; {plant} rm -f \"$HOME/pwned\""))
            .collect();
        let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
        let project = one_after_another(mode, &deeds);
        let before = project.repo.read(".git/config");
        project.run(&[]).expect(0);
        assert_eq!(project.landed(), ["B01", "B02", "B03", "Z"], "{mode}");
        assert_eq!(project.repo.read(".git/config"), before, "{mode}");
        assert!(!project.repo.exists(".git/info/attributes"), "{mode}");
        assert_safe_for_the_person(&project, mode);
        // Attributes that land name a filter that nothing defines any more.
        let project = alone(
            mode,
            &format!(
                "work; {EVIL}{set} echo '*.txt filter=x diff=x' > .gitattributes; rm -f \"$HOME/pwned\""
            ),
        );
        project.run(&[]);
        assert!(!is_pwned(&project), "{mode}");
    }
}

/// Ways to put something else in the place of `.git`; the real one is in the home folder then.
const REPLACED: [&str; 5] = [
    "work; rm -rf \"$HOME/real\"; cp -r .git \"$HOME/real\"; rm -rf .git; ln -s \"$HOME/real\" .git",
    "work; rm -rf \"$HOME/real\"; cp -r .git \"$HOME/real\"; rm -rf .git; echo \"gitdir: $HOME/real\" > .git",
    "work; rm -rf \"$HOME/real\"; cp -r .git \"$HOME/real\"; rm -rf .git; git init -q .; git add -A; git commit -qm mine",
    "work; rm -rf \"$HOME/real\"; cp -r .git \"$HOME/real\"; rm -rf .git; git clone -q --bare \"$HOME/real\" .git",
    "work; rm -rf \"$HOME/real\"; cp -r .git \"$HOME/real\"; rm -rf .git; touch .git",
];

#[test]
fn a23_a_replaced_git_folder_goes_with_its_layer() {
    let project = one_after_another("overlay", &REPLACED);
    let before = refs(&project);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["B01", "B02", "B03", "B04", "B05", "Z"]);
    assert_eq!(refs(&project), before);
    assert_whole(&project, "overlay");
}

#[test]
fn a23_a_replaced_git_folder_is_refused_by_name_in_place() {
    // Moved, so that its inode stays in use.
    let copied = "cp -r .git \"$HOME/real\"; rm -rf .git;";
    each(some(&REPLACED, 2), |replace| {
        let replace = &replace.replace(copied, "mv .git \"$HOME/real\";");
        let how = format!("in place, {replace}");
        let project = with_attempts(alone("in_place", replace));
        let base = project.repo.head();
        let ran = project.run(&[]);
        assert_ne!(ran.code(), 0, "{how}");
        assert!(ran.all().contains(".git"), "{how}: {}", ran.all());
        project.assert_nothing_alive();
        // The way back is a person's.
        let git = project.repo.path(".git");
        if git.is_symlink() || git.is_file() {
            std::fs::remove_file(&git).unwrap();
        } else {
            std::fs::remove_dir_all(&git).unwrap();
        }
        let real = project.repo.home().join("real");
        let copied = project
            .repo
            .command("cp")
            .arg("-r")
            .args([&real, &git])
            .status();
        assert!(copied.unwrap().success(), "{how}");
        assert_eq!(project.repo.git(["rev-parse", "main"]), base, "{how}");
        assert_goes_on(project, &["A"], &how);
    });
}

#[test]
fn a23_a_replaced_git_folder_is_told_from_the_old_one_in_place() {
    for _ in 0..5 {
        let project = with_attempts(alone("in_place", REPLACED[3]));
        let ran = project.run(&[]);
        assert_ne!(ran.code(), 0, "{}", ran.all());
    }
}

/// Ways to make another history of the branch that an agent works on.
const REWRITES: [&str; 7] = [
    "git commit -q --amend -m forged",
    "git reset -q --hard HEAD~1; work",
    "git rebase -q --force-rebase HEAD~1; git commit -q --amend --no-edit --date=2001-01-01T00:00:00",
    "git add -A; git commit -q -m own; git commit-tree HEAD^{tree} -m new | xargs git reset -q --hard",
    "git checkout -q --orphan other; git commit -q -m orphan --allow-empty",
    "git switch -q -c mine",
    "git switch -q --detach",
];

#[test]
fn a24_rewritten_history_is_put_back_and_halts_in_place() {
    each(some(&REWRITES, 2), |rewrite| {
        let project = with_attempts(alone("in_place", &format!("work; {rewrite}")));
        let base = project.repo.head();
        let ran = project.run(&[]).expect(4);
        assert_eq!(ran.stop()["why"], "halted", "{rewrite}: {}", ran.all());
        assert_eq!(project.repo.head(), base, "{rewrite}");
        assert_whole(&project, rewrite);
        assert_goes_on(project, &["A"], rewrite);
    });
}

#[test]
fn a24_rewritten_history_goes_with_its_layer_and_the_work_lands_on_the_base() {
    let deeds = REWRITES.map(|rewrite| format!("work; {rewrite}"));
    let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
    let project = one_after_another("overlay", &deeds);
    let base = project.repo.head();
    let before = refs(&project);
    project.run(&[]).expect(0);
    assert_eq!(project.repo.git(["rev-parse", "HEAD~8"]), base);
    assert_eq!(project.landed().len(), 8);
    assert_eq!(refs(&project), before);
    assert_whole(&project, "overlay");
}

#[test]
fn a25_a_branch_that_was_moved_by_force_takes_nothing_along() {
    let moves = [
        "git update-ref refs/heads/ralph/work HEAD~1",
        "git branch -f elsewhere HEAD~1; git symbolic-ref HEAD refs/heads/elsewhere; git branch -f ralph/work HEAD",
        "h=$(git rev-parse HEAD~1); echo $h > .git/refs/heads/ralph/work",
        "git pack-refs --all; git update-ref refs/heads/ralph/work HEAD~1",
    ];
    let moves = moves.into_iter().enumerate();
    each(moves, |(index, by)| {
        for mode in modes_of(index) {
            let how = format!("{mode}, {by}");
            let project = with_attempts(alone(mode, &format!("work; {by}")));
            let base = project.repo.head();
            let ran = project.run(&[]);
            if mode == "in_place" {
                assert_eq!(ran.code(), 4, "{how}: {}", ran.all());
                assert_eq!(project.repo.head(), base, "{how}");
            } else {
                assert_eq!(ran.code(), 0, "{how}: {}", ran.all());
                assert_eq!(project.repo.git(["rev-parse", "HEAD~1"]), base, "{how}");
            }
            assert_goes_on(project, &["A"], &how);
        }
    });
}

#[test]
fn a25_a_branch_that_is_moved_during_verification_is_not_overwritten() {
    // The verify command is the agent's own program, and runs when the tree is already judged.
    let own = crate::scene::story_by("A", &["sh check.sh"]);
    let bad = "echo 'git update-ref refs/heads/ralph/work $(git commit-tree HEAD^{tree} -p HEAD -m moved)' > check.sh; work";
    for mode in MODES {
        let project = with_attempts(patient(
            Project::with_stories(std::slice::from_ref(&own)),
            mode,
        ))
        .script(&script(&[("A", bad)]));
        let base = project.repo.head();
        let ran = project.run(&["--once"]);
        if mode == "overlay" {
            assert_eq!(ran.code(), 0, "{}", ran.all());
            assert_eq!(project.repo.git(["rev-parse", "HEAD~1"]), base);
        }
        let subjects = project.repo.log_subjects();
        assert!(!subjects.contains(&"moved".into()), "{mode}: {subjects:?}");
    }
}

#[test]
fn a26_no_credential_for_a_push_is_in_the_environment() {
    for mode in MODES {
        let secrets = [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "GITLAB_TOKEN",
            "SSH_AUTH_SOCK",
            "SSH_ASKPASS",
            "GIT_ASKPASS",
            "GPG_AGENT_INFO",
            "NPM_TOKEN",
            "CARGO_REGISTRY_TOKEN",
            "MY_SERVICE_PASSWORD",
        ];
        let shell = "env > \"$HOME/env\"; work";
        let project = secrets
            .iter()
            .fold(alone(mode, shell), |p, name| p.env(name, "not-for-you"));
        project.run(&[]).expect(0);
        let env = std::fs::read_to_string(project.repo.home().join("env")).unwrap();
        assert!(!env.contains("not-for-you"), "{mode}: {env}");
        assert!(env.contains("RALPH_TASK_ID=A"), "{mode}: {env}");
    }
}

#[test]
fn a27_commits_of_an_agent_are_squashed_and_verified() {
    let deeds = [
        (
            "A",
            "work; git add -A; git commit -q -m 'one of mine'; echo y >> A.txt; git commit -qam 'two of mine'",
        ),
        (
            "B",
            "echo x > other.txt; git add -A; git commit -q -m 'all done'",
        ),
        (
            "C",
            "work; git add -A; git commit -q -m 'feat: x\n\nRalph-Task: B\nRalph-Iteration: 01a1de91-0000-7000-8000-000000000000'",
        ),
    ];
    for mode in MODES {
        let project = scene(mode, &deeds);
        let ran = project.run(&[]).expect(4);
        assert_eq!(ran.verdicts(), ["A verified", "B failed", "C verified"]);
        assert_flagged(&ran, &["squashed"], mode);
        assert_eq!(project.landed(), ["A", "C"], "{mode}");
        assert_eq!(
            project.repo.git(["log", "--format=%s", "-2"]),
            "feat: Write C\nfeat: Write A"
        );
        assert_eq!(project.repo.git(["show", "HEAD:A.txt"]), "A\ny", "{mode}");
        let log = project.repo.git(["log", "--format=%B"]);
        assert!(!log.contains("000000000000"), "{mode}: {log}");
        assert!(!project.repo.exists("other.txt"), "{mode}");
        assert_whole(&project, mode);
    }
}

fn a28_locks_that_an_agent_leaves_are_removed(mode: &str) {
    let locks = "work; touch .git/index.lock .git/HEAD.lock .git/refs/heads/ralph/work.lock .git/refs/heads/main.lock .git/packed-refs.lock .git/config.lock .git/shallow.lock";
    let project = scene(mode, &[("A", locks), ("B", "work")]);
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A", "B"], "{mode}");
    assert_whole(&project, mode);
    for lock in [
        "index.lock",
        "HEAD.lock",
        "refs/heads/ralph/work.lock",
        "refs/heads/main.lock",
    ] {
        assert!(
            !project.repo.exists(format!(".git/{lock}")),
            "{mode}, {lock}"
        );
    }
}
modes!(a28_locks_that_an_agent_leaves_are_removed);

#[test]
fn a29_a_secret_is_refused_and_its_value_is_said_nowhere() {
    // Put together by the agent, so that neither this file nor the script holds one whole.
    let halves = [
        ("A", "ghp_R4lphR4lphR4lph", "R4lphR4lphR4lphR4l7Xy"),
        ("B", "AKIAR4LPHR4L", "PHR4LPHX"),
        ("C", "sk_live_51R4lphR4lph", "R4lphR4lphR4lphR4lph"),
    ];
    for mode in MODES {
        let shells = halves.map(|(id, half, other)| {
            let write =
                format!("work; printf 'token = \"%s%s\"\\n' {half} {other} > settings-{id}.toml");
            (id, write)
        });
        let key = "work; printf '%s %s PRIVATE %s\\nMIIEpAIBAAKCAQEA7\\n' -----BEGIN RSA KEY----- > id_rsa";
        let mut deeds: Vec<(&str, &str)> = shells.iter().map(|(id, s)| (*id, s.as_str())).collect();
        deeds.push(("D", key));
        let project = scene(mode, &deeds);
        let ran = project.run(&[]).expect(4);
        assert_refused(
            &ran,
            &[
                "settings-A.toml",
                "settings-B.toml",
                "settings-C.toml",
                "id_rsa",
            ],
            mode,
        );
        assert!(project.landed().is_empty(), "{mode}");
        let places = [project.repo.path(".ralph"), project.repo.data_dir()];
        for (id, half, other) in halves {
            let secret = format!("{half}{other}");
            assert!(!ran.all().contains(&secret), "{mode}, {id}");
            let held = holders(&[&places[0], &places[1]], &secret);
            assert_eq!(held, [""; 0], "{mode}, {id}");
            assert!(
                !project.repo.exists(format!("settings-{id}.toml")),
                "{mode}"
            );
        }
        let branches = project.repo.git(["log", "-p", "--branches", "--tags"]);
        assert!(!branches.contains("token = "), "{mode}");
    }
}

#[test]
fn a30_huge_files_nested_repositories_and_links_out_are_refused_by_name() {
    let commit = "git -c user.name=x -c user.email=x@x commit -q --allow-empty -m x";
    let nested = format!("work; git init -q nested; cd nested; {commit}");
    let hidden = format!("work; mkdir -p deep/down; cd deep/down; git init -q .; {commit}");
    let linked = "work; git worktree add -q inside 2>&1";
    let deeds = [
        ("A", "work; truncate -s 2G big.bin"),
        ("B", nested.as_str()),
        ("C", hidden.as_str()),
        ("D", "work; ln -s /etc/passwd leak"),
        ("E", "work; mkdir -p d; ln -s ../../x d/leak"),
        ("F", "work; ln -s .git/config leak"),
        ("G", linked),
        ("Z", "work"),
    ];
    let names = [
        "big.bin",
        "nested",
        "deep/down",
        "leak",
        "d/leak",
        "leak",
        "inside",
    ];
    for mode in MODES {
        let project = scene(mode, &deeds);
        let ran = project.run(&[]).expect(4);
        let refusals = crate::scene::refusals(&ran);
        for (refusal, name) in refusals.iter().zip(names) {
            assert!(refusal.contains(name), "{mode}: {name} in {refusal:?}");
        }
        assert_eq!(project.landed(), ["Z"], "{mode}");
        for name in names {
            assert!(!project.repo.exists(name), "{mode}: {name} is left");
        }
        assert_whole(&project, mode);
    }
}

fn a30_pipes_and_sockets_are_refused_or_thrown_away(mode: &str) {
    let socket =
        "work; python3 -c \"import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock')\"";
    let deeds = [("A", "work; mkfifo pipe"), ("B", socket), ("Z", "work")];
    let project = scene(mode, &deeds);
    let ran = project.run(&[]);
    let landed = project.landed();
    assert_eq!(landed.last().unwrap(), "Z", "{mode}: {}", ran.all());
    for name in ["pipe", "sock"] {
        assert!(!project.repo.exists(name), "{mode}: {name}");
    }
    assert_whole(&project, mode);
}
modes!(a30_pipes_and_sockets_are_refused_or_thrown_away);

#[test]
fn a30_a_nested_repository_that_the_agent_calls_a_submodule_is_not_taken() {
    // What it names can't be cloned from anywhere.
    let shell = "work; git init -q sub; git -C sub -c user.name=x -c user.email=x@x commit -q --allow-empty -m x; \
        printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./sub\\n' > .gitmodules; git add -A 2>/dev/null";
    for mode in MODES {
        let project = patient(Project::with_stories(&[story("A")]), mode)
            .script(&json!({"default": [crate::scene::deed(shell)]}));
        let ran = project.run(&["--once"]);
        let is_clean = project.landed().is_empty();
        assert!(is_clean, "{mode}: {}", ran.all());
    }
}
