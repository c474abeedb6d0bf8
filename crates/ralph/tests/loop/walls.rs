//! What is said at the start about the walls around programs: the means, that there are none, and what they hide.

use std::path::PathBuf;

use serde_json::json;

use crate::support::{Project, Ran, good_script, prd, story, write_program};

/// A project with a `docker` that does nothing, before any other on the path.
fn with_docker() -> Project {
    let project = Project::with_stories(&[story("A")]).script(&good_script());
    let folder = project.outside("programs");
    std::fs::create_dir_all(&folder).unwrap();
    write_program(&folder.join("docker"), "exit 0");
    let path = std::env::var_os("PATH").unwrap();
    let folders = [folder].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).unwrap();
    project
        .env("PATH", path)
        .env("RALPH_SAFETY_ALLOW_WRITE", "[]")
}

fn warnings(ran: &Ran) -> Vec<String> {
    let all = ran.named("warning").into_iter();
    all.map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

fn hidden(command: &str) -> String {
    format!(
        "`{command}` needs a service that is out of sight in the sandbox: `safety.allow_write` with its socket \
         (`/var/run/docker.sock`) shows it, which lets agents do anything on this machine; else \
         `safety.sandbox: off`, or verify without it"
    )
}

#[test]
fn a_verify_command_that_uses_docker_or_compose_is_named_at_the_start_with_the_ways_out() {
    for line in ["docker compose ps", "CI=1 docker compose up -d; true"] {
        let commands = json!([line]).to_string();
        let ran = with_docker().run_with("RALPH_VERIFICATION_COMMANDS", &commands);
        let said = warnings(&ran.expect(0));
        assert!(said.contains(&hidden(line)), "{said:?}");
    }
}

#[test]
fn preparation_and_tasks_that_use_docker_are_named_too() {
    let project = with_docker();
    let ran = project.run_with("RALPH_VERIFICATION_PREPARE", r#"["docker build ."]"#);
    let said = warnings(&ran.expect(0));
    assert!(said.contains(&hidden("docker build .")), "{said:?}");
    let mut by_docker = story("B");
    by_docker["verify"] = json!(["docker ps && test -f B.txt"]);
    let project = with_docker();
    project.repo.prd(&prd(&[by_docker])).commit("another task");
    let said = warnings(&project.run(&[]).expect(0));
    assert!(
        said.contains(&hidden("docker ps && test -f B.txt")),
        "{said:?}"
    );
}

#[test]
fn nothing_is_said_of_docker_where_its_socket_is_shown_or_no_wall_hides_it() {
    let commands = r#"["docker compose ps"]"#;
    for (name, value) in [
        ("RALPH_SAFETY_ALLOW_WRITE", r#"["/var/run/docker.sock"]"#),
        ("RALPH_SAFETY_SANDBOX", "off"),
    ] {
        let project = with_docker().env(name, value);
        let ran = project.run_with("RALPH_VERIFICATION_COMMANDS", commands);
        let said = ran.expect(0).all();
        assert!(!said.contains("out of sight"), "{name}: {said}");
    }
}

#[test]
fn without_a_sandbox_that_is_a_warning_and_required_refuses() {
    let project = Project::with_stories(&[story("A")])
        .script(&good_script())
        .env("RALPH_CONTAINMENT", "process-group");
    project
        .run_with("RALPH_SAFETY_SANDBOX", "required")
        .expect(2)
        .says("there is no sandbox here as the configuration asks for");
    let ran = project.run(&[]).expect(0);
    let warnings = warnings(&ran);
    let agent = project.agent_word();
    let said = format!(
        "there is no sandbox on this machine: {agent} and verify commands can do what you can ("
    );
    assert!(
        warnings.iter().any(|warning| warning.starts_with(&said)),
        "{warnings:?}"
    );
    let sandbox = ran.one("loop_started")["sandbox"].clone();
    assert!(sandbox.as_str().unwrap().starts_with("none: "), "{sandbox}");
}

#[test]
fn where_ralph_may_make_no_namespaces_bwrap_makes_the_walls() {
    let look = "cat \"$HOME/.ssh/key\" ../other > seen.txt 2>/dev/null; echo x > A.txt";
    let script = json!({"default": [{"do": [{"run": look}, {"say": "Task {id} complete"}]}]});
    let mut task = story("A");
    task["verify"] = json!(["test -f A.txt && ! test -s seen.txt"]);
    let project = Project::with_stories(&[task])
        .script(&script)
        .env("RALPH_CONTAINMENT", "subreaper")
        .env("RALPH_SAFETY_ALLOW_WRITE", "[]");
    let outside: [PathBuf; 2] = [
        project.repo.home().join(".ssh/key"),
        project.outside("other"),
    ];
    for path in &outside {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "canary").unwrap();
    }
    let ran = project.run(&[]).expect(0);
    assert_eq!(
        ran.one("loop_started")["sandbox"],
        "reduced: by bwrap, and programs run as root (bwrap is started by root)"
    );
    assert_eq!(project.landed(), ["A"]);
    project
        .run_with("RALPH_SAFETY_NETWORK", "model-only")
        .expect(2)
        .says("bwrap can't let an agent reach its model alone, as `safety.network` asks for");
}
