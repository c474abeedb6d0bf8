//! Scenarios as they are written, and what is none.

use super::*;
use crate::model::fault::{FaultKind, Repeat};

fn problem(text: &str) -> String {
    Scenario::parse(text).unwrap_err().to_string()
}

#[test]
fn every_part_of_a_turn_is_read() {
    let text = r#"
conversations:
  - when: task A
    times: 2
    turns:
      - thinking: hm
        say: hello
        tools:
          - write: {path: a.txt, content: "one\n"}
          - bash: cargo test
          - bash: {command: sleep 100, timeout: 5}
          - read: a.txt
          - call: {name: Agent, input: {prompt: x}}
        faults:
          - {status: 429, retry_after: 1}
          - {stall: after_block, repeat: forever}
        stop: refusal
        hold: {name: gate, at: mid_stream}
"#;
    let scenario = Scenario::parse(text).unwrap();
    let conversation = &scenario.conversations[0];
    assert_eq!(conversation.when.as_deref(), Some("task A"));
    assert_eq!(conversation.times, Some(2));
    let turn = &conversation.turns[0];
    assert_eq!(turn.tools.len(), 5);
    assert_eq!(
        turn.tools[1],
        ToolUse::Bash(Bash::Plain("cargo test".to_owned()))
    );
    let limited = Bash::Limited {
        command: "sleep 100".to_owned(),
        timeout: Some(5),
    };
    assert_eq!(turn.tools[2], ToolUse::Bash(limited));
    let input = serde_json::json!({"prompt": "x"});
    let name = "Agent".to_owned();
    assert_eq!(turn.tools[4], ToolUse::Call { name, input });
    assert_eq!(turn.stop, Some(Stop::Refusal));
    assert_eq!(turn.faults[0].repeat, Repeat::Times(1));
    assert_eq!(turn.faults[1].repeat, Repeat::Forever);
    assert_eq!(turn.faults[1].kind, FaultKind::Stall(Place::AfterBlock));
    let hold = turn.hold.as_ref().unwrap().parts();
    assert_eq!(hold, ("gate", Place::MidStream));
}

#[test]
fn json_is_read_too() {
    let text = r#"{"conversations": [{"turns": [{"say": "a\u00e9\nb"}]}]}"#;
    let scenario = Scenario::parse(text).unwrap();
    let said = scenario.conversations[0].turns[0].say.as_deref();
    assert_eq!(said, Some("aé\nb"));
}

#[test]
fn an_unknown_key_is_refused_by_its_name() {
    let said = problem("conversations: [{turns: [{sya: hello}]}]");
    assert!(said.contains("sya"), "{said}");
}

#[test]
fn a_fault_is_exactly_one_thing() {
    for faults in [
        "{repeat: 2}",
        "{overflow: false}",
        "{status: 500, overflow: true}",
    ] {
        let said = problem(&format!(
            "conversations: [{{turns: [{{faults: [{faults}]}}]}}]"
        ));
        assert!(said.contains("a fault is one of"), "{faults}: {said}");
    }
    let said = problem("conversations: [{turns: [{faults: [{overflow: true, retry_after: 1}]}]}]");
    assert!(said.contains("belong to a status"), "{said}");
    let said = problem("conversations: [{turns: [{faults: [{status: 500, repeat: always}]}]}]");
    assert!(said.contains("not always"), "{said}");
}
