//! The real Claude Code against the scripted model.

use std::process::Command;

use crate::agent::{AgentRun, AgentSetup, LIMIT};

const WORK: &str = r#"
conversations:
  - when: build the thing
    turns:
      - say: I begin.
        tools: [{write: {path: notes/hello.txt, content: "one\ntwo\n"}}]
        usage: {input: 1000, output: 50, cache_read: 12000, cache_write: 3000}
      - tools: [{read: notes/hello.txt}]
      - tools: [{edit: {path: notes/hello.txt, old: two, new: TWO}}]
      - tools: [{bash: "cat notes/hello.txt > copy.txt; echo from the shell"}]
      - say: All done.
"#;

#[test]
fn claude_code_writes_edits_and_runs_by_its_own_tools() {
    let stage = AgentSetup::new(WORK);
    let ran = AgentRun::of(stage.claude("Please build the thing"));
    let result = ran.last("result");
    assert_eq!(ran.code(), Some(0), "{result:#}");
    assert_eq!(result["is_error"], false, "{result:#}");
    assert_eq!(result["result"], "All done.");
    assert_eq!(stage.file("notes/hello.txt"), "one\nTWO\n");
    assert_eq!(stage.file("copy.txt"), "one\nTWO\n");
    assert_eq!(result["usage"]["cache_read_input_tokens"], 12000);
    assert_eq!(result["usage"]["input_tokens"], 1400);

    let requests = stage.model.requests();
    assert_eq!(requests.len(), 5);
    assert!(stage.model.unscripted().is_empty());
    assert!(requests[0].is_fresh());
    assert!(!requests[1].is_fresh());
    assert!(requests[0].text().contains("Please build the thing"));
    assert!(requests[4].tool_results()[3].contains("from the shell"));
}

#[test]
fn claude_code_asks_again_after_an_overload_and_after_a_cut() {
    let stage = AgentSetup::new(
        "conversations: [{turns: [{tools: [{bash: echo once >> count.txt}], \
           faults: [{status: 529}, {cut: mid_stream}]}, {say: fine}]}]",
    );
    let ran = AgentRun::of(stage.claude("go"));
    assert_eq!(ran.last("result")["result"], "fine");
    assert_eq!(stage.file("count.txt"), "once\n");
    let answered: Vec<_> = stage
        .model
        .requests()
        .into_iter()
        .map(|r| r.answered)
        .collect();
    let places: Vec<_> = answered.iter().map(|a| (a.run, a.turn, a.status)).collect();
    let run = Some(1);
    assert_eq!(
        places,
        [(run, 0, 529), (run, 0, 200), (run, 0, 200), (run, 1, 200)]
    );
}

#[test]
fn claude_code_reports_a_usage_limit_and_a_warning_of_a_subscription() {
    for (turn, status, reset) in [
        (
            "{faults: [{usage_limit: {resets_at: 1894733640, type: five_hour}, repeat: forever}]}",
            "rejected",
            1_894_733_640,
        ),
        (
            "{say: fine, warning: {resets_at: 1894733641, utilization: 0.92}}",
            "allowed_warning",
            1_894_733_641,
        ),
    ] {
        let stage = AgentSetup::new(&format!("conversations: [{{turns: [{turn}]}}]"));
        let mut command = stage.claude("go");
        command
            .env_remove("ANTHROPIC_API_KEY")
            .env("CLAUDE_CODE_OAUTH_TOKEN", "dummy-token");
        let event = AgentRun::of(command).last("rate_limit_event");
        let info = &event["rate_limit_info"];
        assert_eq!(info["status"], status, "{event}");
        assert_eq!(info["resetsAt"], reset, "{event}");
        assert_eq!(info["rateLimitType"], "five_hour", "{event}");
        assert_eq!(stage.model.requests().len(), 1);
    }
}

#[test]
fn claude_code_compacts_when_the_prompt_is_too_long_and_goes_on() {
    let stage = AgentSetup::new(
        r#"
conversations:
  # The answer before the last one is kept, so that this begins at its second turn.
  - when: This session is being continued
    turns: [{say: not asked for}, {say: after the summary}]
  - turns:
      - tools: [{bash: "echo hi"}]
      - tools: [{bash: "echo ho"}]
      - faults: [{overflow: true, repeat: forever}]
"#,
    );
    let ran = AgentRun::of(stage.claude("go"));
    assert_eq!(ran.last("result")["result"], "after the summary");
    let is_boundary = |event: &serde_json::Value| event["subtype"] == "compact_boundary";
    assert!(ran.events().iter().any(is_boundary));
    assert!(stage.model.unscripted().is_empty());
}

#[test]
fn claude_code_can_be_interrupted_while_the_model_thinks() {
    let stage = AgentSetup::new(
        "conversations: [{turns: [{tools: [{bash: echo ran > ran.txt}]}, {say: never, hold: thinking}]}]",
    );
    let child = stage.claude("go").spawn().unwrap();
    stage.model.wait_until_held("thinking", LIMIT);
    assert_eq!(stage.file("ran.txt"), "ran\n");
    let id = child.id().to_string();
    // To `timeout`, which passes it on.
    let killed = Command::new("kill").args(["-TERM", &id]).status().unwrap();
    assert!(killed.success());
    let ran = AgentRun::end_of(child);
    assert!(ran.events().iter().all(|event| event["type"] != "result"));
    assert_eq!(stage.model.requests().len(), 2);
}
