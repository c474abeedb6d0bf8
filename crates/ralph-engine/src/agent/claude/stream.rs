//! Reads Claude Code's stream into events, and says to it what a running agent can be told.

mod outcome;
mod parse;
mod tally;
mod torn;

use jiff::Timestamp;
use ralph_core::{
    agent::{AgentEvent, AgentResult, FINAL_MESSAGE_BYTES, NudgeState},
    economics::ModelCall,
};
use serde_json::json;

use super::wire::{Content, Line, Message};
use crate::{
    agent::{Conclusion, Dialect},
    process::Ended,
};
use outcome::{Ended as Said, Failures};
use parse::{code, target};
use tally::Tally;
use torn::{Piece, Torn};

/// The last block of a prompt, and of a message to a running agent.
const BEGIN: &str = "Begin now.";
const HEED: &str = "Take this into account from now on.";

#[derive(Default)]
pub(super) struct ClaudeStream {
    session: Option<String>,
    model: Option<String>,
    version: Option<String>,
    /// When the last event that says so was made: what a time of day in a notice refers to.
    seen_at: Option<Timestamp>,
    torn: Torn,
    tally: Tally,
    failures: Failures,
    result: Option<Said>,
    /// Of all results: each says how many it took itself.
    turns: Option<u32>,
    /// What was said to it and has not come back as delivered.
    pending: Vec<String>,
    /// It was asked to stop: the next result is the last.
    stopping: bool,
    replies: Vec<u8>,
}

impl Dialect for ClaudeStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        for piece in self.torn.read(line, self.session.as_deref()) {
            match piece {
                Piece::Event(line) => self.take(*line, events),
                Piece::BrokenResult => self.conclude_unread(events),
                Piece::Broken => events.push(AgentEvent::Other {
                    name: "broken line".into(),
                }),
            }
        }
    }

    /// A message that came too late for one turn makes another: it is over when all were delivered.
    fn has_concluded(&self) -> bool {
        self.result.is_some() && (self.pending.is_empty() || self.stopping)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.tally.take_fresh()
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
        Some(line_of(&json!({
            "type": "control_request", "request_id": "stop", "request": {"subtype": "interrupt"},
        })))
    }

    fn replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = outcome::ending(
            self.result.as_ref(),
            &self.failures,
            ended,
            stderr,
            self.seen_at,
        );
        let result = self.result.unwrap_or_default().result;
        let cut = result.text.len().saturating_sub(FINAL_MESSAGE_BYTES);
        let cut = (cut..)
            .find(|i| result.text.is_char_boundary(*i))
            .unwrap_or(0);
        let usage = self.tally.usage();
        let (context, calls) = self.tally.into_parts();
        Conclusion {
            ending,
            final_message: result.text[cut..].to_owned(),
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
    line_of(&json!({
        "type": "user", "message": {"role": "user", "content": [block(text), block(last)]},
    }))
}

