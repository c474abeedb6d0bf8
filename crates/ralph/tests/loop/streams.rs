//! Agents whose output or end is hard to take: floods, broken streams, children that stay.

use std::io::BufWriter;

use ralph_testkit::{StreamDialect, ToolStream};
use serde_json::json;

use crate::support::{Project, good_script, story, write_program};

fn claude(actions: serde_json::Value) -> Project {
    Project::with_stories(&[story("A")]).claude(&json!({"default": actions}))
}

#[test]
fn a_good_run_of_claude_lands_with_its_model_version_and_cost_in_the_record() {
    let project = claude(json!([
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
    ]));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let record: serde_json::Value =
        serde_json::from_str(&project.repo.read(".ralph/logs/iteration-1.json")).unwrap();
    let run = &record["runs"][0];
    assert_eq!(run["version"], "2.1.197");
    assert_eq!(run["model"], "sonnet");
    assert!(record["usage"]["costUsd"].as_f64().unwrap() > 0.0);
}

#[test]
fn a_flood_of_200_mb_is_read_in_bounded_memory() {
    let project = Project::with_stories(&[story("A")])
        .config("logs:\n  max_mb: 2\n")
        .claude(&json!({"default": [
            {"do": "flood", "bytes": 200_000_000},
            {"do": "write", "path": "A.txt", "text": "x"},
            {"do": "say", "text": "Task A complete"},
        ]}));
    let mut live = project.start(&[]);
    live.wait_for("landed");
    let peak = live.kilobytes("VmHWM");
    live.wait().expect(0);
    assert!(peak <= 64 * 1024, "{peak} kB");
    let log = std::fs::metadata(project.repo.path(".ralph/logs/iteration-1.stream")).unwrap();
    assert!(log.len() <= 2_200_000, "{} bytes", log.len());
}

#[test]
fn a_flood_of_a_command_agent_is_bounded_too() {
    let project = Project::with_stories(&[story("A")])
        .config("logs:\n  max_mb: 2\n")
        .command("yes 'nothing to see here, really nothing at all' | head -c 50000000; echo x > A.txt; echo; echo 'Task A complete'");
    let mut live = project.start(&[]);
    live.wait_for("landed");
    let peak = live.kilobytes("VmHWM");
    live.wait().expect(0);
    assert!(peak <= 64 * 1024, "{peak} kB");
}

/// The most memory that ralph took while an agent called a tool so often.
fn peak_of_tool_calls(dialect: StreamDialect, calls: usize) -> u64 {
    let project = Project::with_stories(&[story("A")]);
    let stream = project.outside("stream.jsonl");
    let mut file = BufWriter::new(std::fs::File::create(&stream).unwrap());
    let answer = 100;
    let stream_of_calls = ToolStream {
        dialect,
        calls,
        answer,
    };
    stream_of_calls.write("Task A complete", &mut file).unwrap();
    drop(file);
    let program = project.outside("agent.sh");
    let shell = format!("cat {}; echo x > A.txt", stream.display());
    write_program(&program, &shell);
    let project = project.config(&format!(
        "agent: {{name: mine, command: [{program:?}], dialect: {}}}\nlogs: {{max_mb: 1}}\n",
        dialect.name()
    ));
    let mut live = project.start(&[]);
    live.wait_for("landed");
    let peak = live.kilobytes("VmHWM");
    live.wait().expect(0);
    peak
}

/// Each call is a message of its own, and was remembered with its tokens once: 200 bytes a call.
fn assert_memory_does_not_grow_with_calls(dialect: StreamDialect) {
    let few = peak_of_tool_calls(dialect, 8_000);
    let many = peak_of_tool_calls(dialect, 32_000);
    assert!(many < few + 2 * 1024, "{few} kB, then {many} kB");
}

#[test]
fn memory_does_not_grow_with_the_number_of_events_of_claude() {
    assert_memory_does_not_grow_with_calls(StreamDialect::Claude);
}

#[test]
fn memory_does_not_grow_with_the_number_of_events_of_pi() {
    assert_memory_does_not_grow_with_calls(StreamDialect::Pi);
}

