//! Tests of Codex's stream: captures of the real program, and lines that are none of its own.

use super::*;
use crate::agent::jsonl::{captured, read_lines};

fn read(lines: &str) -> (Vec<AgentEvent>, Box<CodexStream>) {
    read_lines(lines.lines())
}

fn end(lines: &str, ended: Ended) -> Ending {
    read(lines).1.conclude(ended, "").ending
}

const BEGIN: &str = "{\"type\":\"thread.started\",\"thread_id\":\"01a1df26-9aca-7163-8541-021fd950c971\"}\n{\"type\":\"turn.started\"}\n";

fn failed(message: &str) -> Ending {
    let line = serde_json::json!({"type": "turn.failed", "error": {"message": message}});
    end(&format!("{BEGIN}{line}\n"), Ended::Code(1))
}

#[test]
fn a_captured_run_is_finished_with_its_figures_and_its_last_words() {
    let (events, stream) = read(&captured("codex-json.out"));
    assert!(stream.has_concluded());
    let lines: Vec<String> = events.iter().map(AgentEvent::line).collect();
    assert_eq!(
        lines,
        [
            "[started] session 01a1de07-62f5-7663-9212-93e0e7e7037e",
            "[notice] Model metadata for `scripted-1` not found. Defaulting to fallback metadata; this can degrade performance and cause issues.",
            "I will run a command.",
            "[command_execution] /bin/bash -lc 'echo hi > codex.txt; cat codex.txt'",
            "[tool done]",
            "All done. <promise>DONE</promise>",
            "[usage] 1400 in, 100 out, 2300 read from cache, 0 written to it",
            "[result] ok",
        ]
    );
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "All done. <promise>DONE</promise>");
    assert_eq!(
        (end.usage.input_tokens, end.usage.cache_read_tokens),
        (1400, 2300)
    );
    assert_eq!((end.usage.output_tokens, end.usage.cost_usd), (100, None));
}

#[test]
fn captured_failures_are_a_refused_key_and_an_overload() {
    let (events, stream) = read(&captured("codex-err-401.out"));
    assert!(events.iter().any(|e| matches!(
        e,
        AgentEvent::Retry { attempt: 1, reason } if reason.starts_with("unexpected status 401")
    )));
    let message = "unexpected status 401 Unauthorized: invalid x-api-key, url: http://127.0.0.1:18802/v1/responses";
    assert_eq!(
        stream.conclude(Ended::Code(1), "").ending,
        Ending::Auth {
            message: message.into()
        }
    );
    let message = "exceeded retry limit, last status: 429 Too Many Requests";
    assert_eq!(
        end(&captured("codex-err-429.out"), Ended::Code(1)),
        Ending::Overloaded {
            message: message.into()
        }
    );
}

#[test]
fn a_failure_is_told_apart_by_its_sentence() {
    for (message, outcome) in [
        ("unexpected status 403 Forbidden: no", "auth"),
        (
            "unexpected status 404 Not Found: no such model",
            "api_error",
        ),
        ("unexpected status 503 Service Unavailable: x", "overloaded"),
        ("{\"error\":{\"message\":\"bad request\"}}", "api_error"),
        (
            "Codex ran out of room in the model's context window.",
            "api_error",
        ),
        ("stream disconnected before completion: x", "overloaded"),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            "overloaded",
        ),
        (
            "Quota exceeded. Check your plan and billing details.",
            "api_error",
        ),
        ("something new", "agent_error"),
    ] {
        assert_eq!(failed(message).outcome(), outcome, "{message}");
    }
}

#[test]
fn a_usage_limit_is_one_with_the_time_that_it_says() {
    let resets_at = |message: &str| match failed(message) {
        Ending::Limit { resets_at } => resets_at,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        resets_at("You’ve hit your usage limit. Try again later."),
        None
    );
    // The zone is the machine's, which is less than a day from any other.
    let told = "You’ve hit your usage limit. Upgrade or try again at Jan 15th, 2030 6:54 PM.";
    let off = resets_at(told).unwrap().as_second() - 1_894_733_640;
    assert!(off.abs() < 86_400, "{off}");
}

#[test]
fn a_key_that_is_refused_twice_is_hopeless_and_so_is_the_run() {
    let retry = |n: u32| {
        format!(
            "{{\"type\":\"error\",\"message\":\"Reconnecting... {n}/5 (unexpected status 401 Unauthorized: no)\"}}\n"
        )
    };
    let (_, once) = read(&format!("{BEGIN}{}", retry(1)));
    assert!(!once.is_hopeless());
    let (_, twice) = read(&format!("{BEGIN}{}{}", retry(1), retry(2)));
    assert!(twice.is_hopeless());
    let end = twice.conclude(Ended::Signal(2), "").ending;
    assert_eq!(end.outcome(), "auth");
}

#[test]
fn without_the_end_of_a_turn_there_is_no_result() {
    let said = "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"agent_message\",\"text\":\"Task T1 complete\"}}\n";
    let (_, stream) = read(&format!("{BEGIN}{said}"));
    let conclusion = stream.conclude(Ended::Code(0), "");
    assert_eq!(conclusion.ending.outcome(), "no_result");
    assert_eq!(conclusion.final_message, "");
    assert_eq!(end(BEGIN, Ended::Signal(9)).outcome(), "interrupted");
}

#[test]
fn an_end_before_any_thread_and_lines_of_others_are_not_believed() {
    let done = "{\"type\":\"turn.completed\",\"usage\":{}}\n";
    assert_eq!(end(done, Ended::Code(0)).outcome(), "no_result");
    let noise = format!("\nhello\n{{\"type\":\n[1]\n{{\"type\":\"brand.new\"}}\n{BEGIN}{done}");
    assert_eq!(end(&noise, Ended::Code(0)), Ending::Finished);
}

#[test]
fn a_command_that_failed_is_a_tool_that_did() {
    let item = "{\"type\":\"item.completed\",\"item\":{\"id\":\"i\",\"type\":\"command_execution\",\"command\":\"false\",\"exit_code\":1,\"status\":\"failed\"}}";
    let (events, _) = read(&format!("{BEGIN}{item}\n"));
    let lines: Vec<String> = events.iter().skip(1).map(AgentEvent::line).collect();
    assert_eq!(lines, ["[command_execution] false", "[tool failed]"]);
}
