//! `ralph agent`.

mod captures;

use std::process::Stdio;

use ralph_testkit::TestRepo;
use serde_json::{Value, json};

use crate::support::{Ran, ralph, shop};

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x","claude_code_version":"2.1.197"}"#;
const TEXT: &str = r#"{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"one\n\u001b[2Jtwo"}],"usage":{"input_tokens":100,"cache_read_input_tokens":50000,"cache_creation_input_tokens":0,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}"#;
const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Task T1 complete","session_id":"s","total_cost_usd":0.5,"usage":{},"modelUsage":{"claude-x":{"inputTokens":100,"outputTokens":20,"cacheReadInputTokens":50000,"cacheCreationInputTokens":0,"contextWindow":200000}},"permission_denials":[{"tool_name":"Bash","tool_input":{"command":"touch x"}}],"terminal_reason":"completed"}"#;

/// A folder with a recorded run of Claude Code in it.
fn recorded() -> TestRepo {
    let repo = TestRepo::bare_folder();
    repo.file("run.jsonl", format!("{INIT}\n{TEXT}\n{RESULT}\n"));
    repo
}

#[test]
fn the_text_has_a_line_an_event_and_a_line_a_finding() {
    let repo = recorded();
    let ran = ralph(&repo, &["agent", "explain", "run.jsonl"]);
    let expected = "\
[started] model claude-x version 2.1.197 session s
[turn] claude-x, context 50100 of 200000 (25.1 %)
[usage] 100 in, 1 out, 50000 read from cache, 0 written to it
one ⏎ \\x1b[2Jtwo
[usage] 100 in, 20 out, 50000 read from cache, 0 written to it, $0.5000
[result] ok

outcome  completed
model    claude-x
version  2.1.197
turns    2
usage    100 in, 20 out, 50000 read from cache, 0 written to it, $0.5000
context  50100 of 200000 (25.1 %) at the last turn, 50100 (25.1 %) at most
denied   Bash touch x (to allow it: `Bash(touch:*)` in claude.allowed_tools)
said     Task T1 complete
";
    assert_eq!(ran.text(0), expected);
}

#[test]
fn the_json_contract() {
    let repo = recorded();
    let ran = ralph(&repo, &["agent", "explain", "--json", "run.jsonl"]);
    assert_eq!(
        ran.json(0),
        json!({
            "agent": "claude",
            "outcome": "completed",
            "message": null,
            "resetsAt": null,
            "events": [
                {"kind": "started", "model": "claude-x", "version": "2.1.197", "session": "s"},
                {"kind": "turn", "model": "claude-x", "contextTokens": 50100, "window": 200_000},
                {
                    "kind": "usage", "inputTokens": 100, "outputTokens": 1,
                    "cacheReadTokens": 50000, "cacheWriteTokens": 0, "costUsd": null,
                    "contextTokens": 50100
                },
                {"kind": "text", "text": "one\n\u{1b}[2Jtwo"},
                {
                    "kind": "usage", "inputTokens": 100, "outputTokens": 20,
                    "cacheReadTokens": 50000, "cacheWriteTokens": 0, "costUsd": 0.5,
                    "contextTokens": 50100
                },
                {
                    "kind": "result", "ok": true, "text": "Task T1 complete", "error": null,
                    "turns": 2,
                    "denied": ["Bash touch x (to allow it: `Bash(touch:*)` in claude.allowed_tools)"]
                },
            ],
            "usage": {
                "inputTokens": 100, "outputTokens": 20, "cacheReadTokens": 50000,
                "cacheWriteTokens": 0, "costUsd": 0.5, "contextTokens": 50100
            },
            "context": {"window": 200_000, "turns": [50100], "utilisation": [0.2505]},
            "model": "claude-x",
            "version": "2.1.197",
            "turns": 2,
            "denied": ["Bash touch x (to allow it: `Bash(touch:*)` in claude.allowed_tools)"],
            "finalMessage": "Task T1 complete"
        })
    );
}

#[test]
fn a_log_of_ralphs_own_is_read_and_its_stderr_is_the_agents_last_words() {
    let repo = shop();
    let log = ".ralph/logs/iteration-1.stream";
    repo.file(
        log,
        format!("{INIT}\n[stderr] a warning\n[stderr] it broke\n"),
    );
    let explain = |more: &[&str]| {
        let args = ["agent", "explain", "--json", "--exit-code", "3", log];
        let args: Vec<&str> = args.into_iter().chain(more.iter().copied()).collect();
        ralph(&repo, &args).json(0)
    };
    let explained = explain(&[]);
    assert_eq!(explained["outcome"], "no_result");
    assert_eq!(
        explained["message"],
        "it ended without a result (exit code 3: it broke)"
    );
    repo.file("err.txt", "told apart\n");
    assert_eq!(
        explain(&["--stderr", "err.txt"])["message"],
        "it ended without a result (exit code 3: told apart)"
    );
}

#[test]
fn an_exit_code_above_128_is_the_signal_that_killed_it() {
    let repo = TestRepo::bare_folder();
    repo.file("run.jsonl", format!("{INIT}\n"));
    for (code, outcome, how) in [
        ("0", "no_result", "exit code 0"),
        ("143", "interrupted", "killed by signal 15"),
        ("137", "interrupted", "killed by signal 9"),
        ("139", "no_result", "killed by signal 11"),
        ("255", "no_result", "exit code 255"),
    ] {
        let args = [
            "agent",
            "explain",
            "--json",
            "--exit-code",
            code,
            "run.jsonl",
        ];
        let explained = ralph(&repo, &args).json(0);
        assert_eq!(explained["outcome"], outcome, "{code}");
        let message = format!("it ended without a result ({how})");
        assert_eq!(explained["message"], message);
    }
}

#[test]
fn nothing_at_all_is_a_run_without_a_result() {
    let repo = TestRepo::bare_folder();
    repo.file("empty", "");
    let explained = ralph(&repo, &["agent", "explain", "--json", "empty"]).json(0);
    assert_eq!(explained["events"], json!([]));
    assert_eq!(explained["outcome"], "no_result");
    assert_eq!(explained["agent"], "claude");
    let text = ralph(&repo, &["agent", "explain", "empty"])
        .text(0)
        .to_owned();
    assert!(text.starts_with("outcome  no_result\n"), "{text}");
}

#[test]
fn what_can_not_be_read_is_told_and_nothing_is_printed() {
    let repo = recorded();
    let missing = ralph(&repo, &["agent", "explain", "no-such.jsonl"]);
    assert_eq!(
        missing.error(2),
        "error: can't read no-such.jsonl: No such file or directory (os error 2)\n"
    );
    let folder = ralph(&repo, &["agent", "explain", "--json", "."]);
    assert!(
        folder.error(2).starts_with("error: can't read .: "),
        "{folder:?}"
    );
    let stderr = ralph(
        &repo,
        &["agent", "explain", "--stderr", "none", "run.jsonl"],
    );
    assert!(
        stderr.error(2).starts_with("error: can't read none: "),
        "{stderr:?}"
    );
    let unknown = ralph(
        &repo,
        &["agent", "explain", "--agent", "clade", "run.jsonl"],
    );
    let said = unknown.error(2);
    assert!(
        said.starts_with(
            "error: unknown agent `clade`; did you mean `claude`? ralph knows claude, "
        ),
        "{said}"
    );
    assert!(
        said.contains("hint: `ralph agent list` shows them"),
        "{said}"
    );
}

#[test]
fn without_a_name_it_is_the_configured_agent() {
    let repo = recorded();
    let explain = |config: &str| {
        repo.file("ralph.yaml", config);
        ralph(&repo, &["agent", "explain", "--json", "run.jsonl"])
    };
    let custom = "agent: {name: mine, command: [mine], dialect: text}\n";
    assert_eq!(explain(custom).json(0)["agent"], "text");
    assert_eq!(explain("agent: command:mine\n").json(0)["agent"], "text");
    let script = explain("agent: script:demo.yaml\n");
    assert!(script.error(2).contains("--agent NAME"), "{script:?}");
}

/// Runs the program with little memory, and feeds it.
fn explain_in_little_memory(repo: &TestRepo, feed: impl FnOnce(&mut dyn std::io::Write)) -> Ran {
    // The shell becomes the program, so that the limit holds for it and for nothing else.
    let line = "ulimit -v 150000 && exec \"$0\" agent explain --agent claude --json -";
    let mut child = repo
        .command("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_ralph")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let waiting = std::thread::spawn(move || child.wait_with_output().unwrap());
    feed(&mut input);
    drop(input);
    let output = waiting.join().unwrap();
    Ran {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn a_stream_larger_than_its_memory_is_read_from_standard_input() {
    let repo = TestRepo::bare_folder();
    let ran = explain_in_little_memory(&repo, |input| {
        writeln!(input, "{INIT}").unwrap();
        let chunk = vec![b'x'; 1024 * 1024];
        // One line that never seems to end, and many events.
        for _ in 0..300 {
            input.write_all(&chunk).unwrap();
        }
        writeln!(input).unwrap();
        let text = TEXT.replace("one", &"w".repeat(20_000));
        for n in 0..5_000 {
            writeln!(input, "{}", text.replace("m1", &format!("m{n}"))).unwrap();
        }
        writeln!(input, "{RESULT}").unwrap();
    });
    let explained = ran.json(0);
    assert_eq!(explained["outcome"], "completed", "{}", ran.err);
    let texts = explained["events"].as_array().unwrap().iter();
    let texts = texts.filter(|event| event["kind"] == "text").count();
    assert_eq!(texts, 5_000);
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let repo = TestRepo::bare_folder();
    // More than a pipe holds, so that it is noticed.
    let texts: String = (0..5_000)
        .map(|n| format!("{}\n", TEXT.replace("m1", &format!("m{n}"))))
        .collect();
    repo.file("run.jsonl", format!("{INIT}\n{texts}"));
    let line = "{ \"$0\" agent explain run.jsonl; echo \"exit $?\" >&2; } | true";
    let output = repo
        .command("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_ralph")])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "exit 0\n");
}

