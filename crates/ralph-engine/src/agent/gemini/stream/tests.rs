//! Tests of Gemini CLI's stream: a capture of the real program, and lines that are none of its own.

use super::*;
use crate::agent::jsonl::{captured, read_lines};

fn read(lines: &str) -> (Vec<AgentEvent>, Box<GeminiStream>) {
    read_lines(lines.lines())
}

fn end(lines: &str, code: i32) -> Ending {
    read(lines).1.conclude(Ended::Code(code), "").ending
}

const BEGIN: &str = "{\"type\":\"init\",\"session_id\":\"s\",\"model\":\"m\"}\n";
const OK: &str = "{\"type\":\"result\",\"status\":\"success\",\"stats\":{}}\n";

fn failed(message: &str) -> String {
    let result = serde_json::json!({
        "type": "result", "status": "error", "error": {"type": "unknown", "message": message},
    });
    format!("{BEGIN}{result}\n")
}

#[test]
fn a_captured_run_is_finished_with_its_figures_and_its_last_words() {
    let (events, stream) = read(&captured("gemini-json.out"));
    assert!(stream.has_concluded());
    let lines: Vec<String> = events.iter().map(AgentEvent::line).collect();
    assert_eq!(
        lines,
        [
            "[started] model gemini-2.5-pro session eed2247d-790f-4496-a5bb-09fb85b1ae48",
            "I will write.",
            "[write_file] /repo",
            "[tool done]",
            "[run_shell_command] cat g.txt; exit 3",
            "[tool done]",
            "All done. <promise>DONE</promise>",
            "[usage] 1400 in, 100 out, 2300 read from cache, 0 written to it",
            "[result] ok",
        ]
    );
    let end = stream.conclude(Ended::Code(0), "");
    assert_eq!(end.ending, Ending::Finished);
    assert_eq!(end.final_message, "All done. <promise>DONE</promise>");
    assert_eq!(end.model.as_deref(), Some("gemini-2.5-pro"));
    assert_eq!(
        (end.usage.input_tokens, end.usage.cache_read_tokens),
        (1400, 2300)
    );
    assert_eq!((end.usage.output_tokens, end.usage.cost_usd), (100, None));
}

#[test]
fn words_come_in_pieces_and_are_told_once_whole() {
    let piece = |text: &str| {
        format!(
            "{{\"type\":\"message\",\"role\":\"assistant\",\"content\":\"{text}\",\"delta\":true}}\n"
        )
    };
    let lines = format!("{BEGIN}{}{}{OK}", piece("Task T1 "), piece("complete"));
    let (events, stream) = read(&lines);
    assert_eq!(events[1].line(), "Task T1 complete");
    assert_eq!(
        stream.conclude(Ended::Code(0), "").final_message,
        "Task T1 complete"
    );
}

#[test]
fn what_it_thought_is_output_too() {
    let result = "{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"total_tokens\":170,\"input_tokens\":100,\"output_tokens\":20,\"cached\":40}}\n";
    let (_, stream) = read(&format!("{BEGIN}{result}"));
    let usage = stream.conclude(Ended::Code(0), "").usage;
    assert_eq!(
        (
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens
        ),
        (60, 70, 40)
    );
}

#[test]
fn an_error_is_told_apart_by_the_status_in_it_or_in_the_exit_code() {
    let api =
        |code: u16| format!("[API Error: {{\"error\":{{\"code\":{code},\"message\":\"no\"}}}}]");
    for (message, code, outcome) in [
        (api(401), 145, "auth"),
        (api(400), 144, "api_error"),
        (api(503), 247, "overloaded"),
        ("[API Error: no]".to_owned(), 145, "auth"),
        ("[API Error: no]".to_owned(), 173, "overloaded"),
        ("[API Error: no]".to_owned(), 244, "overloaded"),
        ("Please set an Auth method".to_owned(), 41, "auth"),
        ("Reached max session turns".to_owned(), 53, "max_turns"),
        ("something new".to_owned(), 1, "agent_error"),
        (
            "[API Error: You have exhausted your daily quota on this model.]".to_owned(),
            173,
            "usage_limit",
        ),
    ] {
        assert_eq!(
            end(&failed(&message), code).outcome(),
            outcome,
            "{message} {code}"
        );
    }
}

#[test]
fn without_a_result_the_exit_code_says_only_so_much() {
    assert_eq!(end(BEGIN, 0).outcome(), "no_result");
    assert_eq!(end("", 41).outcome(), "auth");
    assert_eq!(end("", 1).outcome(), "no_result");
}

#[test]
fn a_result_before_any_session_and_lines_of_others_are_not_believed() {
    assert_eq!(end(OK, 0).outcome(), "no_result");
    let noise = format!("\nhello\n{{\"type\":\n[1]\n{BEGIN}{{\"type\":\"new\"}}\n{OK}");
    assert_eq!(end(&noise, 0), Ending::Finished);
}
