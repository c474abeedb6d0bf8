//! The other APIs, as a plain client sees them: an answer in pieces, its figures, and a refusal.

use ralph_testkit::model::{Scenario, ScriptedModel};
use serde_json::{Value, json};

use crate::client::{End, HttpResponse, read, send};

/// An API: where it is asked, and its words for two messages and a shell.
struct Api {
    call: &'static str,
    body: fn(&[&str]) -> Value,
}

const RESPONSES: Api = Api {
    call: "POST /v1/responses",
    body: |said| {
        let mut input = vec![
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "be good"}]}),
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "context"}]}),
            json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]}),
        ];
        for text in said {
            input.extend([
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}),
                json!({"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"}),
                json!({"type": "function_call_output", "call_id": "c", "output": "ran"}),
            ]);
        }
        json!({
            "model": "m", "stream": true, "input": input,
            "tools": [{"type": "function", "name": "shell", "parameters": {"properties": {"command": {"type": "string"}}}}],
        })
    },
};

const CHAT: Api = Api {
    call: "POST /v1/chat/completions",
    body: |said| {
        let mut messages = vec![
            json!({"role": "system", "content": "be good"}),
            json!({"role": "user", "content": "context"}),
            json!({"role": "user", "content": [{"type": "text", "text": "go"}]}),
        ];
        for text in said {
            messages.extend([
                json!({"role": "assistant", "content": text, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "shell", "arguments": "{}"}}]}),
                json!({"role": "tool", "tool_call_id": "c", "content": "ran"}),
            ]);
        }
        json!({
            "model": "m", "stream": true, "messages": messages,
            "tools": [{"type": "function", "function": {"name": "shell", "parameters": {"properties": {"command": {"type": "string"}}}}}],
        })
    },
};

const GEMINI: Api = Api {
    call: "POST /v1beta/models/m:streamGenerateContent?alt=sse",
    body: |said| {
        let mut contents =
            vec![json!({"role": "user", "parts": [{"text": "context"}, {"text": "go"}]})];
        for text in said {
            contents.extend([
                json!({"role": "model", "parts": [{"text": text}, {"functionCall": {"name": "shell", "args": {}}}]}),
                json!({"role": "user", "parts": [{"functionResponse": {"name": "shell", "response": {"output": "ran"}}}]}),
            ]);
        }
        json!({
            "contents": contents, "systemInstruction": {"parts": [{"text": "be good"}]},
            "tools": [{"functionDeclarations": [{"name": "shell", "parametersJsonSchema": {"properties": {"command": {"type": "string"}}}}]}],
        })
    },
};

const SCRIPT: &str = "
conversations:
  - when: go
    turns:
      - say: I begin.
        tools: [{bash: make}]
        usage: {input: 100, output: 20, cache_read: 30, cache_write: 4}
      - say: Done.
        faults: [{status: 429, retry_after: 7}, {status: 401}, {status: 500}, {cut: mid_stream}]
";

impl Api {
    fn ask(&self, model: &ScriptedModel, said: &[&str]) -> HttpResponse {
        read(send(&model.url(), self.call, &[], &(self.body)(said)))
    }
}

fn model() -> ScriptedModel {
    ScriptedModel::start(Scenario::parse(SCRIPT).unwrap())
}

