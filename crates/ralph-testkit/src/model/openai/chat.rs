//! OpenAI's chat completions, as opencode speaks them to any provider that calls itself compatible.

use serde_json::{Value, json};

use crate::model::scenario::{Stop, Usage, Warning};
use crate::model::wire::{
    Answer, ApiError, Block, CallKind, ErrorReply, Frames, Headers, HttpCall, Message,
    ParsedRequest, Role, Tool, Wire, merged, pieces,
};

pub(in crate::model) struct Chat;

impl Wire for Chat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn kind_of(&self, method: &str, path: &str) -> Option<CallKind> {
        (method == "POST" && path == "/v1/chat/completions").then_some(CallKind::Ask)
    }

    fn read(&self, call: &HttpCall) -> Result<ParsedRequest, String> {
        let body = &call.body;
        let all = body["messages"].as_array().ok_or("messages is required")?;
        let (system, rest): (Vec<&Value>, Vec<&Value>) = all
            .iter()
            .partition(|message| matches!(message["role"].as_str(), Some("system" | "developer")));
        let system = system.into_iter().flat_map(|m| texts_of(&m["content"]));
        let tools = body["tools"].as_array().into_iter().flatten();
        Ok(ParsedRequest {
            session: call.header("x-session-id").map(str::to_owned),
            model: body["model"].as_str().unwrap_or("scripted").to_owned(),
            streaming: body["stream"].as_bool().unwrap_or(false),
            system: system.collect::<Vec<_>>().join("\n"),
            messages: merged(rest.into_iter().map(message)),
            tools: tools.map(tool).collect(),
        })
    }

    fn token_count(&self, body: &Value) -> Value {
        super::token_count(body)
    }

    fn whole(&self, answer: &Answer) -> Value {
        let mut said = json!({"role": "assistant", "content": null});
        let mut calls = Vec::new();
        for block in &answer.blocks {
            match block {
                Block::Thinking(text) => said["reasoning_content"] = json!(text),
                Block::Text(text) => said["content"] = json!(text),
                Block::Tool { id, name, input } => calls.push(json!({
                    "id": id, "type": "function",
                    "function": {"name": name, "arguments": input.to_string()},
                })),
            }
        }
        if !calls.is_empty() {
            said["tool_calls"] = json!(calls);
        }
        json!({
            "id": answer.id, "object": "chat.completion", "created": 0, "model": answer.model,
            "choices": [{"index": 0, "message": said, "finish_reason": stop_name(answer.stop)}],
            "usage": usage(answer.usage),
        })
    }

    fn stream(&self, answer: &Answer) -> Frames {
        let chunk = |delta: Value, finish: Value| {
            event(&json!({
                "id": answer.id, "object": "chat.completion.chunk", "created": 0,
                "model": answer.model,
                "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }))
        };
        let mut out = Frames::default();
        let start = json!({"role": "assistant", "content": ""});
        out.frames.push(chunk(start, Value::Null));
        out.mid_stream = 1;
        let mut calls = 0;
        for (index, block) in answer.blocks.iter().enumerate() {
            let deltas = deltas(block, calls);
            calls += usize::from(matches!(block, Block::Tool { .. }));
            out.frames
                .extend(deltas.into_iter().map(|delta| chunk(delta, Value::Null)));
            if index == 0 {
                out.mid_stream = 2;
                out.after_block = out.frames.len();
            }
        }
        out.frames
            .push(chunk(json!({}), json!(stop_name(answer.stop))));
        out.frames.push(event(&json!({
            "id": answer.id, "object": "chat.completion.chunk", "created": 0,
            "model": answer.model, "choices": [], "usage": usage(answer.usage),
        })));
        out.frames.push("data: [DONE]\n\n".to_owned());
        out.mid_stream = out.mid_stream.min(out.frames.len());
        out.after_block = out.after_block.max(out.mid_stream);
        out
    }

    fn error_event(&self, kind: &str) -> String {
        event(&super::error_body(kind, Value::Null, "an error on the way"))
    }

    fn error(&self, error: &ApiError) -> ErrorReply {
        super::error(error)
    }

    /// These clients know no subscription.
    fn warning_headers(&self, _: &Warning) -> Headers {
        Headers::new()
    }
}

fn message(message: &Value) -> Message {
    let texts = texts_of(&message["content"]);
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let is_tool = message["role"] == "tool";
    let (texts, tool_results) = if is_tool {
        (Vec::new(), vec![texts.join("\n")])
    } else {
        (texts, Vec::new())
    };
    Message {
        role: match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            _ => Role::User,
        },
        texts,
        tool_results,
        tool_calls: calls
            .filter_map(|call| call["function"]["name"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn tool(tool: &Value) -> Tool {
    let function = &tool["function"];
    Tool {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        schema: function["parameters"].clone(),
    }
}

/// The texts of a content, which is a string or a list of parts.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

/// A block in pieces; `call` is the number of the tool call, if it is one.
fn deltas(block: &Block, call: usize) -> Vec<Value> {
    match block {
        Block::Thinking(text) => pieces(text)
            .into_iter()
            .map(|piece| json!({"reasoning_content": piece}))
            .collect(),
        Block::Text(text) => pieces(text)
            .into_iter()
            .map(|piece| json!({"content": piece}))
            .collect(),
        Block::Tool { id, name, input } => {
            let start = json!({"tool_calls": [{
                "index": call, "id": id, "type": "function",
                "function": {"name": name, "arguments": ""},
            }]});
            let piece = |piece: &str| json!({"tool_calls": [{"index": call, "function": {"arguments": piece}}]});
            let arguments = input.to_string();
            let rest = pieces(&arguments).into_iter().map(piece);
            std::iter::once(start).chain(rest).collect()
        }
    }
}

/// The prompt's tokens contain what was cached; there is no word for what was written to a cache.
fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": prompt, "completion_tokens": usage.output,
        "total_tokens": prompt + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn | Stop::StopSequence | Stop::PauseTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens => "length",
        Stop::Refusal => "content_filter",
    }
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
