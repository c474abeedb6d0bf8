//! Each fault as a plain client meets it, and that the answer comes behind it.

use std::io::Read as _;
use std::time::Duration;

use ralph_testkit::model::{AnsweredWith, Scenario, ScriptedModel};
use serde_json::json;

use crate::client::{End, first, post, read, read_until, send};

fn model(faults: &str) -> ScriptedModel {
    let text = format!(
        "conversations: [{{turns: [{{say: hello world, faults: {faults}}}, {{say: more}}]}}]"
    );
    ScriptedModel::start(Scenario::parse(&text).unwrap())
}

#[test]
fn every_event_of_a_stream_is_there_and_its_text_is_whole() {
    let model = model("[]");
    let got = post(&model.url(), &first("go"));
    let expected = [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ];
    assert_eq!(got.event_types(), expected);
    assert_eq!(got.text(), "hello world");
    assert!(got.head.contains("content-type: text/event-stream"));
}

#[test]
fn a_client_that_wants_no_stream_gets_one_body() {
    let model = model("[]");
    let mut body = first("go");
    body["stream"] = json!(false);
    let got = post(&model.url(), &body);
    assert_eq!(got.status, 200);
    assert_eq!(got.json()["content"][0]["text"], "hello world");
    assert_eq!(got.json()["stop_reason"], "end_turn");
    assert_eq!(got.json()["usage"]["input_tokens"], 100);
}

#[test]
fn errors_come_in_order_and_then_the_answer() {
    let model = model(
        "[{status: 429, retry_after: 7}, {status: 529, repeat: 2}, {status: 500}, {status: 401}]",
    );
    let mut seen = Vec::new();
    for _ in 0..6 {
        let got = post(&model.url(), &first("go"));
        let kind = if got.status == 200 {
            got.text()
        } else {
            got.json()["error"]["type"].as_str().unwrap().to_owned()
        };
        seen.push((got.status, kind, got.head.contains("retry-after: 7")));
    }
    let expected = [
        (429, "rate_limit_error", true),
        (529, "overloaded_error", false),
        (529, "overloaded_error", false),
        (500, "api_error", false),
        (401, "authentication_error", false),
        (200, "hello world", false),
    ];
    let expected = expected.map(|(status, kind, retry)| (status, kind.to_owned(), retry));
    assert_eq!(seen, expected);
    let answered: Vec<_> = model.requests().into_iter().map(|r| r.answered).collect();
    assert!(answered.iter().all(|a| a.turn == 0 && a.run == Some(1)));
    assert_eq!(answered[4].with, AnsweredWith::Fault);
    assert_eq!(answered[5].with, AnsweredWith::Turn);
    assert_eq!(answered[5].status, 200);
}

#[test]
fn a_fault_for_ever_never_gives_way() {
    let model = model("[{status: 529, repeat: forever}]");
    for _ in 0..30 {
        assert_eq!(post(&model.url(), &first("go")).status, 529);
    }
}

#[test]
fn a_message_of_ones_own_is_sent_with_a_status() {
    let model = model("[{status: 400, message: Your credit balance is too low}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.status, 400);
    let message = &got.json()["error"]["message"];
    assert_eq!(message, "Your credit balance is too low");
}

#[test]
fn a_usage_limit_says_which_and_until_when() {
    let model = model("[{usage_limit: {resets_at: 1894733640, type: seven_day}}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.status, 429);
    for line in [
        "anthropic-ratelimit-unified-status: rejected",
        "anthropic-ratelimit-unified-reset: 1894733640",
        "anthropic-ratelimit-unified-representative-claim: seven_day",
    ] {
        assert!(got.head.contains(line), "{line} is not in {}", got.head);
    }
}

#[test]
fn a_prompt_that_is_too_long_is_refused() {
    let model = model("[{overflow: true}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.status, 400);
    let message = got.json()["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("prompt is too long"), "{message}");
}

#[test]
fn a_refused_connection_ends_without_a_byte() {
    let model = model("[{refuse_connection: true}, {cut: before_headers}]");
    for _ in 0..2 {
        let got = post(&model.url(), &first("go"));
        assert_eq!((got.status, got.head.as_str()), (0, ""));
    }
    assert_eq!(model.requests()[0].answered.status, 0);
    assert_eq!(post(&model.url(), &first("go")).text(), "hello world");
}

#[test]
fn a_cut_ends_within_a_block_or_right_behind_it() {
    let model = model("[{cut: mid_stream}, {cut: after_block}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!((got.status, &got.end), (200, &End::Cut));
    assert_eq!(got.text(), "hello ");
    assert!(!got.event_types().contains(&"content_block_stop".to_owned()));
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.end, End::Cut);
    assert_eq!(got.text(), "hello world");
    assert_eq!(got.event_types().last().unwrap(), "content_block_stop");
}

#[test]
fn an_error_event_comes_within_the_stream() {
    let model = model("[{sse_error: overloaded_error}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.status, 200);
    let last = got.events().pop().unwrap();
    assert_eq!(last["type"], "error");
    assert_eq!(last["error"]["type"], "overloaded_error");
}

#[test]
fn a_stall_keeps_the_connection_open_and_silent_until_the_model_ends() {
    for (fault, comes, lacks) in [
        ("before_headers", "", "HTTP"),
        ("mid_stream", "hello ", "world"),
        ("after_block", "content_block_stop", "message_stop"),
    ] {
        let model = model(&format!("[{{stall: {fault}}}]"));
        let mut stream = send(&model.url(), "POST /v1/messages", &[], &first("go"));
        let _ = model.wait_for_requests(1, Duration::from_secs(20));
        let before = read_until(&mut stream, comes);
        // Silence can't be waited for; this long without a byte is what is shown.
        stream
            .set_read_timeout(Some(Duration::from_millis(100)))
            .unwrap();
        let mut rest = Vec::new();
        let error = stream.read_to_end(&mut rest).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{fault}");
        let all = before + &String::from_utf8_lossy(&rest);
        assert!(!all.contains(lacks), "{fault}: {all}");
        drop(model);
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        assert_eq!(read(stream).end, End::Cut, "{fault}");
    }
}

#[test]
fn a_warning_comes_with_an_answer_that_succeeds() {
    let text = "conversations: [{turns: [{say: fine, warning: \
                {type: five_hour, resets_at: 1894733640, utilization: 0.92}}]}]";
    let model = ScriptedModel::start(Scenario::parse(text).unwrap());
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.text(), "fine");
    for line in [
        "anthropic-ratelimit-unified-status: allowed_warning",
        "anthropic-ratelimit-unified-5h-utilization: 0.92",
    ] {
        assert!(got.head.contains(line), "{line} is not in {}", got.head);
    }
}
