//! Tests of Pi's stream, with what the real program wrote, and with what it does not write.

mod changed_fields;

use super::*;
use crate::agent::jsonl::read_lines;
use ralph_core::{
    agent::{FINAL_MESSAGE_BYTES, NudgeState, Usage},
    dollars::Dollars,
};
use serde_json::Value;

/// Returns what the program wrote to stdout; a capture of both directions says which lines those are.
fn captured(name: &str) -> Vec<String> {
    ralph_testkit::captures::agent_lines(&format!("pi/{name}"))
}

fn read<T: AsRef<str>>(lines: &[T]) -> (Vec<AgentEvent>, Box<PiStream>) {
    read_lines(lines)
}

fn conclude(name: &str) -> Conclusion {
    read(&captured(name)).1.conclude(Ended::Code(0), "")
}

fn tokens(usage: &Usage) -> [u64; 4] {
    [
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
    ]
}

#[test]
fn a_whole_run_reads_into_its_events_and_figures() {
    let (events, stream) = read(&captured("pi-json.stdout"));
    assert!(stream.has_concluded());
    let lines: Vec<String> = events
        .iter()
        .filter(|e| !matches!(e, AgentEvent::Usage(_)))
        .map(AgentEvent::line)
        .collect();
    let model = "loop-anthropic/scripted-1";
    assert_eq!(
        lines,
        [
            "[started] session 01a1ddf8-e701-745b-8efe-c2477fdfa9cc".to_owned(),
            "I will write the file.".to_owned(),
            format!("[turn] {model}, context 1500"),
            "[write] hello.txt".to_owned(),
            "[tool done]".to_owned(),
            format!("[turn] {model}, context 1700"),
            "[edit] hello.txt".to_owned(),
            "[tool done]".to_owned(),
            format!("[turn] {model}, context 1800"),
            "[bash] cat hello.txt; echo \"id=$PI_SESSION_ID model=$PI_PROVIDER/$PI_MODEL\"; exit 3"
                .to_owned(),
            "[tool failed]".to_owned(),
            "All done. <promise>DONE</promise>".to_owned(),
            format!("[turn] {model}, context 1800"),
            "[result] ok".to_owned(),
        ]
    );
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "All done. <promise>DONE</promise>");
    assert_eq!(tokens(&end.usage), [1500, 160, 4800, 500]);
    assert!((end.usage.cost_usd.unwrap() - 0.010_215).abs() < 1e-9);
    let of_calls = end.calls.iter().filter_map(|call| call.told);
    let of_calls = of_calls.fold(Dollars::NOTHING, Dollars::plus);
    assert_eq!(of_calls, Dollars::told(0.010_215), "each call has its cost");
    assert_eq!(end.calls[0].tokens.input, 1_000);
    assert_eq!(end.calls[0].tokens.cache_write, 500);
    assert_eq!(end.turns, Some(4));
}

#[test]
fn failures_are_told_by_the_last_answer_though_the_exit_code_is_0() {
    for (name, expected) in [
        (
            "pi-err-400-json.jsonl",
            Ending::Api {
                message:
                    "400 invalid_request_error: prompt is too long: 250000 tokens > 200000 maximum"
                        .into(),
            },
        ),
        (
            "pi-err-401-json.jsonl",
            Ending::Auth {
                message: "401 authentication_error: invalid x-api-key".into(),
            },
        ),
        (
            "pi-err-429-json.jsonl",
            Ending::Overloaded {
                message:
                    "429 rate_limit_error: This request would exceed your account's rate limit"
                        .into(),
            },
        ),
        (
            "pi-json-conn-error.stdout",
            Ending::Overloaded {
                message: "Connection error.".into(),
            },
        ),
    ] {
        assert_eq!(conclude(name).ending, expected, "{name}");
    }
}

#[test]
fn what_came_through_after_a_retry_is_finished_and_all_attempts_are_paid() {
    let end = conclude("pi-err-429then-ok-json.jsonl");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "ok after 429");
    assert_eq!(tokens(&end.usage), [100, 20, 0, 0]);
    let (events, stream) = read(&captured("pi-err-drop-json.jsonl"));
    let retry = AgentEvent::Retry {
        attempt: 1,
        reason: "Anthropic stream ended before message_stop".into(),
    };
    assert!(events.contains(&retry), "{events:#?}");
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!((end.ending, end.turns), (Ending::Finished, Some(2)));
    assert_eq!(tokens(&end.usage), [200, 21, 0, 0]);
}

