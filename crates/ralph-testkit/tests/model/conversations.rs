//! Which conversation and which turn a request gets, and what is kept of it.

use ralph_testkit::model::{AnsweredWith, Role, Scenario, ScriptedModel};
use serde_json::json;

use crate::client::{first, later, post, post_as, read, send};

fn model(text: &str) -> ScriptedModel {
    ScriptedModel::start(Scenario::parse(text).unwrap())
}

#[test]
fn the_first_conversation_that_fits_and_is_not_used_up_answers() {
    let model = model(
        r#"{"conversations": [
             {"when": "task A", "times": 1, "turns": [{"say": "first A"}]},
             {"when": "task A", "turns": [{"say": "another A"}]},
             {"turns": [{"say": "anything"}]}]}"#,
    );
    let said = |text: &str| post(&model.url(), &first(text)).text();
    assert_eq!(said("do task A now"), "first A");
    assert_eq!(said("do task A now"), "another A");
    assert_eq!(said("do task A now"), "another A");
    assert_eq!(said("do task B now"), "anything");
    let runs: Vec<_> = model.requests().iter().map(|r| r.answered.run).collect();
    assert_eq!(runs, [Some(1), Some(2), Some(3), Some(4)]);
}

#[test]
fn a_named_session_stays_in_its_conversation_when_it_asks_again() {
    let model = model(
        "conversations: [{times: 1, turns: [{say: one, faults: [{status: 529, repeat: forever}]}]}, \
         {turns: [{say: two}]}]",
    );
    let status = |session: &str| post_as(&model.url(), session, &first("go")).status;
    assert_eq!(status("s1"), 529);
    assert_eq!(status("s1"), 529);
    assert_eq!(status("s2"), 200);
    assert_eq!(status("s1"), 529);
}

#[test]
fn the_turn_is_the_number_of_answers_that_the_client_has() {
    let model = model("conversations: [{turns: [{say: one}, {say: two}, {say: three}]}]");
    let said = |answers| post(&model.url(), &later("go", answers)).text();
    assert_eq!(said(0), "one");
    assert_eq!(said(2), "three");
    assert_eq!(said(1), "two");
    assert_eq!(said(1), "two");
}

#[test]
fn what_lies_past_the_script_is_answered_and_marked() {
    let model = model("conversations: [{when: only this, turns: [{say: one}]}]");
    assert_eq!(post(&model.url(), &later("only this", 1)).text(), "done");
    assert_eq!(post(&model.url(), &first("something else")).text(), "done");
    let unscripted = model.unscripted();
    assert_eq!(unscripted.len(), 2);
    assert_eq!(unscripted[0].answered.conversation, Some(0));
    assert_eq!(unscripted[1].answered.conversation, None);
}

#[test]
fn a_request_without_tools_is_on_the_side_unless_a_conversation_is_for_it() {
    let scenario = "conversations: [{turns: [{say: main}]}, \
                    {when: judge, without_tools: true, turns: [{say: verdict}]}]";
    let model = model(scenario);
    let bare = |text: &str| {
        let mut body = first(text);
        body.as_object_mut().unwrap().remove("tools");
        body
    };
    let got = post(&model.url(), &bare("a title please"));
    assert!(got.text().contains("A short summary."));
    assert_eq!(post(&model.url(), &bare("judge this")).text(), "verdict");
    assert_eq!(post(&model.url(), &first("judge this")).text(), "main");
    let with: Vec<_> = model.requests().iter().map(|r| r.answered.with).collect();
    let expected = [AnsweredWith::Side, AnsweredWith::Turn, AnsweredWith::Turn];
    assert_eq!(with, expected);
}

#[test]
fn a_tool_that_the_client_does_not_offer_is_said_to_be_missing() {
    let model = model("conversations: [{turns: [{tools: [{write: {path: a, content: b}}]}]}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.status, 400);
    let expected = "the scenario has a write, and the client offers none; it offers bash";
    assert_eq!(got.json()["error"]["message"], expected);
    assert_eq!(model.requests()[0].answered.with, AnsweredWith::Mistake);
}

#[test]
fn a_long_answer_has_the_length_that_was_asked_for() {
    let model = model("conversations: [{turns: [{say: first, fill: 300000}]}]");
    let got = post(&model.url(), &first("go"));
    assert_eq!(got.text().len(), 300_000 + "first".len());
}

#[test]
fn thinking_tools_stop_and_usage_are_on_the_wire() {
    let model = model(
        "conversations: [{turns: [{thinking: hm, say: now, tools: [{bash: ls}], stop: max_tokens, \
         usage: {input: 1, output: 2, cache_read: 3, cache_write: 4}}]}]",
    );
    let mut body = first("go");
    body["stream"] = json!(false);
    let got = post(&model.url(), &body).json();
    assert_eq!(got["content"][0]["thinking"], "hm");
    assert_eq!(got["content"][1]["text"], "now");
    assert_eq!(got["content"][2]["name"], "bash");
    assert_eq!(got["content"][2]["input"], json!({"command": "ls"}));
    assert_eq!(got["stop_reason"], "max_tokens");
    let usage = json!({"input_tokens": 1, "cache_creation_input_tokens": 4,
                       "cache_read_input_tokens": 3, "output_tokens": 2});
    assert_eq!(got["usage"], usage);
}

#[test]
fn a_request_is_kept_with_all_that_was_asked() {
    let model = model("conversations: [{turns: [{say: one}]}]");
    let mut body = first("the question");
    body["system"] = json!([{"type": "text", "text": "be good"}]);
    let _ = post_as(&model.url(), "s1", &body);
    let messages = json!([
        {"role": "user", "content": [{"type": "text", "text": "the question"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "bash", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "its output"}]},
            {"type": "text", "text": "a nudge"}]},
    ]);
    let mut second = body.clone();
    second["messages"] = messages;
    let _ = post_as(&model.url(), "s1", &second);

    let requests = model.requests();
    assert_eq!(requests[0].sequence, 1);
    assert_eq!(requests[0].path, "/v1/messages?beta=true");
    assert_eq!(requests[0].wire, "anthropic");
    assert_eq!(requests[0].header("x-claude-code-session-id"), Some("s1"));
    assert_eq!(requests[0].body, body);
    assert_eq!(requests[0].text(), "be good\nthe question");
    assert!(requests[0].is_fresh());
    assert!(!requests[1].is_fresh());
    assert_eq!(requests[1].user_texts(), ["the question", "a nudge"]);
    assert_eq!(requests[1].tool_results(), ["its output"]);
    assert_eq!(requests[1].messages()[1].role, Role::Assistant);
    assert_eq!(requests[1].messages()[1].tool_calls, ["bash"]);
}

#[test]
fn calls_that_ask_nothing_are_answered_and_kept_apart() {
    let model = model("conversations: []");
    let call = |call: &str| read(send(&model.url(), call, &[], &first("x")));
    assert_eq!(call("GET /").status, 200);
    assert_eq!(call("POST /v1/elsewhere").status, 404);
    let count = call("POST /v1/messages/count_tokens").json();
    assert!(count["input_tokens"].as_u64().unwrap() > 10, "{count}");
    assert!(model.requests().is_empty());
    let expected = [
        "GET /",
        "POST /v1/elsewhere",
        "POST /v1/messages/count_tokens",
    ];
    assert_eq!(model.other_calls(), expected);
}
