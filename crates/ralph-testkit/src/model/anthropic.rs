//! The Anthropic Messages API, as Claude Code and Pi speak it. Wire shapes stay in here; what is
//! answered is decided elsewhere.

use serde_json::{Value, json};

use super::fault::LimitKind;
use super::scenario::{Stop, Usage, Warning};
use super::wire::{
    Answer, ApiError, Block, CallKind, ErrorReply, Frames, Headers, HttpCall, Message,
    ParsedRequest, Role, Tool, Wire, pieces,
};

pub(super) struct Anthropic;

impl Wire for Anthropic {
    fn name(&self) -> &'static str {
        "anthropic"
    }

    fn kind_of(&self, method: &str, path: &str) -> Option<CallKind> {
        match (method, path) {
            ("POST", "/v1/messages") => Some(CallKind::Ask),
            ("POST", "/v1/messages/count_tokens") => Some(CallKind::CountTokens),
            _ => None,
        }
    }

    fn read(&self, call: &HttpCall) -> Result<ParsedRequest, String> {
        let body = &call.body;
        let messages = body["messages"]
            .as_array()
            .ok_or("messages: field required")?;
        let tools = body["tools"].as_array().into_iter().flatten();
        Ok(ParsedRequest {
            // Claude Code names its session; Pi does not.
            session: call.header("x-claude-code-session-id").map(str::to_owned),
            model: body["model"].as_str().unwrap_or("scripted").to_owned(),
            streaming: body["stream"].as_bool().unwrap_or(false),
            system: texts_of(&body["system"]).join("\n"),
            messages: messages.iter().map(message).collect(),
            tools: tools.map(tool).collect(),
        })
    }

    fn token_count(&self, body: &Value) -> Value {
        // Four bytes a token: near enough for a client that wants a number.
        json!({"input_tokens": body.to_string().len() / 4})
    }

    fn whole(&self, answer: &Answer) -> Value {
        let content: Vec<Value> = answer.blocks.iter().map(whole_block).collect();
        json!({
            "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
            "content": content, "stop_reason": stop_name(answer.stop), "stop_sequence": null,
            "usage": usage(answer.usage, answer.usage.output),
        })
    }

    fn stream(&self, answer: &Answer) -> Frames {
        let mut out = Frames::default();
        let start = json!({"type": "message_start", "message": {
            "id": answer.id, "type": "message", "role": "assistant", "model": answer.model,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": usage(answer.usage, 1),
        }});
        out.frames.push(event(&start));
        out.frames.push(event(&json!({"type": "ping"})));
        out.mid_stream = out.frames.len();
        for (index, block) in answer.blocks.iter().enumerate() {
            stream_block(&mut out.frames, index, block);
            if index == 0 {
                // The frames of the block, without its last pieces and its end.
                out.mid_stream += 2;
                out.after_block = out.frames.len();
            }
        }
        let delta = json!({
            "type": "message_delta",
            "delta": {"stop_reason": stop_name(answer.stop), "stop_sequence": null},
            "usage": usage(answer.usage, answer.usage.output),
        });
        out.frames.push(event(&delta));
        out.frames.push(event(&json!({"type": "message_stop"})));
        out.after_block = out.after_block.max(out.mid_stream);
        out
    }

    fn error_event(&self, kind: &str) -> String {
        let message = message_of_kind(kind);
        event(&json!({"type": "error", "error": {"type": kind, "message": message}}))
    }

    fn error(&self, error: &ApiError) -> ErrorReply {
        match error {
            ApiError::Status {
                status,
                retry_after,
                message,
            } => {
                let kind = kind_of_status(*status);
                let message = message.as_deref().unwrap_or(message_of_kind(kind));
                let retry = |seconds: &u64| ("retry-after".to_owned(), seconds.to_string());
                ErrorReply {
                    status: *status,
                    headers: retry_after.iter().map(retry).collect(),
                    body: error_body(kind, message),
                }
            }
            ApiError::UsageLimit(limit) => ErrorReply {
                status: 429,
                headers: limit_headers("rejected", limit.kind, limit.resets_at, 1.0),
                body: error_body("rate_limit_error", "You have used up your limit"),
            },
            ApiError::Overflow => ErrorReply {
                status: 400,
                headers: Headers::new(),
                body: error_body(
                    "invalid_request_error",
                    "prompt is too long: 205000 tokens > 200000 maximum",
                ),
            },
        }
    }

    fn warning_headers(&self, warning: &Warning) -> Headers {
        limit_headers(
            "allowed_warning",
            warning.kind,
            warning.resets_at,
            warning.utilization,
        )
    }
}

