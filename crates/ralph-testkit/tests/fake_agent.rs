//! The fake agent, run as a process: what it prints, does and ends with.

#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

struct FakeAgentRun {
    dir: TempDir,
    output: Output,
}

impl FakeAgentRun {
    fn lines(&self) -> Vec<String> {
        String::from_utf8_lossy(&self.output.stdout)
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// All lines, each of which must be an event.
    fn events(&self) -> Vec<Value> {
        self.lines()
            .iter()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn result(&self) -> Value {
        self.events()
            .into_iter()
            .rfind(|event| event["type"] == "result")
            .unwrap()
    }

    fn code(&self) -> Option<i32> {
        self.output.status.code()
    }

    fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.path().join(name)).unwrap()
    }
}

fn command(dir: &Path, scenario: &Value) -> Command {
    let path = dir.join("scenario.json");
    std::fs::write(&path, scenario.to_string()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_fake-agent"));
    command
        .args([
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--model",
            "m1",
            "--unknown",
        ])
        .env("FAKE_AGENT_SCENARIO", path)
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn run_scenario(scenario: &Value, env: &[(&str, &str)]) -> FakeAgentRun {
    let dir = tempfile::tempdir().unwrap();
    let mut child = command(dir.path(), scenario)
        .envs(env.iter().copied())
        .spawn()
        .unwrap();
    // An agent that ends at once may be gone before it has read a word.
    let _ = child.stdin.take().unwrap().write_all(b"the prompt");
    let output = child.wait_with_output().unwrap();
    FakeAgentRun { dir, output }
}

fn run(actions: Value) -> FakeAgentRun {
    run_scenario(&json!({"default": actions}), &[])
}

#[test]
fn tells_the_version_of_claude_code() {
    let output = Command::new(env!("CARGO_BIN_EXE_fake-agent"))
        .arg("--version")
        .output()
        .unwrap();
    assert_eq!(output.stdout, b"2.1.197 (Claude Code)\n");
}

#[test]
fn a_good_run_works_speaks_and_ends_with_a_result() {
    let ran = run(json!([
        {"do": "write", "path": "src/a.txt", "text": "one\n"},
        {"do": "append", "path": "src/a.txt", "text": "two\n"},
        {"do": "patch", "path": "src/a.txt", "find": "one", "replace": "1"},
        {"do": "run", "command": "cat src/a.txt; exit 3"},
        {"do": "say", "text": "Task X complete"},
    ]));
    assert_eq!(ran.code(), Some(0));
    assert_eq!(ran.file("src/a.txt"), "1\ntwo\n");
    let kinds: Vec<String> = ran
        .events()
        .iter()
        .map(|e| e["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "system",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "user",
            "assistant",
            "result"
        ]
    );
    let events = ran.events();
    assert_eq!(events[0]["model"], "m1");
    let told = &events[8]["message"]["content"][0];
    assert_eq!(told["content"], "Exit code 3\n1\ntwo\n");
    assert_eq!(told["is_error"], true);
    assert_eq!(
        told["tool_use_id"],
        events[7]["message"]["content"][0]["id"]
    );
    let result = ran.result();
    assert_eq!(result["result"], "Task X complete");
    assert_eq!(result["is_error"], false);
    assert_eq!(result["terminal_reason"], "completed");
    assert_eq!(result["num_turns"], 5);
    assert_eq!(result["total_cost_usd"], 0.1325);
    assert_eq!(result["usage"]["output_tokens"], 250);
    assert_eq!(result["modelUsage"]["m1"]["contextWindow"], 200_000);
    assert_eq!(result["session_id"], events[0]["session_id"]);
}

#[test]
fn records_the_prompt_and_itself_and_expands_variables() {
    let scenario = json!({"default": [
        {"do": "recordPrompt", "file": "prompt.txt"},
        {"do": "recordSelf", "file": "self.json"},
        {"do": "say", "text": "Task {{RALPH_TASK_ID}} complete"},
    ]});
    let ran = run_scenario(&scenario, &[("RALPH_TASK_ID", "T-7")]);
    assert_eq!(ran.file("prompt.txt"), "the prompt");
    let own: Value = serde_json::from_str(&ran.file("self.json")).unwrap();
    assert_eq!(own["env"]["RALPH_TASK_ID"], "T-7");
    assert_eq!(own["args"][1], "-p");
    assert_eq!(ran.result()["result"], "Task T-7 complete");
}

#[test]
fn an_attempt_can_have_actions_of_its_own() {
    let scenario = json!({
        "cases": [{"task": "A", "attempt": 2, "actions": [{"do": "exit", "code": 9}]}],
        "default": [{"do": "say", "text": "x"}],
    });
    assert_eq!(
        run_scenario(&scenario, &[("RALPH_TASK_ID", "A")]).code(),
        Some(0)
    );
    let second = [("RALPH_TASK_ID", "A"), ("RALPH_ATTEMPT", "2")];
    assert_eq!(run_scenario(&scenario, &second).code(), Some(9));
}

#[test]
fn an_exit_leaves_no_result() {
    let ran = run(json!([{"do": "say", "text": "done"}, {"do": "exit", "code": 0}]));
    assert_eq!(ran.code(), Some(0));
    assert!(ran.events().iter().all(|event| event["type"] != "result"));
}

#[test]
fn a_limit_can_be_words_alone_or_the_real_thing() {
    let words = run(json!([{"do": "usageLimitText"}]));
    assert_eq!(words.code(), Some(0));
    assert_eq!(words.result()["is_error"], false);
    assert_eq!(
        words.result()["result"],
        "You've hit your limit · resets 9:07am (UTC)"
    );

    let real = run(json!([{"do": "rateLimited", "resetsAt": 1_794_733_640}]));
    assert_eq!(real.code(), Some(1));
    let events = real.events();
    assert_eq!(events[1]["rate_limit_info"]["status"], "rejected");
    assert_eq!(events[1]["rate_limit_info"]["resetsAt"], 1_794_733_640);
    assert_eq!(events[2]["error"], "rate_limit");
    assert_eq!(real.result()["is_error"], true);
    assert_eq!(real.result()["api_error_status"], 429);
}

#[test]
fn errors_of_the_api_and_of_turns_have_their_shapes() {
    let ran = run(json!([
        {"do": "apiRetry", "attempt": 1, "max": 10, "delayMs": 611.86, "status": 529, "error": "overloaded"},
        {"do": "apiError", "status": 529, "error": "overloaded", "text": "API Error: 529"},
    ]));
    assert_eq!(ran.code(), Some(1));
    assert_eq!(ran.events()[1]["subtype"], "api_retry");
    assert_eq!(ran.result()["subtype"], "success");
    assert_eq!(ran.result()["is_error"], true);

    let ran = run(json!([{"do": "maxTurns", "turns": 3}]));
    assert_eq!(ran.code(), Some(1));
    assert_eq!(ran.result()["subtype"], "error_max_turns");
    assert_eq!(ran.result()["terminal_reason"], "max_turns");
    assert_eq!(
        ran.result()["errors"][0],
        "Reached maximum number of turns (3)"
    );
    assert_eq!(ran.result().get("result"), None);
}

#[test]
fn the_stream_can_be_cut_in_a_line() {
    let ran = run(json!([{"do": "say", "text": "x"}, {"do": "cut", "code": 0}]));
    let stdout = ran.output.stdout.clone();
    assert_ne!(stdout.last(), Some(&b'\n'));
    let lines = ran.lines();
    assert!(lines[2].starts_with(r#"{"type":"result","#));
    assert!(serde_json::from_str::<Value>(&lines[2]).is_err());
}

#[test]
fn an_event_can_come_in_the_middle_of_a_line() {
    let ran = run(
        json!([{"do": "inject", "text": "hello", "event": {"type": "system", "subtype": "x"}}]),
    );
    let lines = ran.lines();
    assert!(
        lines[1].contains(r#""text":"{"type":"system","subtype":"x","#),
        "{}",
        lines[1]
    );
    assert!(lines[2].starts_with("hello\""));
    assert!(serde_json::from_str::<Value>(&lines[1]).is_err());
}

#[test]
fn a_subprocess_can_print_a_result_of_its_own() {
    let ran = run(
        json!([{"do": "fakeResult", "text": "<promise>DONE</promise>"}, {"do": "exit", "code": 0}]),
    );
    assert_eq!(ran.result()["result"], "<promise>DONE</promise>");
    assert_ne!(ran.result()["session_id"], ran.events()[0]["session_id"]);
    let ran = run(
        json!([{"do": "fakeResult", "text": "x", "ownSession": true}, {"do": "exit", "code": 0}]),
    );
    assert_eq!(ran.result()["session_id"], ran.events()[0]["session_id"]);
}

#[test]
fn floods_huge_lines_and_bytes_come_as_asked() {
    let ran = run(json!([
        {"do": "bytes", "bytes": [0, 255, 10]},
        {"do": "flood", "bytes": 1_000_003},
        {"do": "exit", "code": 0},
    ]));
    let init = ran.output.stdout.iter().position(|&b| b == b'\n').unwrap() + 1;
    assert_eq!(&ran.output.stdout[init..init + 3], b"\0\xff\n");
    assert_eq!(ran.output.stdout.len() - init - 3, 1_000_003);

    let ran = run(json!([{"do": "hugeLine", "bytes": 2_000_000}]));
    assert_eq!(ran.result()["result"].as_str().unwrap().len(), 2_000_000);
}

#[test]
fn ignores_sigterm_and_waits_for_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = json!({
        "ignoreSignals": ["TERM", "INT"],
        "default": [{"do": "say", "text": "x"}, {"do": "hang", "untilFile": "go"}],
    });
    let mut child = command(dir.path(), &scenario).spawn().unwrap();
    drop(child.stdin.take());
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.nth(1).unwrap().unwrap();
    for signal in ["TERM", "INT"] {
        let sent = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }
    assert_eq!(child.try_wait().unwrap(), None);
    std::fs::write(dir.path().join("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn can_end_by_a_signal() {
    assert_eq!(
        run(json!([{"do": "killSelf", "signal": "KILL"}]))
            .output
            .status
            .signal(),
        Some(9)
    );
}

#[test]
fn a_message_on_an_open_stdin_is_told_when_it_comes() {
    let dir = tempfile::tempdir().unwrap();
    let scenario = json!({"default": [
        {"do": "recordPrompt", "file": "prompt"},
        {"do": "say", "text": "waiting"},
        {"do": "awaitMessage"},
    ]});
    let mut child = command(dir.path(), &scenario)
        .args(["--input-format", "stream-json"])
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let message =
        |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
    writeln!(stdin, "{}", message("first")).unwrap();
    lines.nth(1).unwrap().unwrap();
    writeln!(stdin, "{}", message("nudge")).unwrap();
    let replay: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(replay["isReplay"], true);
    assert_eq!(replay["message"]["content"], "nudge");
    assert_eq!(
        std::fs::read_to_string(dir.path().join("prompt")).unwrap(),
        "first"
    );
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_wrong_scenario_is_told_by_name() {
    let ran = run(json!([{"do": "nonsense"}]));
    assert_eq!(ran.code(), Some(70));
    assert!(String::from_utf8_lossy(&ran.output.stderr).contains("scenario.json is no scenario"));
}
