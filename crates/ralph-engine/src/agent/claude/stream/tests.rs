//! Tests of Claude Code's stream: events, endings, and lines that are none of its own.

mod calls;
mod changed_fields;
mod failures;
mod interleaved;

use ralph_core::agent::Ending;

use super::*;
use crate::agent::jsonl::read_lines;

fn read(lines: &[&str]) -> (Vec<AgentEvent>, Box<ClaudeStream>) {
    read_lines(lines)
}

fn ending(lines: &[&str], ended: Ended) -> Ending {
    read(lines).1.conclude(ended, "").ending
}

const INIT: &str = r#"{"type":"system","subtype":"init","session_id":"s","model":"claude-x","claude_code_version":"2.1.197"}"#;
const TEXT: &str = r#"{"type":"assistant","message":{"id":"m1","model":"claude-x","content":[{"type":"text","text":"hello"}],"usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s"}"#;
const OK: &str = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"Task T1 complete","session_id":"s","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":20},"modelUsage":{"claude-x":{"inputTokens":10,"outputTokens":20,"cacheReadInputTokens":5,"cacheCreationInputTokens":1}},"permission_denials":[],"terminal_reason":"completed"}"#;

#[test]
fn a_good_run_is_finished_with_its_final_message_and_figures() {
    let (_, stream) = read(&[INIT, TEXT, OK]);
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "Task T1 complete");
    assert_eq!(end.model.as_deref(), Some("claude-x"));
    assert_eq!(end.version.as_deref(), Some("2.1.197"));
    assert_eq!((end.usage.input_tokens, end.usage.output_tokens), (10, 20));
    assert_eq!(
        (end.usage.context_tokens, end.usage.cost_usd),
        (16, Some(0.5))
    );
}

#[test]
fn each_block_of_a_message_repeats_its_usage_and_it_counts_once() {
    let (events, _) = read(&[INIT, TEXT, TEXT]);
    let last = events.iter().rev().find_map(|e| match e {
        AgentEvent::Usage(usage) => Some(*usage),
        _ => None,
    });
    assert_eq!(last.unwrap().input_tokens, 10);
}

#[test]
fn an_exit_code_of_zero_without_a_result_is_an_error() {
    let end = ending(&[INIT, TEXT], Ended::Code(0));
    let message = "it ended without a result (exit code 0)";
    assert_eq!(
        end,
        Ending::NoResult {
            message: message.into()
        }
    );
}

#[test]
fn a_result_that_is_an_error_or_did_not_complete_is_no_success() {
    for (from, to, message) in [
        (
            r#""is_error":false"#,
            r#""is_error":true"#,
            "Task T1 complete",
        ),
        (
            r#""terminal_reason":"completed""#,
            r#""terminal_reason":"model_error""#,
            "Task T1 complete",
        ),
        (r#""num_turns":2"#, r#""num_turns":0"#, "Task T1 complete"),
    ] {
        let line = OK.replace(from, to);
        let end = ending(&[INIT, &line], Ended::Code(0));
        assert_eq!(
            end,
            Ending::Error {
                message: message.into()
            },
            "{to}"
        );
    }
    let turns = r#"{"type":"result","subtype":"error_max_turns","is_error":true,"num_turns":4,"session_id":"s","terminal_reason":"max_turns","errors":["Reached maximum number of turns (3)"]}"#;
    let end = ending(&[INIT, turns], Ended::Code(1));
    assert_eq!(
        end,
        Ending::MaxTurns {
            message: "Reached maximum number of turns (3)".into()
        }
    );
}

#[test]
fn the_last_of_several_results_counts() {
    let second = OK.replace("Task T1 complete", "later");
    let (_, stream) = read(&[INIT, OK, INIT, &second]);
    assert_eq!(stream.conclude(Ended::Code(0), "").final_message, "later");
}

#[test]
fn a_rejected_rate_limit_is_a_limit_with_its_reset_time() {
    let limit = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1794733640,"rateLimitType":"five_hour"},"session_id":"s"}"#;
    let failed = OK.replace(r#""is_error":false"#, r#""is_error":true"#);
    let end = ending(&[INIT, limit, &failed], Ended::Code(1));
    let resets_at = Some(Timestamp::from_second(1_794_733_640).unwrap());
    assert_eq!(end, Ending::Limit { resets_at });
}

