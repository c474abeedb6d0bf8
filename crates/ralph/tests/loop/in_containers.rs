//! Agents and verify commands in containers of an image: whole loops with podman.

use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use ralph_testkit::image::{IMAGE, image_folder};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::support::{Live, Project, good_script, story};

/// A project whose programs run in the image and see nothing else of the machine.
fn contained(stories: &[Value]) -> Project {
    Project::with_stories(stories)
        .env("RALPH_SAFETY_CONTAINER", IMAGE)
        .env("RALPH_SAFETY_ALLOW_WRITE", "[]")
        .env(
            "CONTAINERS_STORAGE_CONF",
            image_folder().join("storage.conf"),
        )
}

fn story_by(verify: &str) -> Value {
    let mut story = story("A");
    story["verify"] = json!([verify]);
    story
}

fn shell(line: &str) -> Value {
    json!({"default": [{"do": [{"run": line}, {"say": "Task {id} complete"}]}]})
}

/// The folders that ralph made for programs and that are still there.
fn left(project: &Project) -> Vec<PathBuf> {
    let homes = std::fs::read_dir(project.data_dir().join("homes"));
    homes
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .collect()
}

#[test]
fn a_task_is_done_and_verified_in_the_image_and_lands() {
    let verify = "test -f A.txt && test \"$OF_THE_IMAGE\" = yes";
    let project = contained(&[story_by(verify)]).script(&shell("echo \"$OF_THE_IMAGE\" > A.txt"));
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"], "{}", ran.all());
    assert_eq!(project.repo.read("A.txt"), "yes\n");
    assert_eq!(
        ran.one("loop_started")["sandbox"],
        "reduced: by container localhost/ralph-test (podman), and programs run as root (podman is started by root)"
    );
    assert_eq!(left(&project), [""; 0].map(PathBuf::from));
}

#[test]
fn in_place_a_task_lands_from_a_container_too() {
    let project = contained(&[story("A")])
        .in_place()
        .env("RALPH_SAFETY_SANDBOX", "auto")
        .script(&good_script());
    project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"]);
}

#[test]
fn in_place_what_is_trusted_is_neither_written_nor_made_in_a_container() {
    let tried = [
        "echo x >> .git/config",
        "echo x > .git/hooks/pre-commit",
        "mv .git git",
        "echo x >> .claude/settings.json",
        "mv .claude other",
        "echo x > .mcp.json",
        "rm .mcp.json",
        "mkdir -p .pi && echo x > .pi/settings.json",
        "mv .pi other",
        "echo x > ralph.yaml",
        "cp A.txt other; mv -f other ralph.yaml",
        "mkdir -p .ralph/prompts && echo x > .ralph/prompts/plan.md",
    ];
    let tries = tried.map(|one| format!("({one}) 2>/dev/null && echo \"{one}\" >> open.txt; "));
    let deed = format!("echo x > A.txt; {} true", tries.concat());
    let project = contained(&[story_by("test -f A.txt && ! (echo x > opencode.json)")])
        .in_place()
        .env("RALPH_SAFETY_SANDBOX", "auto")
        .script(&shell(&deed));
    project
        .repo
        .file(".claude/settings.json", "{}\n")
        .commit("settings");
    let ran = project.run(&[]).expect(0);
    let open = project.repo.root().join("open.txt");
    assert_eq!(std::fs::read_to_string(open).unwrap_or_default(), "");
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    for path in [
        ".mcp.json",
        ".pi",
        "ralph.yaml",
        "opencode.json",
        ".ralph/prompts",
    ] {
        assert!(!project.repo.exists(path), "{path}");
    }
}

#[test]
fn what_fails_in_the_image_does_not_land() {
    let project = contained(&[story_by("echo no >&2; exit 3")]).script(&good_script());
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A failed"]);
    assert_eq!(project.landed(), [""; 0]);
}

#[test]
fn an_agent_in_a_container_reaches_no_file_variable_or_service_outside() {
    let probe = "{ cat \"$HOME/.ssh/key\" ../other/file; printenv CANARY_TOKEN; \
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"../other/service\"); print(\"reached\")'; \
        } > seen.txt 2>/dev/null; echo x > ../other/file; rm -rf \"$HOME/.ssh\" ../other; echo done > A.txt";
    let project = contained(&[story_by("test -f A.txt && ! test -s seen.txt")])
        .env("CANARY_TOKEN", "canary-7f3a91c2d4")
        .script(&shell(probe));
    let outside = [
        project.repo.home().join(".ssh/key"),
        project.outside("other/file"),
    ];
    for path in &outside {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "canary").unwrap();
    }
    let _service = UnixListener::bind(project.outside("other/service")).unwrap();
    let ran = project.run(&[]).expect(0);
    assert_eq!(project.landed(), ["A"], "{}", ran.all());
    for path in &outside {
        assert_eq!(std::fs::read_to_string(path).unwrap(), "canary");
    }
}

