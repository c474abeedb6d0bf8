//! Tests of calls to models: one a message, each with its own end, and what no message shows.

use ralph_core::economics::{Caller, ModelCall};

use super::*;

fn message(id: &str, model: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"{id}","model":"{model}","content":[],"usage":{{"input_tokens":10,"output_tokens":1}}}},"parent_tool_use_id":{parent},"session_id":"s"}}"#
    )
}

fn start(id: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{{"type":"message_start","message":{{"id":"{id}"}}}},"parent_tool_use_id":{parent},"session_id":"s"}}"#
    )
}

fn delta(output: u64, parent: &str) -> String {
    format!(
        r#"{{"type":"stream_event","event":{{"type":"message_delta","usage":{{"input_tokens":10,"output_tokens":{output}}}}},"parent_tool_use_id":{parent},"session_id":"s"}}"#
    )
}

fn calls(lines: &[String]) -> Vec<(String, Caller, u64, u64)> {
    let mut all = vec![INIT];
    all.extend(lines.iter().map(String::as_str));
    let end = read(&all).1.conclude(Ended::Code(0), "");
    let shown = |call: ModelCall| {
        let model = call.model.unwrap_or_default();
        (model, call.caller, call.tokens.input, call.tokens.output)
    };
    end.calls.into_iter().map(shown).collect()
}

#[test]
fn answers_of_agents_that_work_at_once_each_have_their_own_end() {
    let (own, one, two) = ("null", "\"t1\"", "\"t2\"");
    let seen = calls(&[
        start("m1", own),
        start("m2", one),
        start("m3", two),
        message("m1", "big", own),
        message("m2", "small", one),
        message("m3", "small", two),
        delta(300, two),
        delta(100, own),
        delta(200, one),
    ]);
    assert_eq!(
        seen,
        [
            ("big".into(), Caller::Agent, 10, 100),
            ("small".into(), Caller::Subagent, 10, 200),
            ("small".into(), Caller::Subagent, 10, 300),
        ]
    );
}

#[test]
fn what_a_result_adds_is_the_rest_of_its_model_whatever_its_window_is_called() {
    let result = r#"{"type":"result","subtype":"success","is_error":false,"result":"x","session_id":"s","total_cost_usd":0.5,"usage":{},"modelUsage":{"big[1m]":{"inputTokens":10,"outputTokens":21},"quiet":{"inputTokens":7,"outputTokens":2}},"permission_denials":[],"terminal_reason":"completed"}"#;
    let seen = calls(&[message("m1", "big", "null"), result.to_owned()]);
    assert_eq!(
        seen,
        [
            ("big".into(), Caller::Agent, 10, 1),
            ("big".into(), Caller::Rest, 0, 20),
            ("quiet".into(), Caller::Rest, 7, 2),
        ]
    );
}

#[test]
fn only_pieces_of_answers_are_left_out_of_the_log() {
    let stream = ClaudeStream::default();
    let piece = r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0}}"#;
    assert!(stream.is_chatter(piece.as_bytes()));
    for kept in [start("m1", "null"), delta(1, "null"), TEXT.to_owned()] {
        assert!(!stream.is_chatter(kept.as_bytes()), "{kept}");
    }
}
