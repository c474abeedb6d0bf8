//! What went wrong on the way and was got over is no reason for how the run ended.

use super::*;

fn limit(status: &str, overage: bool) -> String {
    format!(
        r#"{{"type":"rate_limit_event","rate_limit_info":{{"status":"{status}","resetsAt":1794733640,"isUsingOverage":{overage}}},"session_id":"s"}}"#
    )
}

/// Told by Claude Code itself, with the code of an error.
fn synthetic(code: &str, parent: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"e","model":"<synthetic>","content":[{{"type":"text","text":"API Error"}}]}},"error":"{code}","parent_tool_use_id":{parent},"session_id":"s"}}"#
    )
}

const MAX_TURNS: &str = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":4,"session_id":"s","terminal_reason":"max_turns","errors":["Reached maximum number of turns (3)"]}"#;
const BUDGET: &str = r#"{"type":"result","subtype":"error_max_budget_usd","is_error":true,"num_turns":4,"session_id":"s","errors":["Reached maximum budget ($1)"]}"#;
const REFUSED: &str = r#"{"type":"result","subtype":"success","is_error":true,"num_turns":1,"result":"API Error: refused","stop_reason":"refusal","session_id":"s"}"#;
const BOOM: &str = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":2,"session_id":"s","errors":["boom"]}"#;

#[track_caller]
fn comes_to(lines: &[&str], outcome: &str) {
    let mut all = vec![INIT];
    all.extend(lines);
    assert_eq!(ending(&all, Ended::Code(1)).outcome(), outcome, "{lines:?}");
}

#[test]
fn a_limit_that_was_lifted_or_paid_for_is_none() {
    let (stop, paid) = (limit("rejected", false), limit("rejected", true));
    let (ok, warned) = (limit("allowed", false), limit("allowed_warning", false));
    comes_to(&[&stop, BOOM], "usage_limit");
    comes_to(&[&stop, &ok, BOOM], "agent_error");
    comes_to(&[&stop, &warned, BOOM], "agent_error");
    comes_to(&[&stop, &paid, BOOM], "agent_error");
    comes_to(&[&stop, TEXT, BOOM], "agent_error");
    comes_to(&[&paid, BOOM], "agent_error");
    comes_to(&[&paid, &ok, TEXT, MAX_TURNS], "max_turns");
    comes_to(&[&ok, &stop, BOOM], "usage_limit");
    // A subagent's answer can be older than the limit.
    let sub = TEXT.replace(
        r#""parent_tool_use_id":null"#,
        r#""parent_tool_use_id":"t""#,
    );
    comes_to(&[&stop, &sub, BOOM], "usage_limit");
    let (events, _) = read(&[INIT, &paid]);
    assert!(
        events.iter().any(|e| matches!(
            e,
            AgentEvent::Limit {
                rejected: false,
                ..
            }
        )),
        "{events:?}"
    );
}

#[test]
fn a_bound_or_a_refusal_is_told_by_its_own_field_whatever_the_limits_say() {
    let stop = limit("rejected", false);
    comes_to(&[&stop, MAX_TURNS], "max_turns");
    comes_to(&[&stop, BUDGET], "budget");
    comes_to(&[&stop, REFUSED], "refused");
}

#[test]
fn an_error_that_was_got_over_or_is_a_subagents_is_not_how_it_ended() {
    let (own, sub) = (
        synthetic("overloaded", "null"),
        synthetic("overloaded", "\"t\""),
    );
    comes_to(&[&own, BOOM], "overloaded");
    comes_to(&[&own, TEXT, BOOM], "agent_error");
    comes_to(&[&sub, BOOM], "agent_error");
    comes_to(&[&sub, TEXT, BOOM], "agent_error");
    comes_to(&[TEXT, &own, BOOM], "overloaded");
}

#[test]
fn an_api_key_that_is_used_up_is_a_limit_with_its_time() {
    let words = "API Error: 400 You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.";
    let failed = OK
        .replace(
            r#""is_error":false"#,
            r#""is_error":true,"api_error_status":400"#,
        )
        .replace("Task T1 complete", words);
    let resets_at = Some("2026-12-01T00:00:00Z".parse().unwrap());
    let code = synthetic("unknown", "null");
    let end = ending(&[INIT, &code, &failed], Ended::Code(1));
    assert_eq!(end, Ending::Limit { resets_at });
    // An agent that writes the same into its answer has not met with it.
    let said = OK.replace("Task T1 complete", words);
    assert_eq!(ending(&[INIT, &said], Ended::Code(0)), Ending::Finished);
}
