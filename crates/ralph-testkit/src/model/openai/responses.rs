//! OpenAI's Responses API, as Codex speaks it.

use serde_json::{Value, json};

use crate::model::scenario::{Stop, Usage, Warning};
use crate::model::wire::{
    Answer, ApiError, Block, CallKind, ErrorReply, Frames, Headers, HttpCall, Message,
    ParsedRequest, Role, Tool, Wire, merged, pieces,
};

pub(in crate::model) struct Responses;

impl Wire for Responses {
    fn name(&self) -> &'static str {
        "openai-responses"
    }

    fn kind_of(&self, method: &str, path: &str) -> Option<CallKind> {
        (method == "POST" && path == "/v1/responses").then_some(CallKind::Ask)
    }

    fn read(&self, call: &HttpCall) -> Result<ParsedRequest, String> {
        let body = &call.body;
        let input = body["input"].as_array().ok_or("input is required")?;
        let is_system = |item: &&Value| {
            item["type"] == "message"
                && matches!(item["role"].as_str(), Some("system" | "developer"))
        };
        let (system, rest): (Vec<&Value>, Vec<&Value>) = input.iter().partition(is_system);
        let instructions = body["instructions"].as_str().map(str::to_owned);
        let system = system.into_iter().flat_map(|m| texts_of(&m["content"]));
        let tools = body["tools"].as_array().into_iter().flatten();
        Ok(ParsedRequest {
            session: call.header("session-id").map(str::to_owned),
            model: body["model"].as_str().unwrap_or("scripted").to_owned(),
            streaming: body["stream"].as_bool().unwrap_or(false),
            system: instructions
                .into_iter()
                .chain(system)
                .collect::<Vec<_>>()
                .join("\n"),
            messages: merged(rest.into_iter().filter_map(message)),
            tools: tools.filter(|t| t["name"].is_string()).map(tool).collect(),
        })
    }

    fn token_count(&self, body: &Value) -> Value {
        super::token_count(body)
    }

    fn whole(&self, answer: &Answer) -> Value {
        let items = answer.blocks.iter().enumerate();
        let output: Vec<Value> = items.map(|(at, block)| item(answer, at, block)).collect();
        response(answer, output)
    }

    fn stream(&self, answer: &Answer) -> Frames {
        let mut out = Frames::default();
        let start = json!({"type": "response.created", "response": {
            "id": answer.id, "object": "response", "status": "in_progress",
            "model": answer.model, "output": [],
        }});
        out.frames.push(event(&start));
        out.mid_stream = 1;
        for (at, block) in answer.blocks.iter().enumerate() {
            stream_item(&mut out.frames, at, block, &item(answer, at, block));
            if at == 0 {
                // Its start, and of a text its first piece.
                out.mid_stream = 3.min(out.frames.len() - 1);
                out.after_block = out.frames.len();
            }
        }
        let whole = self.whole(answer);
        let kind = match answer.stop {
            Stop::MaxTokens | Stop::Refusal => "response.incomplete",
            Stop::EndTurn | Stop::ToolUse | Stop::StopSequence | Stop::PauseTurn => {
                "response.completed"
            }
        };
        out.frames
            .push(event(&json!({"type": kind, "response": whole})));
        out.after_block = out.after_block.max(out.mid_stream);
        out
    }

    fn error_event(&self, kind: &str) -> String {
        event(&json!({"type": "response.failed", "response": {
            "id": "resp_failed", "object": "response", "status": "failed",
            "error": {"code": kind, "message": "an error on the way"},
        }}))
    }

    fn error(&self, error: &ApiError) -> ErrorReply {
        super::error(error)
    }

    /// Returns no headers: Codex shows a subscription by headers that no test needs.
    fn warning_headers(&self, _: &Warning) -> Headers {
        Headers::new()
    }
}

fn message(item: &Value) -> Option<Message> {
    let of = |role| Message {
        role,
        texts: Vec::new(),
        tool_results: Vec::new(),
        tool_calls: Vec::new(),
    };
    match item["type"].as_str()? {
        "message" => {
            let role = match item["role"].as_str() {
                Some("assistant") => Role::Assistant,
                _ => Role::User,
            };
            Some(Message {
                texts: texts_of(&item["content"]),
                ..of(role)
            })
        }
        "function_call" | "custom_tool_call" => Some(Message {
            tool_calls: item["name"]
                .as_str()
                .map(str::to_owned)
                .into_iter()
                .collect(),
            ..of(Role::Assistant)
        }),
        "function_call_output" | "custom_tool_call_output" => Some(Message {
            tool_results: vec![texts_of(&item["output"]).join("\n")],
            ..of(Role::User)
        }),
        _ => None,
    }
}

fn tool(tool: &Value) -> Tool {
    Tool {
        name: tool["name"].as_str().unwrap_or_default().to_owned(),
        schema: tool["parameters"].clone(),
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

fn item(answer: &Answer, at: usize, block: &Block) -> Value {
    let id = &answer.id;
    match block {
        Block::Thinking(text) => json!({
            "type": "reasoning", "id": format!("rs_{id}_{at}"),
            "summary": [{"type": "summary_text", "text": text}],
        }),
        Block::Text(text) => json!({
            "type": "message", "id": format!("{id}_{at}"), "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }),
        Block::Tool {
            id: call,
            name,
            input,
        } => json!({
            "type": "function_call", "id": format!("fc_{id}_{at}"), "call_id": call,
            "name": name, "arguments": input.to_string(), "status": "completed",
        }),
    }
}

/// The start, the pieces and the end of an item.
fn stream_item(frames: &mut Vec<String>, at: usize, block: &Block, whole: &Value) {
    let mut begun = whole.clone();
    let (delta, text) = match block {
        Block::Thinking(text) => {
            begun["summary"] = json!([]);
            ("response.reasoning_summary_text.delta", text.clone())
        }
        Block::Text(text) => {
            begun["content"] = json!([]);
            ("response.output_text.delta", text.clone())
        }
        Block::Tool { input, .. } => {
            begun["arguments"] = json!("");
            ("response.function_call_arguments.delta", input.to_string())
        }
    };
    frames.push(event(
        &json!({"type": "response.output_item.added", "output_index": at, "item": begun}),
    ));
    for piece in pieces(&text) {
        frames.push(event(&json!({
            "type": delta, "item_id": whole["id"], "output_index": at, "content_index": 0,
            "summary_index": 0, "delta": piece,
        })));
    }
    frames.push(event(
        &json!({"type": "response.output_item.done", "output_index": at, "item": whole}),
    ));
}

fn response(answer: &Answer, output: Vec<Value>) -> Value {
    let reason = match answer.stop {
        Stop::MaxTokens => Some("max_output_tokens"),
        Stop::Refusal => Some("content_filter"),
        Stop::EndTurn | Stop::ToolUse | Stop::StopSequence | Stop::PauseTurn => None,
    };
    json!({
        "id": answer.id, "object": "response", "model": answer.model, "output": output,
        "status": if reason.is_some() { "incomplete" } else { "completed" },
        "incomplete_details": reason.map(|reason| json!({"reason": reason})),
        "usage": usage(answer.usage),
    })
}

/// The input's tokens contain what was read from a cache and written to it.
fn usage(usage: Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input,
        "input_tokens_details": {
            "cached_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

fn event(data: &Value) -> String {
    let kind = data["type"].as_str().unwrap_or("message");
    format!("event: {kind}\ndata: {data}\n\n")
}
