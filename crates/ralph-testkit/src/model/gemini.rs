//! The Gemini API, as Gemini CLI speaks it. Wire shapes stay in here; what is answered is decided
//! elsewhere.

use serde_json::{Value, json};

use super::scenario::{Stop, Usage, Warning};
use super::wire::{
    Answer, ApiError, Block, CallKind, ErrorReply, Frames, Headers, HttpCall, Message,
    ParsedRequest, Role, Tool, Wire, merged, pieces,
};

pub(super) struct Gemini;

const MODELS: &str = "/v1beta/models/";
const STREAM: &str = ":streamGenerateContent";

impl Wire for Gemini {
    fn name(&self) -> &'static str {
        "gemini"
    }

    fn kind_of(&self, method: &str, path: &str) -> Option<CallKind> {
        let (_, what) = path.strip_prefix(MODELS)?.split_once(':')?;
        match (method, what) {
            ("POST", "streamGenerateContent" | "generateContent") => Some(CallKind::Ask),
            ("POST", "countTokens") => Some(CallKind::CountTokens),
            _ => None,
        }
    }

    fn read(&self, call: &HttpCall) -> Result<ParsedRequest, String> {
        let body = &call.body;
        let contents = body["contents"].as_array().ok_or("contents is required")?;
        let model = call.path.strip_prefix(MODELS).unwrap_or_default();
        let tools = body["tools"].as_array().into_iter().flatten();
        let functions =
            tools.flat_map(|t| t["functionDeclarations"].as_array().into_iter().flatten());
        Ok(ParsedRequest {
            // It names none.
            session: None,
            model: model.split(':').next().unwrap_or_default().to_owned(),
            streaming: call.path.contains(STREAM),
            system: texts_of(&body["systemInstruction"]).join("\n"),
            messages: merged(contents.iter().map(message)),
            tools: functions.map(tool).collect(),
        })
    }

    fn token_count(&self, body: &Value) -> Value {
        // Four bytes a token: near enough for a client that wants a number.
        json!({"totalTokens": body.to_string().len() / 4})
    }

    fn whole(&self, answer: &Answer) -> Value {
        let parts = answer.blocks.iter().map(|block| part(block, None));
        chunk(answer, parts.collect(), true)
    }

    fn stream(&self, answer: &Answer) -> Frames {
        let mut out = Frames::default();
        for (index, block) in answer.blocks.iter().enumerate() {
            let parts: Vec<Value> = match block {
                Block::Thinking(text) | Block::Text(text) => pieces(text)
                    .into_iter()
                    .map(|piece| part(block, Some(piece)))
                    .collect(),
                // A call comes in one piece.
                Block::Tool { .. } => vec![part(block, None)],
            };
            let frames = parts
                .into_iter()
                .map(|p| event(&chunk(answer, vec![p], false)));
            out.frames.extend(frames);
            if index == 0 {
                out.mid_stream = 1;
                out.after_block = out.frames.len();
            }
        }
        out.frames.push(event(&chunk(answer, Vec::new(), true)));
        out
    }

    fn error_event(&self, kind: &str) -> String {
        event(&error_body(500, kind, "an error on the way"))
    }

    fn error(&self, error: &ApiError) -> ErrorReply {
        let reply = |status: u16, body: Value| ErrorReply {
            status,
            headers: Headers::new(),
            body,
        };
        match error {
            ApiError::Status {
                status,
                retry_after,
                message,
            } => {
                let (kind, usual) = kind_of_status(*status);
                let message = message.as_deref().unwrap_or(usual);
                let mut body = error_body(*status, kind, message);
                if let Some(seconds) = retry_after {
                    body["error"]["details"] = json!([{
                        "@type": "type.googleapis.com/google.rpc.RetryInfo",
                        "retryDelay": format!("{seconds}s"),
                    }]);
                }
                reply(*status, body)
            }
            // The quota of a day: a client that reads this does not ask again.
            ApiError::UsageLimit(_) => {
                let message = "You exceeded your current quota";
                let mut body = error_body(429, "RESOURCE_EXHAUSTED", message);
                body["error"]["details"] = json!([{
                    "@type": "type.googleapis.com/google.rpc.QuotaFailure",
                    "violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel"}],
                }]);
                reply(429, body)
            }
            ApiError::Overflow => {
                let message = "The input token count (1205000) exceeds the maximum number of \
                               tokens allowed (1048576).";
                reply(400, error_body(400, "INVALID_ARGUMENT", message))
            }
        }
    }

    /// It knows no subscription.
    fn warning_headers(&self, _: &Warning) -> Headers {
        Headers::new()
    }
}

