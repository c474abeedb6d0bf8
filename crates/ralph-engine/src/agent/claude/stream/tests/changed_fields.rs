//! Events with a field of another kind than it should be: never lost.

use super::*;
use crate::agent::fields::mutation::each_changed_field;

/// Whether an event is what a line of the stream is read into.
type IsEvent = fn(&AgentEvent) -> bool;

/// An event; what must be read from it; the fields without which it is not that event.
#[rustfmt::skip]
const EVENTS: [(&str, IsEvent, &[&str]); 16] = [
    (INIT, |e| matches!(e, AgentEvent::Started { .. }), &["subtype"]),
    (TEXT, |e| matches!(e, AgentEvent::Text { text } if text == "hello"),
     &["parent_tool_use_id", "message", "message.content", "message.content.0", "message.content.0.type", "message.content.0.text"]),
    (r#"{"type":"assistant","message":{"id":"m2","model":"claude-x","content":[{"type":"thinking"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":1}},"error":null,"session_id":"s","timestamp":"2026-11-13T21:48:24Z"}"#,
     |e| matches!(e, AgentEvent::Tool { .. }), &["message", "message.content", "message.content.1", "message.content.1.type"]),
    (r#"{"type":"user","message":{"role":"user","content":[{"type":"text"},{"type":"tool_result","tool_use_id":"t1","content":"x","is_error":false}]},"isReplay":false,"timestamp":"2026-11-13T21:48:24Z","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::ToolDone { .. }), &["isReplay", "message", "message.content", "message.content.1", "message.content.1.type"]),
    (RESULT, |e| matches!(e, AgentEvent::Result(_)), &[]),
    (r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794733640,"rateLimitType":"five_hour","isUsingOverage":false},"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Limit { .. }), &["rate_limit_info"]),
    (r#"{"type":"system","subtype":"api_retry","attempt":2,"error":"server_error","error_status":500,"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Retry { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"model_fallback","original_model":"a","fallback_model":"b","trigger":"c","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::ModelChanged { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"thinking_tokens","estimated_tokens":5,"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Thinking { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"task_updated","task_id":"b","patch":{"status":"completed"},"status":"x","summary":"y","description":"z","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Background { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"compact_boundary","compact_metadata":{"pre_tokens":9,"post_tokens":1,"trigger":"auto"},"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Compacted { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"hook_response","hook_name":"h","outcome":"ok","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Hook { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"notification","text":"hi","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Notice { .. }), &["subtype"]),
    (r#"{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Notice { .. }), &["subtype"]),
    (r#"{"type":"stream_event","event":{"type":"message_delta","usage":{"output_tokens":50,"input_tokens":1}},"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Usage(_)), &["event", "event.type", "event.usage"]),
    (r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash"},"session_id":"s"}"#,
     |e| matches!(e, AgentEvent::Notice { .. }), &["request_id", "request"]),
];

const RESULT: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Task T1 complete","errors":["x"],"stop_reason":"end_turn","api_error_status":null,"session_id":"s","timestamp":"2026-11-13T21:48:24Z","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":20,"cache_read_input_tokens":1},"modelUsage":{"claude-x":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":5,"cacheCreationInputTokens":1,"contextWindow":200000}},"permission_denials":[{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls"}}],"terminal_reason":"completed"}"#;

/// What comes before: a message in the making that the events can be about.
const START: &str = r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m0","model":"claude-x","content":[],"usage":{"input_tokens":1}}},"session_id":"s"}"#;
const MESSAGE: &str = r#"{"type":"assistant","message":{"id":"m0","model":"claude-x","content":[],"usage":{"input_tokens":1}},"session_id":"s"}"#;

#[test]
fn no_odd_field_loses_its_event() {
    for (event, is_read, needed) in EVENTS {
        let mut checked = 0;
        each_changed_field(event, |way, odd, line| {
            let (before, _) = read(&[INIT, START, MESSAGE]);
            let (events, _) = read(&[INIT, START, MESSAGE, line]);
            let broken =
                |e: &AgentEvent| matches!(e, AgentEvent::Other { name } if name == "broken line");
            assert!(!events.iter().any(broken), "{way} = {odd}: {line}");
            if !needed.contains(&way) {
                let new = &events[before.len()..];
                assert!(new.iter().any(is_read), "{way} = {odd}: {new:?}");
            }
            checked += 1;
        });
        assert!(checked >= 7, "{event}");
    }
}

#[test]
fn no_odd_field_keeps_a_result_from_ending_the_run_or_makes_a_failure_of_it() {
    let decide = [
        "subtype",
        "is_error",
        "num_turns",
        "terminal_reason",
        "result",
    ];
    each_changed_field(RESULT, |way, odd, line| {
        let (_, stream) = read(&[INIT, line]);
        assert!(stream.has_concluded(), "{way} = {odd}");
        let end = stream.conclude(Ended::Code(0), "");
        if !decide.contains(&way) {
            assert_eq!(end.ending, Ending::Finished, "{way} = {odd}");
            assert_eq!(end.final_message, "Task T1 complete", "{way} = {odd}");
        }
    });
    let turns = RESULT.replace(r#""num_turns":2"#, r#""num_turns":1.0"#);
    assert_eq!(ending(&[INIT, &turns], Ended::Code(0)), Ending::Finished);
}

#[test]
fn a_figure_that_is_none_leaves_the_others_as_they_are() {
    let text = TEXT.replace(
        r#""cache_read_input_tokens":5"#,
        r#""cache_read_input_tokens":null"#,
    );
    let (events, _) = read(&[INIT, &text]);
    let turn = events.iter().find_map(|e| match e {
        AgentEvent::Turn { context_tokens, .. } => Some(*context_tokens),
        _ => None,
    });
    assert_eq!(turn, Some(11));
    let huge = OK.replace(r#""inputTokens":10"#, r#""inputTokens":1e300"#);
    let usage = read(&[INIT, &huge]).1.conclude(Ended::Code(0), "").usage;
    assert_eq!((usage.input_tokens, usage.output_tokens), (0, 20));
}

#[test]
fn half_a_character_and_bad_bytes_lose_nothing() {
    let half = OK.replace("Task T1 complete", r"cut \ud83d. Task T1 complete");
    let (_, stream) = read(&[INIT, &half]);
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.final_message, "cut \u{fffd}. Task T1 complete");
    let mut stream = Box::new(ClaudeStream::default());
    let (before, after) = OK.split_once("T1").unwrap();
    stream.read_line(INIT.as_bytes(), &mut Vec::new());
    let line = [before.as_bytes(), b"\xff", after.as_bytes()].concat();
    stream.read_line(&line, &mut Vec::new());
    assert_eq!(stream.conclude(Ended::Code(0), "").ending, Ending::Finished);
}

#[test]
fn a_result_that_can_not_be_read_ends_the_run_and_is_no_success() {
    let message = "its result could not be read".to_owned();
    let cut = OK.split_at(OK.len() - 20).0;
    let (events, stream) = read(&[INIT, cut]);
    assert!(stream.has_concluded());
    assert!(
        events
            .iter()
            .any(|e| matches!(e, AgentEvent::Result(r) if !r.ok))
    );
    assert_eq!(
        stream.conclude(Ended::Code(0), "").ending,
        Ending::Error { message }
    );
    // What is whole and comes later counts.
    assert_eq!(ending(&[INIT, cut, OK], Ended::Code(0)), Ending::Finished);
    // Not of this session, or no result: nothing is concluded from it.
    let foreign = cut.replace(r#""session_id":"s""#, r#""session_id":"x""#);
    let other = cut.replace(r#""type":"result""#, r#""type":"user""#);
    for line in [foreign, other] {
        assert!(!read(&[INIT, &line]).1.has_concluded(), "{line}");
    }
}