#[test]
fn the_list_names_the_kinds_and_the_one_that_is_configured() {
    let repo = shop();
    let listed = ralph(&repo, &["agent", "list", "--json"]).json(0);
    assert_eq!(listed["configured"], "claude");
    let of = |listed: &Value, name: &str| {
        let agents = listed["agents"].as_array().unwrap().clone();
        agents.into_iter().find(|a| a["name"] == name).unwrap()
    };
    assert_eq!(
        of(&listed, "claude"),
        json!({"name": "claude", "title": "Claude Code", "configured": true})
    );
    assert_eq!(of(&listed, "text")["configured"], false);
    repo.file("ralph.yaml", "agent: command:my-agent\n");
    let listed = ralph(&repo, &["agent", "list", "--json"]).json(0);
    assert_eq!(listed["configured"], "command:my-agent");
    assert_eq!(of(&listed, "text")["configured"], true);
    let text = ralph(&repo, &["agent", "list"]).text(0).to_owned();
    assert!(text.starts_with("claude  "), "{text}");
    assert!(text.ends_with("\nconfigured: command:my-agent\n"), "{text}");
    repo.file("ralph.yaml", "agent: clade\n");
    let text = ralph(&repo, &["agent", "list"]).text(0).to_owned();
    assert!(
        text.ends_with("\nconfigured: clade, which ralph does not know\n"),
        "{text}"
    );
}