#[test]
fn an_attempt_that_ended_is_not_the_end_of_the_run() {
    let lines = captured("pi-err-429-json.jsonl");
    let failed = lines.iter().position(|l| l.contains(r#""agent_end""#));
    let (_, stream) = read(&lines[..=failed.unwrap()]);
    assert!(!stream.has_concluded());
    let end = stream.conclude(Ended::Code(0), "").ending;
    assert_eq!(end.outcome(), "no_result");
}

#[test]
fn an_abort_is_an_interruption_whatever_the_last_answer_says() {
    let end = conclude("pi-rpc-abort-stream.jsonl");
    let message = "it was aborted".to_owned();
    assert_eq!(
        end.ending,
        Ending::Interrupted {
            message: message.clone()
        }
    );
    assert_eq!(tokens(&end.usage), [500, 1, 0, 0]);
    // While a tool ran: the last answer has an error instead.
    let lines = captured("pi-rpc-abort.jsonl");
    let settled = lines.iter().position(|l| l.contains("agent_settled"));
    let (_, stream) = read(&lines[..=settled.unwrap()]);
    let end = stream.conclude(Ended::Code(0), "").ending;
    assert_eq!(end, Ending::Interrupted { message });
}

#[test]
fn a_message_is_delivered_when_the_model_gets_it_and_not_when_it_is_queued() {
    let mut stream = PiStream::default();
    let command = stream.nudge("PROMPT-STEER").unwrap();
    assert_eq!(
        serde_json::from_slice::<Value>(&command).unwrap(),
        json!({"id": "nudge-1", "type": "prompt", "message": "PROMPT-STEER", "streamingBehavior": "steer"})
    );
    let delivered = AgentEvent::Nudge {
        text: "PROMPT-STEER".into(),
        state: NudgeState::Delivered,
    };
    let mut events = Vec::new();
    let mut seen_at = None;
    for (at, line) in captured("pi-rpc-steer.jsonl").iter().enumerate() {
        let line = line.replace(r#""id":"p3""#, r#""id":"nudge-1""#);
        stream.read_line(line.as_bytes(), &mut events);
        if seen_at.is_none() && events.contains(&delivered) {
            seen_at = Some((at, line));
        }
    }
    let (_, line) = seen_at.expect("a delivery");
    assert!(
        line.contains(r#""message_end""#) && line.contains(r#""role":"user""#),
        "{line}"
    );
    assert!(stream.has_concluded());
}

const BEGIN: &str = r#"{"type":"agent_start"}"#;
const SETTLED: &str = r#"{"type":"agent_settled","aborted":false}"#;
const ANSWER: &str = r#"{"type":"message_end","message":{"role":"assistant","content":[{"type":"text","text":"Task T1 complete"}],"provider":"p","model":"m","usage":{"input":7,"output":3,"cacheRead":0,"cacheWrite":0,"cost":{"total":0}},"stopReason":"stop"}}"#;

#[test]
fn a_message_that_came_too_late_begins_another_run_that_is_waited_for() {
    let (mut events, mut stream) = read(&[BEGIN, ANSWER]);
    stream.nudge("More.");
    stream.read_line(SETTLED.as_bytes(), &mut events);
    assert!(
        !stream.has_concluded(),
        "Pi has not said what it does with it"
    );
    let started = r#"{"id":"nudge-1","type":"response","command":"prompt","success":true,"data":{"disposition":"started"}}"#;
    stream.read_line(started.as_bytes(), &mut events);
    assert!(!stream.has_concluded(), "it works on it");
    for line in [BEGIN, ANSWER, SETTLED] {
        stream.read_line(line.as_bytes(), &mut events);
    }
    assert!(stream.has_concluded());
}

#[test]
fn a_message_that_is_refused_is_said_to_be_and_not_waited_for() {
    let (mut events, mut stream) = read(&[BEGIN, ANSWER]);
    stream.nudge("More.");
    let no = r#"{"id":"nudge-1","type":"response","command":"prompt","success":false,"error":"Cannot submit a prompt"}"#;
    stream.read_line(no.as_bytes(), &mut events);
    stream.read_line(SETTLED.as_bytes(), &mut events);
    assert!(stream.has_concluded());
    let refused = AgentEvent::Nudge {
        text: "More.".into(),
        state: NudgeState::Impossible,
    };
    assert!(events.contains(&refused), "{events:#?}");
}

#[test]
fn a_stop_clears_the_queue_first_and_is_over_when_pi_says_so() {
    let (mut events, mut stream) = read(&[BEGIN]);
    stream.nudge("More.");
    let asked = String::from_utf8(stream.interrupt().unwrap()).unwrap();
    let kinds: Vec<Value> = asked
        .lines()
        .map(|l| serde_json::from_str::<Value>(l).unwrap()["type"].clone())
        .collect();
    assert_eq!(kinds, ["clear_queue", "abort"]);
    assert!(!stream.has_concluded());
    let settled = r#"{"type":"agent_settled","aborted":true}"#;
    stream.read_line(settled.as_bytes(), &mut events);
    assert!(
        stream.has_concluded(),
        "though a message was never answered"
    );
}

#[test]
fn what_is_in_flight_counts_only_if_its_answer_never_ends() {
    let starts = r#"{"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input":0,"output":0},"stopReason":"pending"}}"#;
    let update = r#"{"type":"message_update","usage":{"input":7,"output":1,"cacheRead":0,"cacheWrite":0,"cost":{"total":0}},"assistantMessageEvent":{"type":"text_delta","delta":"T"}}"#;
    let (_, stream) = read(&[BEGIN, starts, update, update]);
    let end = stream.conclude(Ended::Signal(9), "");
    assert_eq!(tokens(&end.usage), [7, 1, 0, 0]);
    assert_eq!(end.usage.cost_usd, None, "Pi knows no price of it");
    assert_eq!(end.ending.outcome(), "interrupted");
    let (_, stream) = read(&[BEGIN, starts, update, ANSWER, SETTLED]);
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(tokens(&end.usage), [7, 3, 0, 0]);
}

#[test]
fn garbage_unknown_events_and_odd_figures_are_harmless() {
    let odd = ANSWER.replace(r#""input":7"#, r#""input":null"#);
    let (events, stream) = read(&[
        "",
        "not json",
        "{\"type\":",
        "[1,2]",
        r#"{"type":"brand_new","message":"hello","args":{}}"#,
        r#"{"type":"message_end","message":{"role":"custom","content":{"a":1}}}"#,
        r#"{"type":"message_end"}"#,
        BEGIN,
        &odd,
        SETTLED,
    ]);
    assert!(events.contains(&AgentEvent::Other {
        name: "brand_new".into()
    }));
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(tokens(&end.usage), [0, 3, 0, 0]);
}

#[test]
fn the_state_names_the_model_and_its_window() {
    let state = r#"{"id":"state","type":"response","command":"get_state","success":true,"data":{"model":{"id":"m","provider":"p","contextWindow":1000},"sessionId":"s1"}}"#;
    let (events, stream) = read(&[state, BEGIN, ANSWER, SETTLED]);
    assert_eq!(events[0].line(), "[started] model p/m session s1");
    assert_eq!(events[2].line(), "[turn] p/m, context 7 of 1000 (0.7 %)");
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.context.window, Some(1000));
}

#[test]
fn an_older_pi_that_says_nothing_of_aborts_is_understood() {
    let settled = r#"{"type":"agent_settled"}"#;
    let error = ANSWER.replace(
        r#""stopReason":"stop""#,
        r#""stopReason":"error","errorMessage":"This operation was aborted""#,
    );
    let (_, stream) = read(&[BEGIN, &error, settled]);
    let end = stream.conclude(Ended::Code(0), "").ending;
    assert_eq!(end.outcome(), "interrupted");
    let (_, stream) = read(&[BEGIN, ANSWER, settled]);
    let end = stream.conclude(Ended::Code(0), "").ending;
    assert_eq!(end, Ending::Finished);
}

#[test]
fn the_end_of_a_very_long_answer_is_what_is_kept() {
    let long = format!("{}Task T1 complete", "ü".repeat(FINAL_MESSAGE_BYTES));
    let (_, stream) = read(&[BEGIN, &ANSWER.replace("Task T1 complete", &long), SETTLED]);
    let end = stream.conclude(Ended::Code(0), "").final_message;
    assert!(end.len() <= FINAL_MESSAGE_BYTES && end.ends_with("üTask T1 complete"));
}