#[test]
fn an_agent_in_a_container_whose_workspace_is_full_gets_errors_and_goes_on() {
    // Each writer is a child of the shell, which it tells of its end.
    let fill = "i=0; mkdir many; trap '' XFSZ; \
        while dd if=/dev/zero of=many/$i bs=1M count=1 2> /dev/null; do i=$((i+1)); done; \
        test $i -lt 3000 || exit 1; rm -r many; until echo x > A.txt; do sleep 0.05; done 2> /dev/null";
    let project = contained(&[story("A")])
        .script(&shell(fill))
        .env("RALPH_WORKSPACE_MAX_GB", "0.02");
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
    let record = project.repo.read(".ralph/logs/iteration-1.json");
    assert!(record.contains("the workspace was full"), "{record}");
    assert_eq!(left(&project), [""; 0].map(PathBuf::from));
}

#[test]
fn an_agent_in_a_container_does_not_speak_as_a_person() {
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let line = format!(
        "env -i PATH=/usr/bin:/bin HOME=/tmp {ralph} skip --task B --reason done > said.txt 2>&1; echo x > A.txt"
    );
    let project = contained(&[
        story_by("grep -q 'refused inside a run' said.txt"),
        story("B"),
    ])
    .script(&shell(&line));
    project.run(&["--once"]).expect(0);
    assert_eq!(project.landed(), ["A"]);
    let status = project.ralph(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&status.stdout).unwrap();
    assert_eq!(status["tasks"]["skipped"], 0, "{status}");
}

/// Works until it is stopped.
fn endless() -> Project {
    contained(&[story("A")])
        .config("loop:\n  stop_grace_seconds: 1\n")
        .script(&json!({"default": [{"do": [
            {"say": "begun"}, {"run": "(setsid sleep 1000 &); echo half > half.txt; sleep 1000"},
        ]}]}))
}

fn half_way(live: &mut Live) {
    while live.wait_for("agent")["text"] != "begun" {}
}

#[test]
fn sigterm_ends_the_container_and_leaves_nothing() {
    let project = endless();
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::TERM);
    live.wait().expect(143);
    project.assert_nothing_alive();
    assert_eq!(left(&project), [""; 0].map(PathBuf::from));
}

#[test]
fn after_sigkill_no_container_lives_and_the_next_command_removes_what_is_left() {
    let project = endless();
    let mut live = project.start(&[]);
    half_way(&mut live);
    live.signal(Signal::KILL);
    live.wait();
    project.assert_nothing_alive();
    assert_ne!(left(&project).len(), 0, "podman's files of the run");
    let status = project.ralph(&["status"]).output().unwrap();
    assert!(status.status.success());
    assert_eq!(left(&project), [""; 0].map(PathBuf::from));
}

#[test]
fn an_image_that_is_not_there_or_lacks_a_program_is_refused_before_anything_begins() {
    let project = contained(&[story("A")]).script(&good_script());
    project
        .run_with("RALPH_SAFETY_CONTAINER", "localhost/no-such-image")
        .expect(2)
        .says("podman has no image localhost/no-such-image")
        .says("podman pull localhost/no-such-image");
    project
        .run_with("RALPH_SAFETY_SANDBOX", "off")
        .expect(2)
        .says("`safety.sandbox` is off, and `safety.container` names an image");
    project
        .run_with("RALPH_SAFETY_SANDBOX", "required")
        .expect(2)
        .says("ralph runs as root");
    project
        .run_with("RALPH_VERIFICATION_COMMANDS", r#"["cargo test"]"#)
        .expect(2)
        .says("the image localhost/ralph-test has no program cargo, which `cargo test` needs");
    let project = contained(&[story("A")]).agent("claude");
    project
        .run(&[])
        .expect(2)
        .says("the image localhost/ralph-test has no program claude, which the agent needs")
        .says("safety.allow_read");
    assert_eq!(project.landed(), [""; 0]);
}

#[test]
fn doctor_tries_the_container() {
    let project = contained(&[story("A")]).script(&good_script());
    let doctor = |image: &str| {
        let mut command = project.ralph(&["doctor"]);
        let output = command
            .env("RALPH_SAFETY_CONTAINER", image)
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let said = doctor(IMAGE);
    assert!(
        said.contains("by container localhost/ralph-test (podman)"),
        "{said}"
    );
    let said = doctor("localhost/no-such-image");
    assert!(
        said.contains("podman has no image localhost/no-such-image"),
        "{said}"
    );
}