/// The data of the events, without the word that ends some streams.
fn events(got: &HttpResponse) -> Vec<Value> {
    let data = got.body.lines().filter_map(|l| l.strip_prefix("data: "));
    data.filter(|data| *data != "[DONE]")
        .map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

#[test]
fn responses_come_as_items_with_all_input_in_one_figure() {
    let model = model();
    let got = RESPONSES.ask(&model, &[]);
    let kinds = got.event_types();
    assert_eq!(kinds.first().map(String::as_str), Some("response.created"));
    let done: Vec<Value> = events(&got)
        .into_iter()
        .filter(|e| e["type"] == "response.output_item.done")
        .map(|e| e["item"].clone())
        .collect();
    assert_eq!(done[0]["content"][0]["text"], "I begin.");
    assert_eq!(done[1]["name"], "shell");
    assert_eq!(done[1]["arguments"], "{\"command\":\"make\"}");
    let last = events(&got).pop().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert_eq!(
        last["response"]["usage"],
        json!({
            "input_tokens": 134, "output_tokens": 20, "total_tokens": 154,
            "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 4},
            "output_tokens_details": {"reasoning_tokens": 0},
        })
    );
}

#[test]
fn chat_completions_come_as_chunks_with_their_figures_last() {
    let model = model();
    let got = CHAT.ask(&model, &[]);
    assert!(got.body.ends_with("data: [DONE]\n\n"), "{}", got.body);
    let chunks = events(&got);
    let part = |pointer: &str| -> String {
        let parts = chunks.iter().filter_map(|c| c.pointer(pointer)?.as_str());
        parts.collect()
    };
    assert_eq!(part("/choices/0/delta/content"), "I begin.");
    assert_eq!(part("/choices/0/delta/tool_calls/0/function/name"), "shell");
    assert_eq!(
        part("/choices/0/delta/tool_calls/0/function/arguments"),
        "{\"command\":\"make\"}"
    );
    assert_eq!(part("/choices/0/finish_reason"), "tool_calls");
    let usage = &chunks.last().unwrap()["usage"];
    assert_eq!(usage["prompt_tokens"], 134);
    assert_eq!(usage["completion_tokens"], 20);
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 30);
}

#[test]
fn gemini_comes_as_parts_with_its_figures_last() {
    let model = model();
    let got = GEMINI.ask(&model, &[]);
    let chunks = events(&got);
    let parts: Vec<&Value> = chunks
        .iter()
        .flat_map(|c| c["candidates"][0]["content"]["parts"].as_array().unwrap())
        .collect();
    let text: String = parts.iter().filter_map(|p| p["text"].as_str()).collect();
    assert_eq!(text, "I begin.");
    let call = &parts.last().unwrap()["functionCall"];
    assert_eq!(
        (&call["name"], &call["args"]),
        (&json!("shell"), &json!({"command": "make"}))
    );
    let last = chunks.last().unwrap();
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(
        last["usageMetadata"],
        json!({
            "promptTokenCount": 134, "cachedContentTokenCount": 30,
            "candidatesTokenCount": 20, "totalTokenCount": 154,
        })
    );
}

#[test]
fn each_request_is_read_as_one_conversation_whatever_its_items() {
    for api in [RESPONSES, CHAT, GEMINI] {
        let model = model();
        let _ = api.ask(&model, &[]);
        let _ = api.ask(&model, &["I begin."]);
        let requests = model.requests();
        assert!(
            requests[0].is_fresh() && !requests[1].is_fresh(),
            "{}",
            api.call
        );
        assert_eq!(requests[0].model(), "m");
        assert_eq!(requests[0].system(), "be good");
        assert_eq!(requests[0].user_texts(), ["context", "go"]);
        assert_eq!(requests[1].tool_results(), ["ran"]);
        assert_eq!(requests[1].messages()[1].tool_calls, ["shell"]);
        let runs: Vec<_> = requests
            .iter()
            .map(|r| (r.answered.run, r.answered.turn))
            .collect();
        assert_eq!(runs, [(Some(1), 0), (Some(1), 1)], "{}", api.call);
    }
}

#[test]
fn a_refusal_is_in_the_words_of_its_api_and_the_answer_comes_after_it() {
    for api in [RESPONSES, CHAT, GEMINI] {
        let model = model();
        let _ = api.ask(&model, &[]);
        let wait = api.ask(&model, &["I begin."]);
        assert_eq!(wait.status, 429);
        let told =
            wait.head.contains("retry-after: 7") || wait.body.contains("\"retryDelay\":\"7s\"");
        assert!(told, "{wait:?}");
        let refused = api.ask(&model, &["I begin."]);
        assert_eq!(refused.status, 401);
        let message = refused.json()["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(message.to_lowercase().contains("api key"), "{message}");
        assert_eq!(api.ask(&model, &["I begin."]).status, 500);
        let cut = api.ask(&model, &["I begin."]);
        assert_eq!((cut.status, &cut.end), (200, &End::Cut));
        assert!(
            !cut.body.is_empty() && !cut.body.contains("ne."),
            "{}",
            cut.body
        );
        let whole = api.ask(&model, &["I begin."]);
        assert_eq!((whole.status, &whole.end), (200, &End::Whole));
    }
}