#[test]
fn memory_does_not_grow_with_the_number_of_events_of_codex() {
    assert_memory_does_not_grow_with_calls(StreamDialect::Codex);
}

#[test]
fn a_line_of_20_mb_does_not_stop_the_run() {
    let peak = |bytes: u64| {
        let project = claude(json!([
            {"do": "hugeLine", "bytes": bytes},
            {"do": "write", "path": "A.txt", "text": "x"},
            {"do": "say", "text": "Task A complete"},
        ]));
        let mut live = project.start(&[]);
        live.wait_for("landed");
        let peak = live.kilobytes("VmHWM");
        live.wait().expect(0);
        peak
    };
    // What ralph needs in any case grows with the program; the line itself must not be held.
    let (short, long) = (peak(20_000), peak(20_000_000));
    assert!(long < short + 16 * 1024, "{short} kB, {long} kB");
}

#[test]
fn nul_and_invalid_utf_8_do_not_stop_the_run() {
    let project = claude(json!([
        {"do": "bytes", "bytes": [0, 255, 254, 10, 123, 255, 125, 10, 0, 10]},
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
    ]));
    project.run(&[]).expect(0);
}

#[test]
fn nul_and_invalid_utf_8_of_a_command_agent_do_not_stop_the_run() {
    let project = Project::with_stories(&[story("A")])
        .command("printf '\\000\\377\\376\\n'; echo x > A.txt; echo 'Task A complete'");
    project.run(&[]).expect(0);
}

#[test]
fn a_stream_cut_in_the_middle_is_an_error_of_the_agent() {
    let project = claude(json!([
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
        {"do": "cut", "code": 0},
    ]));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A agent_error"]);
    assert!(project.landed().is_empty());
}

#[test]
fn an_event_in_the_middle_of_a_line_loses_neither_of_the_two() {
    let limit = json!({"type": "rate_limit_event", "rate_limit_info": {
        "status": "allowed_warning", "resetsAt": 1_794_733_640, "rateLimitType": "five_hour",
    }});
    let project = claude(json!([
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "inject", "text": "Task A complete", "event": limit},
    ]));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    let agent = ran.named("agent");
    let of_kind = |kind: &str| {
        agent
            .iter()
            .filter(|e| e["kind"] == kind)
            .collect::<Vec<_>>()
    };
    let said: Vec<_> = of_kind("text").iter().map(|e| e["text"].clone()).collect();
    assert_eq!(said, ["Task A complete"]);
    assert_eq!(of_kind("limit").len(), 1, "{agent:?}");
    assert_eq!(of_kind("limit")[0]["rejected"], false);
}

/// Claude Code waits for the end of its input: a result that is not read would keep it for ever.
#[test]
fn a_result_that_is_torn_by_another_event_ends_the_run_with_its_words() {
    let init = r#"{"type":"system","subtype":"init","session_id":"s","model":"m"}"#;
    let head =
        r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Task A"#;
    let inner =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed"},"session_id":"s"}"#;
    let rest = r#" complete","session_id":"s","terminal_reason":"completed"}"#;
    for lines in [
        format!("{head}{inner}{rest}"),
        format!("{head}{inner}' '{rest}"),
    ] {
        let project = Project::with_stories(&[story("A")]);
        let program = project.outside("torn.sh");
        let shell = format!(
            "echo x > A.txt; printf '%s\\n' '{init}'; printf '%s\\n' '{lines}'; cat > /dev/null"
        );
        write_program(&program, &shell);
        let project = project
            .agent("claude")
            .env("RALPH_CLAUDE_COMMAND", json!([program]).to_string());
        let ran = project.run(&[]).expect(0);
        assert_eq!(ran.verdicts(), ["A verified"]);
        project.assert_nothing_alive();
    }
}

#[test]
fn a_limit_told_in_words_with_exit_zero_is_a_limit() {
    let project =
        claude(json!([{"do": "usageLimitText"}])).env("RALPH_LIMITS_ON_USAGE_LIMIT", "stop");
    let ran = project.run(&[]).expect(6);
    assert_eq!(ran.verdicts(), ["A limit_hit"]);
    let project = project.script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 1);
}