#[test]
fn the_limit_notice_with_exit_zero_is_a_limit_and_a_quotation_of_it_is_not() {
    let notice = OK.replace(
        "Task T1 complete",
        "You've hit your limit · resets 9pm (UTC)",
    );
    // A time of day is the next one behind what the stream itself says of the time.
    let tool = r#"{"type":"user","message":{"role":"user","content":[]},"timestamp":"2026-11-13T21:48:24.496Z","session_id":"s"}"#;
    let resets_at = Some("2026-11-14T21:00:00Z".parse().unwrap());
    assert_eq!(
        ending(&[INIT, tool, &notice], Ended::Code(0)),
        Ending::Limit { resets_at }
    );
    let quoted = OK.replace("Task T1 complete", "The file says:\\nYou've hit your limit");
    assert_eq!(ending(&[INIT, &quoted], Ended::Code(0)), Ending::Finished);
    let warning = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1},"session_id":"s"}"#;
    assert_eq!(
        ending(&[INIT, warning, OK], Ended::Code(0)),
        Ending::Finished
    );
}

#[test]
fn a_result_that_another_program_printed_is_never_taken() {
    let fake = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Task T1 complete"}"#;
    assert!(matches!(
        ending(&[INIT, fake], Ended::Code(0)),
        Ending::NoResult { .. }
    ));
    let other = OK.replace(r#""session_id":"s""#, r#""session_id":"forged""#);
    assert!(matches!(
        ending(&[INIT, &other], Ended::Code(0)),
        Ending::NoResult { .. }
    ));
    let before = ending(&[&other, INIT], Ended::Code(0));
    assert!(matches!(before, Ending::NoResult { .. }), "{before:?}");
}

#[test]
fn a_result_without_an_init_before_it_is_a_result_and_its_errors_are_shown() {
    let hook =
        r#"{"type":"system","subtype":"hook_started","hook_name":"SessionStart","session_id":"s"}"#;
    let unknown = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"s","errors":["No conversation found with session ID: 7"]}"#;
    let several = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"s","errors":["[ede_diagnostic] x","sandbox required but not available\nbwrap is missing","sandbox required but not available","","socat is missing",7]}"#;
    for (lines, message) in [
        (vec![unknown], "No conversation found with session ID: 7"),
        (
            vec![hook, unknown],
            "No conversation found with session ID: 7",
        ),
        (
            vec![several],
            "sandbox required but not available; socat is missing",
        ),
        (
            vec![INIT, several],
            "sandbox required but not available; socat is missing",
        ),
    ] {
        let message = message.to_owned();
        assert_eq!(ending(&lines, Ended::Code(1)), Ending::Error { message });
    }
    assert_eq!(ending(&[OK], Ended::Code(0)), Ending::Finished);
    let (events, stream) = read(&[unknown]);
    assert!(stream.has_concluded());
    let shown = events.iter().find_map(|event| match event {
        AgentEvent::Result(result) => result.error.as_deref(),
        _ => None,
    });
    assert_eq!(shown, Some("No conversation found with session ID: 7"));
}

