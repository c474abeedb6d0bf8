//! Writes Claude Code's stream-json, in the shapes that version 2.1.197 has.
//!
//! Each event goes out whole and at once, unless an action asks otherwise.

use std::io::Write;

use serde_json::{Value, json};

use super::VERSION;
use super::action::{FakeAgentUsage, ResultFields};

/// One session's events, and the sums that its results tell.
pub(super) struct Stream {
    model: String,
    session: String,
    count: u64,
    usage: FakeAgentUsage,
    turns: u32,
    messages: u64,
    cost: f64,
    last_said: String,
    results: u32,
}

impl Stream {
    pub(super) fn new(model: String) -> Self {
        let session = std::fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap_or_default();
        Self {
            model,
            session: session.trim().to_owned(),
            count: 0,
            usage: FakeAgentUsage::default(),
            turns: 1,
            messages: 0,
            cost: 0.0,
            last_said: String::new(),
            results: 0,
        }
    }

    /// The result of a run that was asked to stop, as a line.
    pub(super) fn aborted(&self) -> String {
        let event = json!({
            "type": "result", "subtype": "error_during_execution", "is_error": true,
            "num_turns": 1, "session_id": self.session, "total_cost_usd": 0.0, "usage": {},
            "modelUsage": {}, "permission_denials": [], "terminal_reason": "aborted_streaming",
            "errors": ["Request was aborted."], "uuid": "00000000-0000-4000-8000-ffffffffffff",
        });
        format!("{event}\n")
    }

    pub(super) fn session(&self) -> &str {
        &self.session
    }

    pub(super) fn has_result(&self) -> bool {
        self.results > 0
    }

    pub(super) fn set_usage(&mut self, usage: FakeAgentUsage) {
        self.usage = usage;
    }

    /// A reader that is gone is no reason to stop: a real agent goes on too.
    pub(super) fn raw(&self, bytes: &[u8]) {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    pub(super) fn send(&mut self, event: Value) {
        let line = self.line(event);
        self.raw(line.as_bytes());
    }

    /// An event as a line, with session and id.
    pub(super) fn line(&mut self, mut event: Value) -> String {
        self.count += 1;
        if let Some(fields) = event.as_object_mut() {
            fields
                .entry("session_id")
                .or_insert_with(|| self.session.clone().into());
            let id = format!("00000000-0000-4000-8000-{:012x}", self.count);
            fields.entry("uuid").or_insert(id.into());
        }
        format!("{event}\n")
    }

    pub(super) fn init(&mut self) {
        let cwd = std::env::current_dir().unwrap_or_default();
        let event = json!({
            "type": "system", "subtype": "init", "cwd": cwd, "session_id": self.session,
            "tools": ["Task", "Bash", "Edit", "Read", "Write"], "mcp_servers": [],
            "model": self.model, "permissionMode": "bypassPermissions", "slash_commands": [],
            "apiKeySource": "ANTHROPIC_API_KEY", "claude_code_version": VERSION,
            "output_style": "default", "agents": ["general-purpose"], "skills": [], "plugins": [],
        });
        self.send(event);
    }

    pub(super) fn say(&mut self, text: &str) {
        let event = self.said(text);
        self.send(event);
    }

    /// The event of a message, not sent yet.
    pub(super) fn said(&mut self, text: &str) -> Value {
        text.clone_into(&mut self.last_said);
        self.assistant(json!({"type": "text", "text": text}))
    }

    /// A tool's use; returns its id for [`Self::tool_result`].
    pub(super) fn tool_use(&mut self, name: &str, input: Value) -> String {
        let id = format!("toolu_{:024x}", self.count + 1);
        let event =
            self.assistant(json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        self.send(event);
        id
    }

    pub(super) fn tool_result(&mut self, id: &str, content: &str, failed: bool) {
        self.turns += 1;
        self.send(json!({
            "type": "user",
            "message": {"role": "user", "content": [{
                "tool_use_id": id, "type": "tool_result", "content": content, "is_error": failed,
            }]},
            "parent_tool_use_id": null,
            "timestamp": "2026-11-15T06:48:24.496Z",
        }));
    }

    /// A message of the client's own, by which it tells of a failed API call.
    pub(super) fn synthetic(&mut self, text: &str, error: &str) {
        text.clone_into(&mut self.last_said);
        self.send(json!({
            "type": "assistant",
            "message": {
                "id": format!("synthetic-{}", self.count), "type": "message", "role": "assistant",
                "model": "<synthetic>", "content": [{"type": "text", "text": text}],
                "stop_reason": "stop_sequence", "stop_sequence": "",
                "usage": {"input_tokens": 0, "output_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0},
            },
            "parent_tool_use_id": null, "error": error,
        }));
    }

    fn assistant(&mut self, block: Value) -> Value {
        self.messages += 1;
        self.cost += self.usage.cost;
        json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_{:024x}", self.messages), "type": "message", "role": "assistant",
                "model": self.model.trim_end_matches("[1m]"), "content": [block],
                "stop_reason": null, "stop_sequence": null,
                "usage": {
                    "input_tokens": self.usage.input,
                    "cache_creation_input_tokens": self.usage.cache_creation,
                    "cache_read_input_tokens": self.usage.cache_read,
                    "output_tokens": 1,
                },
                "context_management": null,
            },
            "parent_tool_use_id": null,
            "request_id": format!("req_{:020x}", self.messages),
        })
    }

    pub(super) fn result(&mut self, fields: &ResultFields) {
        let event = self.result_event(fields);
        self.send(event);
        self.results += 1;
    }

    /// The event of a result, not sent yet.
    pub(super) fn result_event(&mut self, fields: &ResultFields) -> Value {
        let subtype = fields.subtype.as_deref().unwrap_or("success");
        let cost = fields.cost.unwrap_or(self.cost);
        let (input, output) = (
            self.usage.input * self.messages,
            self.usage.output * self.messages,
        );
        let creation = self.usage.cache_creation * self.messages;
        let read = self.usage.cache_read * self.messages;
        let mut event = json!({
            "type": "result", "subtype": subtype, "is_error": fields.is_error,
            "api_error_status": fields.api_error_status, "duration_ms": 331, "duration_api_ms": 88,
            "num_turns": fields.num_turns.unwrap_or(self.turns),
            "stop_reason": fields.stop_reason.as_deref().unwrap_or("end_turn"),
            "session_id": self.session, "total_cost_usd": cost,
            "usage": {
                "input_tokens": input, "cache_creation_input_tokens": creation,
                "cache_read_input_tokens": read, "output_tokens": output,
                "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
                "service_tier": "standard",
            },
            "modelUsage": {self.model.as_str(): {
                "inputTokens": input, "outputTokens": output, "cacheReadInputTokens": read,
                "cacheCreationInputTokens": creation, "webSearchRequests": 0, "costUSD": cost,
                "contextWindow": self.usage.context_window, "maxOutputTokens": 64_000,
            }},
            "permission_denials": [],
        });
        match fields.terminal_reason.as_deref() {
            Some("") => {}
            reason => event["terminal_reason"] = reason.unwrap_or("completed").into(),
        }
        if subtype == "success" {
            event["result"] = fields
                .text
                .as_ref()
                .unwrap_or(&self.last_said)
                .as_str()
                .into();
        } else {
            event["errors"] = fields.errors.clone().into();
        }
        event
    }
}
