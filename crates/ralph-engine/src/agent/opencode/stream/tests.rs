//! Tests of opencode's stream: a capture of the real program, and lines that are none of its own.

use super::*;
use crate::agent::jsonl::{captured, read_lines};

fn read(lines: &str) -> (Vec<AgentEvent>, Box<OpenCodeStream>) {
    read_lines(lines.lines())
}

fn end(lines: &str) -> Ending {
    read(lines).1.conclude(Ended::Code(1), "").ending
}

const TEXT: &str =
    "{\"type\":\"text\",\"sessionID\":\"s\",\"part\":{\"text\":\"Task T1 complete\"}}\n";

fn step(reason: &str) -> String {
    format!(
        "{TEXT}{{\"type\":\"step_finish\",\"sessionID\":\"s\",\"part\":{{\"reason\":\"{reason}\",\"tokens\":{{\"input\":1}}}}}}\n"
    )
}

fn error(name: &str, data: &Value) -> String {
    let event = serde_json::json!({
        "type": "error", "timestamp": 1_794_726_490_000_i64, "sessionID": "s",
        "error": {"name": name, "data": data},
    });
    format!("{event}\n")
}

#[test]
fn a_captured_run_is_finished_with_its_figures_cost_and_last_words() {
    let (events, stream) = read(&captured("opencode-json.out"));
    assert!(stream.has_concluded());
    let lines: Vec<String> = events.iter().map(AgentEvent::line).collect();
    assert_eq!(
        lines,
        [
            "[started] session ses_e21f71bc4ffe4YvpSNcRoM06bF",
            "I will write.",
            "[write] /repo",
            "[tool done]",
            "[turn] context 1200",
            "[usage] 1000 in, 50 out, 200 read from cache, 0 written to it, $0.0011",
            "[bash] cat oc.txt; exit 3",
            "[tool failed]",
            "[turn] context 1200",
            "[usage] 1300 in, 80 out, 1100 read from cache, 0 written to it, $0.0016",
            "All done. <promise>DONE</promise>",
            "[turn] context 1300",
            "[usage] 1400 in, 100 out, 2300 read from cache, 0 written to it, $0.0018",
            "[result] ok",
        ]
    );
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "All done. <promise>DONE</promise>");
    assert_eq!(end.context.turns, [1200, 1200, 1300]);
    assert_eq!(end.usage.context_tokens, 1300);
    assert_eq!(end.turns, Some(3));
    let cost = end.usage.cost_usd.unwrap();
    assert!((cost - 0.00183).abs() < 1e-9, "{cost}");
}

#[test]
fn the_reason_of_the_last_step_is_the_outcome() {
    for (reason, outcome) in [
        ("stop", "completed"),
        ("content-filter", "refused"),
        ("length", "agent_error"),
        ("error", "agent_error"),
        ("tool-calls", "no_result"),
        ("unknown", "no_result"),
    ] {
        let (_, stream) = read(&step(reason));
        let end = stream.conclude(Ended::Code(0), "");
        assert_eq!(end.ending.outcome(), outcome, "{reason}");
        let said = if reason == "stop" {
            "Task T1 complete"
        } else {
            ""
        };
        assert_eq!(end.final_message, said, "{reason}");
    }
}

#[test]
fn an_error_is_told_apart_by_its_name_and_its_status() {
    let api = |status: u16| serde_json::json!({"message": "no", "statusCode": status});
    for (name, data, outcome) in [
        ("APIError", api(401), "auth"),
        ("APIError", api(400), "api_error"),
        ("APIError", api(429), "overloaded"),
        ("APIError", api(500), "overloaded"),
        (
            "APIError",
            serde_json::json!({"message": "no route"}),
            "overloaded",
        ),
        ("ProviderAuthError", serde_json::json!({}), "auth"),
        (
            "MessageAbortedError",
            serde_json::json!({"message": "aborted"}),
            "interrupted",
        ),
        (
            "UnknownError",
            serde_json::json!({"message": "x"}),
            "agent_error",
        ),
    ] {
        assert_eq!(end(&error(name, &data)).outcome(), outcome, "{name} {data}");
    }
}

#[test]
fn a_limit_is_one_only_where_the_refusal_says_so() {
    let body = |error: Value| serde_json::json!({"error": error}).to_string();
    let limit = |body: String| {
        end(&error(
            "APIError",
            &serde_json::json!({"message": "no", "statusCode": 429, "responseBody": body, "responseHeaders": {"retry-after": "10"}}),
        ))
    };
    let at = |second: i64| Ending::Limit {
        resets_at: Some(Timestamp::from_second(second).unwrap()),
    };
    let told = serde_json::json!({"type": "usage_limit_reached", "resets_at": 1_894_733_640});
    assert_eq!(limit(body(told)), at(1_894_733_640));
    let later = serde_json::json!({"type": "FreeUsageLimitError"});
    assert_eq!(limit(body(later)), at(1_794_726_500));
    let rate = serde_json::json!({"type": "rate_limit_error"});
    assert_eq!(limit(body(rate)).outcome(), "overloaded");
}

#[test]
fn what_another_session_says_is_not_the_agents_own() {
    let other = step("stop").replace("\"s\"", "\"other\"");
    let (events, stream) = read(&format!("{}{other}", step("tool-calls")));
    assert!(!stream.has_concluded());
    let texts = events
        .iter()
        .filter(|e| matches!(e, AgentEvent::Text { .. }));
    assert_eq!(texts.count(), 1);
    let forged = "{\"type\":\"step_finish\",\"part\":{\"reason\":\"stop\"}}\n";
    assert_eq!(end(forged).outcome(), "no_result", "without any session");
}

#[test]
fn garbage_and_unknown_events_are_harmless() {
    let noise = "\nhello\n{\"type\":\n[1]\n{\"type\":\"new\",\"sessionID\":\"s\"}\n";
    assert_eq!(end(&format!("{noise}{}", step("stop"))), Ending::Finished);
}