fn line_of(value: &serde_json::Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

impl ClaudeStream {
    fn take(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let foreign = match (&self.session, &line.session_id) {
            (Some(own), Some(other)) => own != other,
            _ => false,
        };
        // A line that some other program printed can't know the session.
        if foreign {
            events.push(AgentEvent::Other {
                name: "event of another session".into(),
            });
            return;
        }
        self.seen_at = line.timestamp.or(self.seen_at);
        match line.kind.as_str() {
            "system" => self.system(line, events),
            "assistant" => self.assistant(line, events),
            "user" => self.user(line, events),
            "rate_limit_event" => self.rate_limit(line, events),
            "stream_event" => self.partial(line, events),
            "control_request" => self.asked(&line, events),
            "result" if self.session.is_some() && line.session_id.is_some() => {
                self.end(line, events)
            }
            _ => other(&line, events),
        }
    }

    fn system(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let about = &line.system;
        match line.subtype.as_deref().unwrap_or("") {
            "init" => self.begin(line, events),
            "api_retry" => {
                let reason = code(line.error.as_ref()).unwrap_or_else(|| "error".into());
                self.failures.retried(&reason);
                events.push(AgentEvent::Retry {
                    attempt: line.attempt.unwrap_or(0),
                    reason,
                });
            }
            "model_fallback" => events.push(AgentEvent::ModelChanged {
                from: text(&about.original_model),
                to: text(&about.fallback_model),
                reason: text(&about.trigger),
            }),
            "thinking_tokens" => events.push(AgentEvent::Thinking {
                tokens: about.estimated_tokens.unwrap_or(0),
            }),
            sub @ ("task_started" | "task_updated" | "task_notification") => {
                let patch = about.patch.as_ref().and_then(|p| p.status.clone());
                let state = about.status_word().or(patch);
                events.push(AgentEvent::Background {
                    id: text(&about.task_id),
                    state: state.unwrap_or_else(|| sub.trim_start_matches("task_").to_owned()),
                    what: about
                        .summary
                        .clone()
                        .or(about.description.clone())
                        .unwrap_or_default(),
                });
            }
            "compact_boundary" => {
                let metadata = about.compact_metadata.unwrap_or_default();
                events.push(AgentEvent::Compacted {
                    before: metadata.pre_tokens,
                    after: metadata.post_tokens,
                });
            }
            sub @ ("hook_started" | "hook_response") => events.push(AgentEvent::Hook {
                name: text(&about.hook_name),
                outcome: about
                    .outcome
                    .clone()
                    .unwrap_or_else(|| sub.trim_start_matches("hook_").to_owned()),
            }),
            "notification" => events.push(AgentEvent::Notice {
                text: text(&about.text),
            }),
            "status" => {
                let status = about.status_word().unwrap_or_else(|| "ready".into());
                events.push(AgentEvent::Notice {
                    text: format!("status: {status}"),
                });
            }
            "session_state_changed" => events.push(AgentEvent::Notice {
                text: format!("session is {}", text(&about.state)),
            }),
            _ => other(&line, events),
        }
    }

    fn begin(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        self.session = self.session.take().or(line.session_id);
        self.model = self.model.take().or(line.model);
        self.version = self.version.take().or(line.claude_code_version);
        self.tally.expect_model(self.model.as_deref());
        events.push(AgentEvent::Started {
            model: self.model.clone(),
            version: self.version.clone(),
            session: self.session.clone(),
        });
    }

    fn assistant(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let own = line.parent_tool_use_id.is_none();
        let Some(message) = line.message else { return };
        let synthetic = message.model.as_deref() == Some("<synthetic>");
        match (synthetic, code(line.error.as_ref())) {
            // What became of a subagent is the agent's own to deal with.
            (true, Some(error)) if own => self.failures.failed(error),
            (true, _) => {}
            (false, _) => {
                self.failures.answered(own);
                self.tally.count(&message, own, events);
            }
        }
        let Content::Blocks(blocks) = message.content else {
            return;
        };
        for block in blocks {
            match (block.kind.as_str(), block.text) {
                ("text", Some(text)) if own => events.push(AgentEvent::Text { text }),
                ("tool_use", _) => events.push(AgentEvent::Tool {
                    id: block.id.unwrap_or_default(),
                    name: block.name.unwrap_or_default(),
                    target: block.input.as_ref().map(target).unwrap_or_default(),
                }),
                _ => {}
            }
        }
    }

    /// Results of tools, and what was said to it, on its way to the model.
    fn user(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let Some(message) = line.message else { return };
        if line.is_replay {
            self.delivered(&message, events);
            return;
        }
        let Content::Blocks(blocks) = message.content else {
            return;
        };
        for block in blocks {
            match (block.kind.as_str(), block.tool_use_id, block.text) {
                ("tool_result", id, _) => events.push(AgentEvent::ToolDone {
                    id: id.unwrap_or_default(),
                    ok: block.is_error != Some(true),
                }),
                ("text", _, Some(text)) => events.push(AgentEvent::Notice { text }),
                _ => {}
            }
        }
    }

    fn delivered(&mut self, message: &Message, events: &mut Vec<AgentEvent>) {
        let text = message.content.text();
        let is = |sent: &String| text.strip_suffix(HEED) == Some(sent);
        if let Some(at) = self.pending.iter().position(is) {
            let text = self.pending.remove(at);
            let state = NudgeState::Delivered;
            events.push(AgentEvent::Nudge { text, state });
        }
    }

    fn rate_limit(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let Some(info) = line.rate_limit_info else {
            return;
        };
        let resets_at = info.resets_at;
        // Beyond the limit, but paid for: work goes on.
        let rejected = info.status == "rejected" && !info.is_using_overage;
        match (rejected, info.status.as_str()) {
            (true, _) => self.failures.limit = Some(resets_at),
            (false, "allowed" | "allowed_warning" | "rejected") => self.failures.limit = None,
            (false, _) => {}
        }
        events.push(AgentEvent::Limit {
            rejected,
            resets_at,
            which: info.which,
        });
    }

    /// Of a message in the making only its usage is read: the whole one comes by itself.
    fn partial(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        if let Some(event) = line.event {
            self.tally.partial(event, line.parent_tool_use_id, events);
        }
    }

    /// Nobody is there to ask: what would wait for a person is refused, and said.
    fn asked(&mut self, line: &Line, events: &mut Vec<AgentEvent>) {
        let (Some(id), Some(request)) = (&line.request_id, &line.request) else {
            return other(line, events);
        };
        let tool = request.tool_name.clone().unwrap_or_default();
        events.push(AgentEvent::Notice {
            text: format!("asks for permission: {tool}"),
        });
        let message = "nobody is there to ask";
        self.replies.extend(line_of(&json!({
            "type": "control_response",
            "response": {"subtype": "success", "request_id": id,
                         "response": {"behavior": "deny", "message": message}},
        })));
    }

    /// It says that it has ended, and not readably how: nothing more comes, and nothing is assumed.
    fn conclude_unread(&mut self, events: &mut Vec<AgentEvent>) {
        let said = Said::unread();
        events.push(AgentEvent::Result(AgentResult::clone(&said.result)));
        self.result = Some(said);
    }

    fn end(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let said = Said::read(&line);
        let fields = line.result;
        self.tally
            .sum_up(fields.usage, &fields.model_usage, fields.total_cost_usd);
        events.push(AgentEvent::Usage(self.tally.usage()));
        events.push(AgentEvent::Result(AgentResult::clone(&said.result)));
        if let Some(turns) = said.result.turns {
            self.turns = Some(self.turns.unwrap_or(0).saturating_add(turns));
        }
        self.result = Some(said);
    }
}

fn other(line: &Line, events: &mut Vec<AgentEvent>) {
    let name = match &line.subtype {
        Some(sub) => format!("{}/{sub}", line.kind),
        None => line.kind.clone(),
    };
    events.push(AgentEvent::Other { name });
}

#[cfg(test)]
mod tests;
