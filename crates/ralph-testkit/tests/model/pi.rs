//! The real Pi against the scripted model.

use crate::agent::{AgentRun, AgentSetup};

const WORK: &str = r#"
conversations:
  - when: build the thing
    turns:
      - say: I begin.
        tools: [{write: {path: notes/hello.txt, content: "one\ntwo\n"}}]
        usage: {input: 1000, output: 50, cache_read: 12000, cache_write: 3000}
      - tools:
          - edit: {path: notes/hello.txt, old: two, new: TWO}
          - bash: {command: "echo from the shell", timeout: 20}
      - tools: [{read: notes/hello.txt}, {bash: "cat notes/hello.txt > copy.txt"}]
      - say: All done.
"#;

#[test]
fn pi_writes_edits_and_runs_by_its_own_tools() {
    let stage = AgentSetup::new(WORK);
    let ran = AgentRun::of(stage.pi("Please build the thing"));
    assert_eq!(ran.last("agent_settled")["aborted"], false);
    assert_eq!(ran.code(), Some(0));
    assert_eq!(stage.file("notes/hello.txt"), "one\nTWO\n");
    assert_eq!(stage.file("copy.txt"), "one\nTWO\n");
    let last = &ran.last("turn_end")["message"];
    assert_eq!(last["stopReason"], "stop");
    assert_eq!(last["content"][0]["text"], "All done.");

    let requests = stage.model.requests();
    assert_eq!(requests.len(), 4);
    assert!(stage.model.unscripted().is_empty());
    assert!(requests[0].is_fresh());
    assert_eq!(requests[0].user_texts(), ["Please build the thing"]);
    assert!(requests[2].tool_results()[2].contains("from the shell"));
    let usage = &ran
        .events()
        .into_iter()
        .find(|e| e["type"] == "message_end" && e["message"]["role"] == "assistant")
        .unwrap()["message"]["usage"];
    assert_eq!(usage["input"], 1000);
    assert_eq!(usage["cacheRead"], 12000);
    assert_eq!(usage["cacheWrite"], 3000);
}

#[test]
fn pi_reports_a_refused_key_and_asks_only_once() {
    let stage = AgentSetup::new(
        "conversations: [{turns: [{say: never, faults: [{status: 401, repeat: forever}]}]}]",
    );
    let ran = AgentRun::of(stage.pi("go"));
    let last = &ran.last("turn_end")["message"];
    assert_eq!(last["stopReason"], "error");
    let message = last["errorMessage"].as_str().unwrap();
    assert!(message.starts_with("401 "), "{message}");
    assert_eq!(stage.model.requests().len(), 1);
}

#[test]
fn pi_asks_again_after_a_cut_and_gets_the_same_turn() {
    let stage = AgentSetup::new(
        "conversations: [{turns: [{tools: [{bash: echo once >> count.txt}], \
           faults: [{cut: mid_stream}]}, {say: fine}]}]",
    );
    let ran = AgentRun::of(stage.pi("go"));
    assert_eq!(
        ran.last("turn_end")["message"]["content"][0]["text"],
        "fine"
    );
    assert_eq!(stage.file("count.txt"), "once\n");
    let turns: Vec<_> = stage
        .model
        .requests()
        .iter()
        .map(|r| r.answered.turn)
        .collect();
    assert_eq!(turns, [0, 0, 1]);
}