fn message(content: &Value) -> Message {
    let parts = || content["parts"].as_array().into_iter().flatten();
    Message {
        role: match content["role"].as_str() {
            Some("model") => Role::Assistant,
            _ => Role::User,
        },
        texts: texts_of(content),
        tool_results: parts()
            .map(|part| &part["functionResponse"]["response"])
            .filter(|response| !response.is_null())
            .map(|response| match response["output"].as_str() {
                Some(output) => output.to_owned(),
                None => response.to_string(),
            })
            .collect(),
        tool_calls: parts()
            .filter_map(|part| part["functionCall"]["name"].as_str().map(str::to_owned))
            .collect(),
    }
}

fn tool(function: &Value) -> Tool {
    let schema = match &function["parametersJsonSchema"] {
        Value::Null => &function["parameters"],
        schema => schema,
    };
    Tool {
        name: function["name"].as_str().unwrap_or_default().to_owned(),
        schema: schema.clone(),
    }
}

fn texts_of(content: &Value) -> Vec<String> {
    let parts = content["parts"].as_array().into_iter().flatten();
    parts
        .filter_map(|part| part["text"].as_str().map(str::to_owned))
        .collect()
}

/// A block, or a piece of its text.
fn part(block: &Block, piece: Option<&str>) -> Value {
    match block {
        Block::Thinking(text) => json!({"text": piece.unwrap_or(text), "thought": true}),
        Block::Text(text) => json!({"text": piece.unwrap_or(text)}),
        Block::Tool { id, name, input } => {
            json!({"functionCall": {"id": id, "name": name, "args": input}})
        }
    }
}

fn chunk(answer: &Answer, parts: Vec<Value>, is_last: bool) -> Value {
    let mut candidate = json!({"index": 0, "content": {"role": "model", "parts": parts}});
    let mut chunk = json!({"responseId": answer.id, "modelVersion": answer.model});
    if is_last {
        candidate["finishReason"] = json!(stop_name(answer.stop));
        chunk["usageMetadata"] = usage(answer.usage);
    }
    chunk["candidates"] = json!([candidate]);
    chunk
}

/// The prompt's tokens contain what was cached; there is no word for what was written to a cache.
fn usage(usage: Usage) -> Value {
    let prompt = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "promptTokenCount": prompt, "cachedContentTokenCount": usage.cache_read,
        "candidatesTokenCount": usage.output, "totalTokenCount": prompt + usage.output,
    })
}

fn stop_name(stop: Stop) -> &'static str {
    match stop {
        // A call of a tool is an end like another.
        Stop::EndTurn | Stop::ToolUse | Stop::StopSequence | Stop::PauseTurn => "STOP",
        Stop::MaxTokens => "MAX_TOKENS",
        Stop::Refusal => "SAFETY",
    }
}

fn kind_of_status(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("UNAUTHENTICATED", "API key not valid"),
        403 => ("PERMISSION_DENIED", "refused by the scenario"),
        404 => ("NOT_FOUND", "refused by the scenario"),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted"),
        400..=499 => ("INVALID_ARGUMENT", "refused by the scenario"),
        503 => ("UNAVAILABLE", "The model is overloaded"),
        _ => ("INTERNAL", "An internal error has occurred"),
    }
}

fn error_body(status: u16, kind: &str, message: &str) -> Value {
    json!({"error": {"code": status, "message": message, "status": kind}})
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