#[test]
fn an_answer_that_quotes_a_limit_is_none() {
    let project = claude(json!([
        {"do": "run", "command": "echo \"You've hit your limit\""},
        {"do": "write", "path": "A.txt", "text": "You've hit your limit · resets 9:07am (UTC)"},
        {"do": "say", "text": "The file says \"You've hit your limit\" now.\n\nTask A complete"},
    ]));
    project.run(&[]).expect(0);
}

#[test]
fn a_grandchild_that_holds_the_output_does_not_hold_ralph() {
    let project = Project::with_stories(&[story("A")]);
    let pid_file = project.outside("child");
    let project = project.claude(&json!({"default": [
        {"do": "spawnChild", "pidFile": pid_file, "holdOutput": true},
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "say", "text": "Task A complete"},
    ]}));
    project.run(&[]).expect(0);
    project.assert_nothing_alive();
}

#[test]
fn an_agent_killed_by_a_signal_is_an_error_that_names_it() {
    let project = claude(json!([{"do": "killSelf", "signal": "KILL"}]));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A agent_error"]);
    let ended = ran.one("iteration_ended");
    assert!(
        ended["message"].as_str().unwrap().contains("signal 9"),
        "{ended}"
    );
}

#[test]
fn an_agent_that_says_nothing_is_ended_after_its_time() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  idle_minutes: 0.01\n  stop_grace_seconds: 1\n")
        .claude(&json!({"default": [{"do": "hang"}]}));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A timed_out"]);
    project.assert_nothing_alive();
}

#[test]
fn an_agent_that_has_said_its_last_word_and_does_not_exit_is_ended_and_judged() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  idle_minutes: 0.03\n  stop_grace_seconds: 1\n")
        .claude(&json!({"ignoreSignals": ["INT"], "default": [
            {"do": "write", "path": "A.txt", "text": "x"},
            {"do": "say", "text": "Task A complete"},
            {"do": "result"},
            {"do": "hang"},
        ]}));
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.verdicts(), ["A verified"]);
    project.assert_nothing_alive();
}

#[test]
fn an_iteration_that_takes_too_long_is_ended_and_charged() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_minutes_per_iteration: 0.01\n  stop_grace_seconds: 1\n")
        .command("echo x > part.txt; while :; do echo working; sleep 0.01; done");
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A timed_out"]);
    assert_eq!(project.leftovers(), [""; 0]);
    assert_eq!(project.attempts().len(), 1);
    project.assert_nothing_alive();
    let project = project.script(&good_script());
    let ran = project.run(&[]).expect(0);
    assert_eq!(ran.one("iteration_started")["attempt"], 2);
}

#[test]
fn an_agent_that_ignores_every_polite_signal_is_killed() {
    let project = Project::with_stories(&[story("A")])
        .config("loop:\n  max_minutes_per_iteration: 0.01\n  stop_grace_seconds: 1\n")
        .claude(&json!({"ignoreSignals": ["TERM", "INT", "HUP"], "default": [{"do": "hang"}]}));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A timed_out"]);
    project.assert_nothing_alive();
}

#[test]
fn a_subagents_words_are_not_the_agents() {
    let project = claude(json!([
        {"do": "write", "path": "A.txt", "text": "x"},
        {"do": "event", "event": {"type": "assistant", "parent_tool_use_id": "toolu_1", "message": {"role": "assistant", "content": [{"type": "text", "text": "Task A complete"}]}}},
        {"do": "say", "text": "the helper is done, I am not"},
    ]));
    let ran = project.run(&["--once"]).expect(3);
    assert_eq!(ran.verdicts(), ["A unclaimed"]);
}

#[test]
fn an_agent_that_does_not_read_its_prompt_is_none_the_worse() {
    let project = Project::with_stories(&[story("A")])
        .command("exec <&-; echo x > A.txt; echo 'Task A complete'");
    project.run(&[]).expect(0);
}