fn message(message: &Value) -> Message {
    let content = &message["content"];
    let blocks = || content.as_array().into_iter().flatten();
    let of_type = move |kind: &'static str| blocks().filter(move |block| block["type"] == kind);
    Message {
        role: match message["role"].as_str() {
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            _ => Role::User,
        },
        texts: texts_of(content),
        tool_results: of_type("tool_result")
            .map(|block| texts_of(&block["content"]).join("\n"))
            .collect(),
        tool_calls: of_type("tool_use")
            .filter_map(|block| block["name"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn tool(tool: &Value) -> Tool {
    Tool {
        name: tool["name"].as_str().unwrap_or_default().to_owned(),
        schema: tool["input_schema"].clone(),
    }
}

/// The texts of a content, which is a string or a list of blocks.
fn texts_of(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => blocks
            .iter()
            .filter(|block| block["type"] == "text")
            .filter_map(|block| block["text"].as_str().map(str::to_owned))
            .collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    }
}

fn event(data: &Value) -> String {
    let kind = data["type"].as_str().unwrap_or("message");
    format!("event: {kind}\ndata: {data}\n\n")
}

fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
    })
}

fn whole_block(block: &Block) -> Value {
    match block {
        Block::Thinking(text) => {
            json!({"type": "thinking", "thinking": text, "signature": "scripted"})
        }
        Block::Text(text) => json!({"type": "text", "text": text}),
        Block::Tool { id, name, input } => {
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
    }
}

/// The start, the pieces and the end of a block.
fn stream_block(frames: &mut Vec<String>, index: usize, block: &Block) {
    let (start, deltas) = match block {
        Block::Thinking(text) => {
            let start = json!({"type": "thinking", "thinking": "", "signature": ""});
            let piece = |piece: &str| json!({"type": "thinking_delta", "thinking": piece});
            let mut deltas: Vec<Value> = pieces(text).into_iter().map(piece).collect();
            deltas.push(json!({"type": "signature_delta", "signature": "scripted"}));
            (start, deltas)
        }
        Block::Text(text) => {
            let piece = |piece: &str| json!({"type": "text_delta", "text": piece});
            let deltas = pieces(text).into_iter().map(piece).collect();
            (json!({"type": "text", "text": ""}), deltas)
        }
        Block::Tool { id, name, input } => {
            let start = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            let piece = |piece: &str| json!({"type": "input_json_delta", "partial_json": piece});
            let deltas = pieces(&input.to_string()).into_iter().map(piece).collect();
            (start, deltas)
        }
    };
    frames.push(event(
        &json!({"type": "content_block_start", "index": index, "content_block": start}),
    ));
    for delta in deltas {
        frames.push(event(
            &json!({"type": "content_block_delta", "index": index, "delta": delta}),
        ));
    }
    frames.push(event(
        &json!({"type": "content_block_stop", "index": index}),
    ));
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::EndTurn => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::StopSequence => "stop_sequence",
        Stop::PauseTurn => "pause_turn",
        Stop::Refusal => "refusal",
    }
}

fn kind_of_status(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        529 => "overloaded_error",
        400..=499 => "invalid_request_error",
        _ => "api_error",
    }
}

fn message_of_kind(kind: &str) -> &'static str {
    match kind {
        "authentication_error" => "invalid x-api-key",
        "rate_limit_error" => "This request would exceed your rate limit",
        "overloaded_error" => "Overloaded",
        "api_error" => "Internal server error",
        _ => "refused by the scenario",
    }
}

fn error_body(kind: &str, message: &str) -> Value {
    json!({
        "type": "error",
        "error": {"type": kind, "message": message},
        "request_id": "req_scripted",
    })
}

/// Returns what a subscription's client reads off an answer.
fn limit_headers(status: &str, kind: LimitKind, resets_at: u64, utilization: f64) -> Headers {
    let short = match kind {
        LimitKind::FiveHour => "5h",
        LimitKind::SevenDay => "7d",
    };
    let named = [
        ("status".to_owned(), status.to_owned()),
        ("reset".to_owned(), resets_at.to_string()),
        ("representative-claim".to_owned(), kind.name().to_owned()),
        (format!("{short}-status"), status.to_owned()),
        (format!("{short}-reset"), resets_at.to_string()),
        (format!("{short}-utilization"), utilization.to_string()),
        (format!("{short}-surpassed-threshold"), "0.9".to_owned()),
    ];
    let whole = |(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value);
    named.into_iter().map(whole).collect()
}
