//! Words about what a sandbox keeps from programs: a program that is out of sight, and the network of the baseline.

use std::net::TcpListener;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Project, Ran, good_script, story, write_program};

/// A project in a sandbox that shows nothing besides, and a program that lies out of its sight.
fn with_hidden_program(stories: &[Value]) -> (Project, PathBuf) {
    let project = Project::with_stories(stories).env("RALPH_SAFETY_ALLOW_WRITE", "[]");
    let tool = project.outside("tools/lint");
    std::fs::create_dir(tool.parent().unwrap()).unwrap();
    write_program(&tool, "exit 0");
    (project, tool)
}

fn hint(tool: &std::path::Path) -> String {
    format!(
        "{} is on this machine and not visible in the sandbox: list it in `safety.allow_read`",
        tool.display()
    )
}

fn warnings(ran: &Ran) -> Vec<String> {
    let told = ran.named("warning").into_iter();
    told.map(|event| event["message"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_verify_command_whose_program_is_out_of_sight_says_which_key_shows_it() {
    let run = |shown: bool| {
        let (project, tool) = with_hidden_program(&[]);
        let mut own = story("A");
        own["verify"] = json!([format!("{} A.txt", tool.display())]);
        project.repo.prd(&crate::support::prd(&[own])).commit("own");
        let list = if shown { json!([tool]) } else { json!([]) };
        let project = project
            .script(&good_script())
            .env("RALPH_LOOP_MAX_ATTEMPTS", "1")
            .env("RALPH_LOOP_MAX_VERIFY_RETRIES", "0")
            .env("RALPH_SAFETY_ALLOW_READ", list.to_string());
        (project.run(&[]), tool)
    };
    let (ran, tool) = run(false);
    let tail = ran.one("verify_ended")["tail"].as_str().unwrap().to_owned();
    assert!(tail.contains(&hint(&tool)), "{tail}");
    let (ran, _) = run(true);
    assert_eq!(ran.verdicts(), ["A verified"], "{}", ran.all());
}

#[test]
fn a_baseline_that_fails_for_a_program_out_of_sight_says_so_at_once() {
    let (project, tool) = with_hidden_program(&[story("A")]);
    let config = json!({"verification": {"commands": [format!("{} .", tool.display())]}});
    let project = project.config(&config.to_string()).script(&good_script());
    let ran = project.run(&[]);
    let said = format!("`{} .` fails: {}", tool.display(), hint(&tool));
    assert!(warnings(&ran).contains(&said), "{}", ran.all());
}

#[test]
fn an_agent_whose_program_is_out_of_sight_says_which_key_shows_it() {
    let (project, tool) = with_hidden_program(&[story("A")]);
    let agent = project.outside("agent.sh");
    // A plain starter would be followed, and its program shown.
    let folder = tool.parent().unwrap().display();
    write_program(&agent, &format!("in={folder}; \"$in/lint\""));
    let config = json!({"agent": {"name": "mine", "command": [agent], "dialect": "claude"}});
    let project = project.config(&config.to_string());
    let ran = project.run(&[]);
    assert_eq!(ran.verdicts(), ["A agent_unavailable"], "{}", ran.all());
    assert!(ran.all().contains(&hint(&tool)), "{}", ran.all());
}

const TRIED: &str = "the baseline fails without the network; it is run once more with it";

fn is_tried(ran: &Ran) -> bool {
    ran.all().contains(TRIED)
}

#[test]
fn a_network_that_was_no_help_is_not_tried_again_until_something_else_fails() {
    let config = "verification: {commands: ['cat wrong.txt; test ! -e wrong.txt']}\n";
    let project = Project::with_stories(&[story("A"), story("B"), story("C")]);
    project.repo.file("wrong.txt", "one\n").commit("wrong");
    let project = project.config(config).script(&good_script());
    let once = || project.run(&["--once"]);
    assert!(is_tried(&once()), "the first time it is");
    assert!(!is_tried(&once()), "and then it is known");
    project.repo.git(["checkout", "-q", "ralph/work"]);
    project.repo.file("wrong.txt", "another\n").commit("other");
    assert!(is_tried(&once()), "another failure is another matter");
}

#[test]
fn a_baseline_that_needs_the_network_gets_it_for_the_loop() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let command = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    let config = json!({"verification": {"commands": [command]}}).to_string();
    let project = Project::with_stories(&[story("A"), story("B")])
        .config(&config)
        .script(&good_script());
    for _ in 0..2 {
        let ran = project.run(&["--once"]);
        assert!(is_tried(&ran), "{}", ran.all());
        let needs = "verify commands need the network, and have it in this loop";
        assert!(ran.all().contains(needs), "{}", ran.all());
        assert!(ran.verdicts()[0].ends_with(" verified"), "{}", ran.all());
    }
}
