//! The scripted model as a program.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::client::{first, post};

struct Program {
    child: Child,
    url: String,
    dir: TempDir,
}

fn start() -> Program {
    let dir = TempDir::new().unwrap();
    let scenario = dir.path().join("scenario.yaml");
    std::fs::write(&scenario, "conversations: [{turns: [{say: hello}]}]").unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .arg(&scenario)
        .arg("--log")
        .arg(dir.path().join("log"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut url).unwrap();
    Program {
        child,
        url: url.trim().to_owned(),
        dir,
    }
}

#[test]
fn it_prints_its_address_logs_a_line_a_request_and_ends_with_its_input() {
    let mut program = start();
    assert_eq!(post(&program.url, &first("one")).text(), "hello");
    assert_eq!(post(&program.url, &first("two")).text(), "hello");
    drop(program.child.stdin.take());
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
    let log = std::fs::read_to_string(program.dir.path().join("log")).unwrap();
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[1]["sequence"], 2);
    assert_eq!(lines[1]["answered"]["with"], "turn");
    assert_eq!(lines[1]["body"]["messages"][0]["content"], "two");
}

#[test]
fn it_ends_well_on_sigterm() {
    let mut program = start();
    let id = program.child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(killed.success());
    assert_eq!(program.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_mistake_in_a_scenario_is_said_with_its_file() {
    let dir = TempDir::new().unwrap();
    let scenario = dir.path().join("wrong.yaml");
    std::fs::write(&scenario, "conversations: [{turns: [{sya: hello}]}]").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_scripted-model"))
        .arg(&scenario)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("wrong.yaml") && said.contains("sya"),
        "{said}"
    );
}
