//! Events with a field of another kind than it should be: never lost.

use super::*;
use crate::agent::fields::mutation::each_changed_field;

type IsEvent = fn(&AgentEvent) -> bool;

const SETTLED: &str = r#"{"type":"agent_settled","aborted":false}"#;
const ANSWER: &str = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"thinking"},{"type":"text","text":"hi"}],"provider":"p","model":"m","usage":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.1}},"stopReason":"stop","rawStopReason":"end","timestamp":1794725439374}}"#;

/// An event; what must be read from it; the fields without which it is not that event.
#[rustfmt::skip]
const EVENTS: [(&str, IsEvent, &[&str]); 11] = [
    (r#"{"type":"session","id":"i"}"#, |e| matches!(e, AgentEvent::Started { .. }), &[]),
    (r#"{"type":"response","id":"state","command":"get_state","success":true,"data":{"sessionId":"i","model":{"provider":"p","id":"m","contextWindow":5}}}"#,
     |e| matches!(e, AgentEvent::Started { .. }), &["id"]),
    (ANSWER, |e| matches!(e, AgentEvent::Text { text } if text == "hi"),
     &["message", "message.role", "message.content", "message.content.1", "message.content.1.type", "message.content.1.text"]),
    (ANSWER, |e| matches!(e, AgentEvent::Usage(_)), &["message", "message.role"]),
    (r#"{"type":"tool_execution_start","toolCallId":"t","toolName":"bash","args":{"command":"ls"}}"#,
     |e| matches!(e, AgentEvent::Tool { .. }), &[]),
    (r#"{"type":"tool_execution_end","toolCallId":"t","toolName":"bash","isError":false,"result":{"content":[]}}"#,
     |e| matches!(e, AgentEvent::ToolDone { .. }), &[]),
    (r#"{"type":"auto_retry_start","attempt":1,"errorMessage":"503"}"#,
     |e| matches!(e, AgentEvent::Retry { .. }), &[]),
    (r#"{"type":"compaction_end","reason":"threshold","result":{"tokensBefore":9,"estimatedTokensAfter":1,"usage":{"input":1}}}"#,
     |e| matches!(e, AgentEvent::Compacted { .. }), &["result"]),
    (SETTLED, |e| matches!(e, AgentEvent::Result(_)), &[]),
    (r#"{"type":"extension_error","error":"x"}"#, |e| matches!(e, AgentEvent::Notice { .. }), &[]),
    (r#"{"type":"extension_ui_request","id":"d","method":"confirm","title":"really?","message":"x"}"#,
     |e| matches!(e, AgentEvent::Notice { .. }), &["id", "method"]),
];

#[test]
fn no_odd_field_loses_its_event() {
    for (event, is_read, needed) in EVENTS {
        each_changed_field(event, |way, odd, line| {
            let (events, _) = read(&[line]);
            let broken =
                |e: &AgentEvent| matches!(e, AgentEvent::Other { name } if name == "broken line");
            assert!(!events.iter().any(broken), "{way} = {odd}: {line}");
            if !needed.contains(&way) {
                assert!(events.iter().any(is_read), "{way} = {odd}: {events:?}");
            }
        });
    }
}

#[test]
fn no_odd_field_keeps_pi_from_having_settled_and_a_price_in_words_counts() {
    each_changed_field(SETTLED, |way, odd, line| {
        assert!(read(&[ANSWER, line]).1.has_concluded(), "{way} = {odd}");
    });
    let words = ANSWER.replace(r#""total":0.1"#, r#""total":"0.1""#);
    let end = read(&[&words, SETTLED]).1.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.usage.cost_usd, Some(0.1));
    assert_eq!(end.final_message, "hi");
}
