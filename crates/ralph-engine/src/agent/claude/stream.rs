//! Reads Claude Code's stream-json into events, and writes to it what a running agent can be told.
//!
//! Unknown fields and types are fine, and no field can spoil its event: what is of another kind than it
//! should be counts as missing (`fields`).

mod ending;
mod interleaved;
mod usage;

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentEvent, AgentResult, NudgeState},
    allowlist::Allowlist,
    economics::ModelCall,
};
use serde_json::json;

use crate::{
    agent::{
        Conclusion, Dialect,
        fields::{count, moment, number, objects, said_texts, text_of, word},
        json::Json,
        jsonl::{capped, notice, other, to_line, tool_called, tool_done},
    },
    process::Ended,
};
use ending::{ApiFailures, ClaudeResult};
use interleaved::{InterleavedLines, LinePart};
use usage::ClaudeUsage;

/// The last block of a prompt, and of a message to a running agent.
const BEGIN: &str = "Begin now.";
const HEED: &str = "Take this into account from now on.";

#[derive(Default)]
pub(super) struct ClaudeStream {
    session: Option<String>,
    /// The session of an event before any `init`. A start that fails ends with a result and has none.
    before_init: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// The time of the last event that says so: what a time of day in a notice refers to.
    seen_at: Option<Timestamp>,
    lines: InterleavedLines,
    usage: ClaudeUsage,
    failures: ApiFailures,
    result: Option<ClaudeResult>,
    /// Of all results: each says how many it took itself.
    turns: Option<u32>,
    /// Messages to it that have not come back as delivered.
    pending: Vec<String>,
    /// It was asked to stop: the next result is the last.
    stopping: bool,
    replies: Vec<u8>,
    /// The commands that the agent may run.
    allowed: Option<Allowlist>,
}

impl ClaudeStream {
    /// A reader for an agent whose commands are held against a list.
    pub(super) fn checked(allowed: Option<Allowlist>) -> Self {
        Self {
            allowed,
            ..Self::default()
        }
    }
}

impl Dialect for ClaudeStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        for part in self.lines.read(line, self.session.as_deref()) {
            match part {
                LinePart::Event(line) => self.take(&line, events),
                LinePart::BrokenResult => self.conclude_unread(events),
                LinePart::Broken => events.push(other("broken line")),
            }
        }
    }

    /// A message that came too late for one turn makes another: it is over when all were delivered.
    fn has_concluded(&self) -> bool {
        self.result.is_some() && (self.pending.is_empty() || self.stopping)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.usage.take_fresh()
    }

    fn is_chatter(&self, line: &[u8]) -> bool {
        const PIECE: &[u8] = br#"{"type":"stream_event","event":{"type":"content_block_"#;
        line.starts_with(PIECE)
    }

    fn is_hopeless(&self) -> bool {
        self.failures.is_hopeless()
    }

    fn opening(&mut self, prompt: &str) -> Vec<u8> {
        user_message(prompt, BEGIN)
    }

    fn nudge(&mut self, text: &str) -> Option<Vec<u8>> {
        self.pending.push(text.to_owned());
        Some(user_message(text, HEED))
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.stopping = true;
        Some(to_line(&json!({
            "type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"},
        })))
    }

    fn replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = ending::ending(
            self.result.as_ref(),
            &self.failures,
            ended,
            stderr,
            self.seen_at,
        );
        let result = self.result.unwrap_or_default().result;
        let usage = self.usage.usage();
        let (context, calls) = self.usage.into_parts();
        Conclusion {
            ending,
            final_message: capped(&result.text),
            model: self.model,
            version: self.version,
            usage,
            context,
            calls,
            turns: self.turns,
            denied: result.denied,
        }
    }
}

/// Claude Code looks for commands (`/x`) and files (`@x`) in the last block of a message alone. So
/// the text stands in a block before it, and reaches the model as it is.
fn user_message(text: &str, last: &str) -> Vec<u8> {
    let block = |text: &str| json!({ "type": "text", "text": text });
    to_line(&json!({
        "type": "user", "message": {"role": "user", "content": [block(text), block(last)]},
    }))
}

