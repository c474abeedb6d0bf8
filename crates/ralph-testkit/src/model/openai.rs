//! The two APIs of OpenAI, and what they share: errors. Wire shapes stay in here; what is answered is
//! decided elsewhere.

mod chat;
mod responses;

pub(super) use chat::Chat;
pub(super) use responses::Responses;

use serde_json::{Value, json};

use super::wire::{ApiError, ErrorReply, Headers};

fn error(error: &ApiError) -> ErrorReply {
    match error {
        ApiError::Status {
            status,
            retry_after,
            message,
        } => {
            let (kind, usual) = kind_of_status(*status);
            let message = message.as_deref().unwrap_or(usual);
            let retry = |seconds: &u64| ("retry-after".to_owned(), seconds.to_string());
            ErrorReply {
                status: *status,
                headers: retry_after.iter().map(retry).collect(),
                body: error_body(kind, Value::Null, message),
            }
        }
        // As a subscription says it: Codex reads the type and the time.
        ApiError::UsageLimit(limit) => ErrorReply {
            status: 429,
            headers: Headers::new(),
            body: json!({"error": {
                "type": "usage_limit_reached", "message": "The usage limit has been reached",
                "plan_type": "plus", "resets_at": limit.resets_at,
            }}),
        },
        ApiError::Overflow => ErrorReply {
            status: 400,
            headers: Headers::new(),
            body: error_body(
                "invalid_request_error",
                json!("context_length_exceeded"),
                "Your input exceeds the context window of this model.",
            ),
        },
    }
}

fn error_body(kind: &str, code: Value, message: &str) -> Value {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}})
}

fn kind_of_status(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "Incorrect API key provided"),
        429 => ("rate_limit_error", "Rate limit reached for requests"),
        400..=499 => ("invalid_request_error", "refused by the scenario"),
        _ => (
            "server_error",
            "The server had an error while processing your request",
        ),
    }
}

/// Four bytes a token: near enough for a client that wants a number.
fn token_count(body: &Value) -> Value {
    json!({"input_tokens": body.to_string().len() / 4})
}