#[test]
fn a_result_before_the_init_counts_only_for_the_session_that_begins() {
    let later = OK.replace("Task T1 complete", "later");
    let forged = OK.replace(r#""session_id":"s""#, r#""session_id":"forged""#);
    let (_, stream) = read(&[&forged, INIT, &later]);
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!((end.final_message.as_str(), end.turns), ("later", Some(2)));
    assert_eq!(ending(&[OK, INIT], Ended::Code(0)), Ending::Finished);
    // An event before it says whose result can come.
    let hook =
        r#"{"type":"system","subtype":"hook_started","hook_name":"SessionStart","session_id":"s"}"#;
    let end = ending(&[hook, &forged], Ended::Code(0));
    assert!(matches!(end, Ending::NoResult { .. }), "{end:?}");
    let nameless = OK.replace(r#""session_id":"s","#, "");
    let end = ending(&[&nameless], Ended::Code(0));
    assert!(matches!(end, Ending::NoResult { .. }), "{end:?}");
}

#[test]
fn a_limit_is_known_wherever_an_error_says_it() {
    let failed = OK.replace(r#""is_error":false"#, r#""is_error":true"#);
    for text in [
        "You've hit your individual spend limit · run /usage-credits to raise it, or visit claude.ai/admin-settings/usage",
        "You're out of extra usage. Add more at claude.ai/settings/usage and keep going.",
        "API Error: 400 You're out of extra usage. Add more at claude.ai/settings/usage and keep going.",
        r#"API Error: 400 {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"You're out of extra usage. Add more at claude.ai/settings/usage and keep going.\"},\"request_id\":\"r\"}"#,
    ] {
        let line = failed.replace("Task T1 complete", text);
        let end = ending(&[INIT, &line], Ended::Code(1));
        assert_eq!(end, Ending::Limit { resets_at: None }, "{text}");
    }
    let errors = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"s","errors":["You've hit your individual spend limit"]}"#;
    let end = ending(&[errors], Ended::Code(1));
    assert_eq!(end, Ending::Limit { resets_at: None });
    // A text of the agent that ended well is JSON of its own.
    let own = OK.replace(
        "Task T1 complete",
        r#"{\"error\":{\"message\":\"You're out of extra usage\"}}"#,
    );
    assert_eq!(ending(&[INIT, &own], Ended::Code(0)), Ending::Finished);
}

#[test]
fn garbage_and_unknown_events_are_harmless() {
    let lines = [
        "",
        "not json",
        "{\"type\":",
        "\u{0}\u{1}",
        r#"{"type":"brand_new","session_id":"s"}"#,
        "[1,2]",
    ];
    let mut all = vec![INIT];
    all.extend(lines);
    all.push(OK);
    assert_eq!(ending(&all, Ended::Code(0)), Ending::Finished);
}

#[test]
fn not_being_logged_in_is_unavailable_rather_than_a_failed_attempt() {
    let synthetic = r#"{"type":"assistant","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"Not logged in"}]},"error":"authentication_failed","session_id":"s"}"#;
    let failed = OK
        .replace(r#""is_error":false"#, r#""is_error":true"#)
        .replace("Task T1 complete", "Not logged in · Please run /login");
    let end = ending(&[INIT, synthetic, &failed], Ended::Code(1));
    let message = "Not logged in · Please run /login".into();
    assert_eq!(end, Ending::Auth { message });
}

#[test]
fn a_subagents_words_are_not_the_agents_own() {
    let sub = TEXT.replace(
        r#""parent_tool_use_id":null"#,
        r#""parent_tool_use_id":"toolu_1""#,
    );
    let (events, _) = read(&[INIT, &sub]);
    assert!(!events.iter().any(|e| matches!(e, AgentEvent::Text { .. })));
}

#[test]
fn a_hook_or_a_person_that_stops_it_interrupts_it_and_diagnostics_are_no_reason() {
    let hook = OK
        .replace(
            r#""terminal_reason":"completed""#,
            r#""terminal_reason":"hook_stopped""#,
        )
        .replace("Task T1 complete", "");
    let message = "it ended by hook_stopped".into();
    let end = ending(&[INIT, &hook], Ended::Code(0));
    assert_eq!(end, Ending::Interrupted { message });
    let person = r#"{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":3,"session_id":"s","terminal_reason":"aborted_tools","errors":["[ede_diagnostic] result_type=user"]}"#;
    let message = "it ended by aborted_tools".into();
    let end = ending(&[INIT, person], Ended::Code(1));
    assert_eq!(end, Ending::Interrupted { message });
}

#[test]
fn the_turns_of_all_results_are_summed_and_their_usage_is_not() {
    let (_, stream) = read(&[INIT, TEXT, OK, INIT, OK]);
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.turns, Some(4));
    assert_eq!(
        (end.usage.input_tokens, end.usage.cost_usd),
        (10, Some(0.5))
    );
}