impl ClaudeStream {
    fn take(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let session = line["session_id"].as_str();
        // A line that some other program printed can't know the session.
        if let (Some(own), Some(session)) = (self.session.as_deref(), session)
            && own != session
        {
            return events.push(other("event of another session"));
        }
        self.seen_at = moment(&line["timestamp"]).or(self.seen_at);
        match line["type"].as_str().unwrap_or_default() {
            "system" => self.system(line, events),
            "assistant" => self.assistant(line, events),
            "user" => self.user(&line["message"], line["isReplay"] == true, events),
            "rate_limit_event" => self.rate_limit(&line["rate_limit_info"], events),
            "stream_event" => {
                // Of a message in the making only its usage is read: the whole one comes by itself.
                let whose = word(&line["parent_tool_use_id"]);
                self.usage.partial(&line["event"], whose, events);
            }
            "control_request" => self.asked(line, events),
            "result" if self.may_end(session) => self.end(line, events),
            _ => unknown(line, events),
        }
        if self.session.is_none() && self.before_init.is_none() {
            self.before_init = session.map(str::to_owned);
        }
    }

    /// Tells whether a result of that session is the run's own. Without an `init` it must at least name
    /// the session that everything before it named.
    fn may_end(&self, session: Option<&str>) -> bool {
        let known = self.session.as_deref().or(self.before_init.as_deref());
        session.is_some_and(|session| known.is_none_or(|known| known == session))
    }

    fn system(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let text = |key: &str| text_of(&line[key]);
        let event = match line["subtype"].as_str().unwrap_or_default() {
            "init" => self.begin(line),
            "api_retry" => {
                let reason = word(&line["error"]).unwrap_or_else(|| "error".into());
                self.failures.retried(&reason);
                AgentEvent::Retry {
                    attempt: number(&line["attempt"]).unwrap_or(0),
                    reason,
                }
            }
            "model_fallback" => AgentEvent::ModelChanged {
                from: text("original_model"),
                to: text("fallback_model"),
                reason: text("trigger"),
            },
            "thinking_tokens" => AgentEvent::Thinking {
                tokens: count(&line["estimated_tokens"]),
            },
            sub @ ("task_started" | "task_updated" | "task_notification") => {
                let state = word(&line["status"]).or_else(|| word(&line["patch"]["status"]));
                let what = word(&line["summary"]).or_else(|| word(&line["description"]));
                AgentEvent::Background {
                    id: text("task_id"),
                    state: state.unwrap_or_else(|| sub.trim_start_matches("task_").to_owned()),
                    what: what.unwrap_or_default(),
                }
            }
            "compact_boundary" => AgentEvent::Compacted {
                before: count(&line["compact_metadata"]["pre_tokens"]),
                after: count(&line["compact_metadata"]["post_tokens"]),
            },
            sub @ ("hook_started" | "hook_response") => AgentEvent::Hook {
                name: text("hook_name"),
                outcome: word(&line["outcome"])
                    .unwrap_or_else(|| sub.trim_start_matches("hook_").to_owned()),
            },
            "notification" => notice(text("text")),
            "status" => {
                let status = line["status"].as_str().unwrap_or("ready");
                notice(format!("status: {status}"))
            }
            "session_state_changed" => notice(format!("session is {}", text("state"))),
            _ => return unknown(line, events),
        };
        events.push(event);
    }

    fn begin(&mut self, line: &Json<'_>) -> AgentEvent {
        let keep = |known: &mut Option<String>, key: &str| {
            *known = known.take().or_else(|| word(&line[key]));
            known.clone()
        };
        // What ended before it began, under another session, was not this run.
        if self.session.is_none() && self.before_init != word(&line["session_id"]) {
            self.result = None;
            self.turns = None;
            self.usage = ClaudeUsage::default();
        }
        let started = AgentEvent::Started {
            model: keep(&mut self.model, "model"),
            version: keep(&mut self.version, "claude_code_version"),
            session: keep(&mut self.session, "session_id"),
        };
        self.usage.expect_model(self.model.as_deref());
        started
    }

