//! Turns that wait for the test.

use std::time::Duration;

use ralph_testkit::model::{Scenario, ScriptedModel};

use crate::client::{End, first, read, read_until, send};

const LIMIT: Duration = Duration::from_secs(20);

#[test]
fn a_held_turn_is_answered_when_it_is_released() {
    let text = "conversations: [{turns: [{say: at last, hold: thinking}]}]";
    let model = ScriptedModel::start(Scenario::parse(text).unwrap());
    let stream = send(&model.url(), "POST /v1/messages", &[], &first("go"));
    model.wait_until_held("thinking", LIMIT);
    stream.set_nonblocking(true).unwrap();
    let nothing_yet = stream.peek(&mut [0]).unwrap_err();
    assert_eq!(nothing_yet.kind(), std::io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).unwrap();
    model.release("thinking");
    let got = read(stream);
    assert_eq!((got.text().as_str(), got.end), ("at last", End::Whole));
}

#[test]
fn a_turn_can_be_held_within_its_stream() {
    let text = "conversations: [{turns: [{say: hello world, hold: {name: g, at: mid_stream}}]}]";
    let model = ScriptedModel::start(Scenario::parse(text).unwrap());
    let mut stream = send(&model.url(), "POST /v1/messages", &[], &first("go"));
    model.wait_until_held("g", LIMIT);
    let before = read_until(&mut stream, "hello ");
    assert!(!before.contains("world"), "{before}");
    model.release("g");
    let behind = read_until(&mut stream, "message_stop");
    assert!(behind.contains("world"), "{behind}");
}

#[test]
fn a_gate_that_was_opened_before_holds_no_request() {
    let text = "conversations: [{turns: [{say: at once, hold: g}]}]";
    let model = ScriptedModel::start(Scenario::parse(text).unwrap());
    model.release("g");
    let got = read(send(&model.url(), "POST /v1/messages", &[], &first("go")));
    assert_eq!(got.text(), "at once");
}

#[test]
fn a_model_ends_although_a_request_is_held() {
    let text = "conversations: [{turns: [{say: never, hold: g}]}]";
    let model = ScriptedModel::start(Scenario::parse(text).unwrap());
    let stream = send(&model.url(), "POST /v1/messages", &[], &first("go"));
    model.wait_until_held("g", LIMIT);
    drop(model);
    assert_eq!(read(stream).end, End::Cut);
}

#[test]
#[should_panic(expected = "0 of 1 requests")]
fn waiting_for_a_request_that_does_not_come_fails_at_its_limit() {
    let model = ScriptedModel::start(Scenario::default());
    let _ = model.wait_for_requests(1, Duration::from_millis(10));
}