    fn assistant(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let own = line["parent_tool_use_id"].as_str().is_none();
        let message = &line["message"];
        if !message.is_object() {
            return;
        }
        if message["model"] == "<synthetic>" {
            // What became of a subagent is the agent's own to deal with.
            if let Some(error) = word(&line["error"]).filter(|_| own) {
                self.failures.failed(error);
            }
        } else {
            self.failures.answered(own);
            self.usage.add_message(message, own, events);
        }
        for block in objects(&message["content"]) {
            match (block["type"].as_str(), word(&block["text"])) {
                (Some("text"), Some(text)) if own => events.push(AgentEvent::Text { text }),
                (Some("tool_use"), _) => {
                    events.push(tool_called(&block["id"], &block["name"], &block["input"]));
                }
                _ => {}
            }
        }
    }

    /// Results of tools, and what was said to it, on its way to the model.
    fn user(&mut self, message: &Json<'_>, is_replay: bool, events: &mut Vec<AgentEvent>) {
        if is_replay {
            return self.delivered(&message["content"], events);
        }
        for block in objects(&message["content"]) {
            match (block["type"].as_str(), word(&block["text"])) {
                (Some("tool_result"), _) => {
                    events.push(tool_done(
                        &block["tool_use_id"],
                        block["is_error"] != true,
                        &block["content"],
                    ));
                }
                (Some("text"), Some(text)) => events.push(notice(text)),
                _ => {}
            }
        }
    }

    fn delivered(&mut self, content: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let text: String = said_texts(content).collect();
        let is = |sent: &String| text.strip_suffix(HEED) == Some(sent);
        if let Some(at) = self.pending.iter().position(is) {
            let text = self.pending.remove(at);
            let state = NudgeState::Delivered;
            events.push(AgentEvent::Nudge { text, state });
        }
    }

    fn rate_limit(&mut self, info: &Json<'_>, events: &mut Vec<AgentEvent>) {
        if !info.is_object() {
            return;
        }
        let status = info["status"].as_str().unwrap_or_default();
        let resets_at = moment(&info["resetsAt"]);
        // Beyond the limit, but paid for: work goes on.
        let rejected = status == "rejected" && info["isUsingOverage"] != true;
        if rejected {
            self.failures.limit = Some(resets_at);
        } else if matches!(status, "allowed" | "allowed_warning" | "rejected") {
            self.failures.limit = None;
        }
        events.push(AgentEvent::Limit {
            rejected,
            resets_at,
            which: word(&info["rateLimitType"]),
        });
    }

    /// There is no person to ask: what would wait for one is refused, and said.
    fn asked(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let request = &line["request"];
        let Some(id) = line["request_id"].as_str().filter(|_| request.is_object()) else {
            return unknown(line, events);
        };
        let tool = text_of(&request["tool_name"]);
        events.push(notice(format!("asks for permission: {tool}")));
        let message = "nobody is there to ask";
        self.replies.extend(to_line(&json!({
            "type": "control_response",
            "response": {"subtype": "success", "request_id": id,
                         "response": {"behavior": "deny", "message": message}},
        })));
    }

    /// It says that it has ended, and not readably how: nothing more comes, and nothing is assumed.
    fn conclude_unread(&mut self, events: &mut Vec<AgentEvent>) {
        let said = ClaudeResult::unread();
        events.push(AgentEvent::Result(AgentResult::clone(&said.result)));
        self.result = Some(said);
    }

    fn end(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let said = ClaudeResult::read(line, self.allowed.as_ref());
        self.usage.sum_up(line);
        events.push(AgentEvent::Usage(self.usage.usage()));
        events.push(AgentEvent::Result(AgentResult::clone(&said.result)));
        if let Some(turns) = said.result.turns {
            self.turns = Some(self.turns.unwrap_or(0).saturating_add(turns));
        }
        self.result = Some(said);
    }
}

fn unknown(line: &Json<'_>, events: &mut Vec<AgentEvent>) {
    let kind = text_of(&line["type"]);
    events.push(match line["subtype"].as_str() {
        Some(sub) => other(format!("{kind}/{sub}")),
        None => other(kind),
    });
}

#[cfg(test)]
mod tests;
