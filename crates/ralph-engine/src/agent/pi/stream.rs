//! Reads Pi's stream into events, and says to it what a running agent can be told.
//!
//! The same for both of its modes; `json` has no answers to commands, and none are given there.

mod failure;
mod nudges;
mod outcome;
mod tally;

use ralph_core::{
    agent::{AgentEvent, AgentResult, Ending, FINAL_MESSAGE_BYTES},
    economics::{Caller, ModelCall},
};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::guarded;
use super::wire::{Compaction, Line, Message, Said};
use crate::{
    agent::{Conclusion, Dialect, lenient},
    process::Ended,
};
use failure::Failure;
use nudges::{Answer as Reply, Nudges};
use outcome::{Aborted, Answer, Known};
use tally::Tally;

#[derive(Default)]
pub(super) struct PiStream {
    session: Option<String>,
    model: Option<String>,
    is_announced: bool,
    known: Known,
    tally: Tally,
    nudges: Nudges,
    stopping: Stopping,
    replies: Vec<u8>,
}

#[derive(Default, PartialEq, Eq)]
enum Stopping {
    #[default]
    No,
    Asked,
    /// Nothing runs any more, also where nothing ran before.
    Obeyed,
}

/// The names of ralph's own commands.
const STATE: &str = "state";
const PROMPT: &str = "prompt";
const STOP: &str = "stop";

impl Dialect for PiStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        let line = line.trim_ascii();
        // Not an event of any kind: in the log, and not worth a word more. A flood of it is cheap.
        if !line.starts_with(b"{") {
            return;
        }
        match lenient::parse(line).and_then(|value| Line::deserialize(value).ok()) {
            Some(line) => self.take(line, events),
            None => events.push(AgentEvent::Other {
                name: "broken line".into(),
            }),
        }
    }

    /// A message that came too late for one run begins another: it is over when Pi said what it did
    /// with all of them.
    fn has_concluded(&self) -> bool {
        let is_idle = self.known.settled.is_some() || self.known.refused.is_some();
        match self.stopping {
            Stopping::No => is_idle && self.nudges.are_answered(),
            Stopping::Asked => is_idle,
            Stopping::Obeyed => true,
        }
    }

    fn opening(&mut self, prompt: &str) -> Vec<u8> {
        // The state names the session, the model and its window, and asks no model.
        let mut lines = line_of(&json!({"id": STATE, "type": "get_state"}));
        lines.extend(line_of(
            &json!({"id": PROMPT, "type": "prompt", "message": guarded(prompt)}),
        ));
        lines
    }

    fn nudge(&mut self, text: &str) -> Option<Vec<u8>> {
        Some(line_of(&self.nudges.send(text)))
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.stopping = Stopping::Asked;
        // What waits in the queue would be worked on after the abort.
        let mut lines = line_of(&json!({"type": "clear_queue"}));
        lines.extend(line_of(&json!({"id": STOP, "type": "abort"})));
        Some(lines)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.tally.take_fresh()
    }

    fn replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = outcome::ending(&self.known, ended, stderr);
        let turns = self.tally.turns();
        let (usage, context, calls) = self.tally.sum_up(self.model.as_deref());
        let text = self.known.last.map(|answer| answer.text);
        Conclusion {
            ending,
            final_message: end_of(text.unwrap_or_default()),
            model: self.model,
            // Its stream does not say.
            version: None,
            usage,
            context,
            calls,
            turns: Some(turns),
            denied: Vec::new(),
        }
    }
}

fn line_of(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

/// Of a text that is too long, its end.
fn end_of(text: String) -> String {
    let cut = text.len().saturating_sub(FINAL_MESSAGE_BYTES);
    let cut = (cut..).find(|i| text.is_char_boundary(*i)).unwrap_or(0);
    text[cut..].to_owned()
}

impl PiStream {
    fn take(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        match line.kind.as_str() {
            "session" => {
                self.session = line.id;
                self.announce(events);
            }
            "response" => self.response(line, events),
            "agent_start" => {
                self.known.has_begun = true;
                self.known.settled = None;
                self.announce(events);
            }
            "message_start" => {
                if let Some(message) = whole(line.message).filter(|m| m.role == "assistant") {
                    self.tally.partial(message.usage);
                }
            }
            "message_update" => self.tally.partial(line.usage),
            "message_end" => {
                if let Some(message) = whole(line.message) {
                    self.message(&message, events);
                }
            }
            "tool_execution_start" => {
                self.known.did_anything = true;
                events.push(AgentEvent::Tool {
                    id: line.tool.tool_call_id.unwrap_or_default(),
                    name: line.tool.tool_name.unwrap_or_default(),
                    target: line.tool.args.as_ref().map(target).unwrap_or_default(),
                });
            }
            "tool_execution_end" => events.push(AgentEvent::ToolDone {
                id: line.tool.tool_call_id.unwrap_or_default(),
                ok: line.tool.is_error != Some(true),
            }),
            "auto_retry_start" | "summarization_retry_scheduled" => {
                let error = line.error_message.unwrap_or_default();
                events.push(AgentEvent::Retry {
                    attempt: line.attempt.unwrap_or(0),
                    reason: Failure::read(&error).message,
                });
            }
            "auto_retry_end" => {
                let cancelled = line.final_error.as_deref() == Some("Retry cancelled");
                self.known.gave_up = line.success == Some(false) && !cancelled;
            }
            "compaction_end" => self.compacted(&line, events),
            "agent_settled" => self.settled(line.aborted, events),
            "extension_ui_request" => self.asked(line, events),
            "extension_error" => {
                let error = line.error.unwrap_or_default();
                events.push(AgentEvent::Notice {
                    text: format!("an extension failed: {error}"),
                });
            }
            // Copies of what was read, and the course of what is reported when it ends.
            "turn_start" | "turn_end" | "agent_end" | "tool_execution_update" | "queue_update" => {}
            _ => events.push(AgentEvent::Other { name: line.kind }),
        }
    }

    /// Says once that it began: as soon as the session is known, or with the first run at the latest.
    fn announce(&mut self, events: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.is_announced, true) {
            events.push(AgentEvent::Started {
                model: self.model.clone(),
                version: None,
                session: self.session.clone(),
            });
        }
    }

    fn response(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        match self.nudges.answered(&line, events) {
            Reply::Foreign => {}
            Reply::Taken => return,
            Reply::Started => {
                self.known.settled = None;
                return;
            }
        }
        let data = line.data.unwrap_or_default();
        match line.id.as_deref() {
            Some(STATE) => {
                self.session = data.session_id;
                if let Some(model) = data.model {
                    self.model = Some(format!("{}/{}", model.provider, model.id));
                    self.tally.expect_window(model.context_window);
                }
                self.announce(events);
            }
            Some(PROMPT) if line.success != Some(true) => {
                self.known.refused = Some(line.error.unwrap_or_default());
            }
            Some(PROMPT) if data.disposition.as_deref() == Some("handled") => {
                self.known.refused = Some("an extension of Pi's took the prompt".into());
            }
            Some(STOP) => self.stopping = Stopping::Obeyed,
            _ if line.success != Some(true) => events.push(AgentEvent::Other {
                name: format!("refused {}", line.command.unwrap_or_default()),
            }),
            _ => {}
        }
    }

    fn message(&mut self, message: &Message, events: &mut Vec<AgentEvent>) {
        match message.role.as_str() {
            "assistant" => self.answer(message, events),
            "user" => {
                let text = message.content.texts().join("\n");
                self.nudges.delivered(&text, events);
            }
            "toolResult" => {
                // A tool that asked a model is an agent of its own.
                if let Some(usage) = message.usage {
                    let by = (self.model.clone(), Caller::Subagent);
                    self.tally.beside(usage, by, events);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: &Message, events: &mut Vec<AgentEvent>) {
        if let (Some(provider), Some(model)) = (&message.provider, &message.model) {
            self.model = Some(format!("{provider}/{model}"));
        }
        for text in message.content.texts() {
            self.known.did_anything |= !text.trim().is_empty();
            events.push(AgentEvent::Text {
                text: text.to_owned(),
            });
        }
        let usage = message.usage.unwrap_or_default();
        self.tally.ended(usage, self.model.clone(), events);
        self.known.last = Some(Answer::read(message));
    }

    fn compacted(&mut self, line: &Line, events: &mut Vec<AgentEvent>) {
        let result = line.tool.result.clone().filter(|result| !result.is_null());
        let result: Option<Compaction> = result.and_then(|r| serde_json::from_value(r).ok());
        let Some(result) = result else {
            let why = line.error_message.as_deref().unwrap_or("aborted");
            let reason = line.reason.as_deref().unwrap_or("its own reason");
            events.push(AgentEvent::Notice {
                text: format!("compaction by {reason} did not succeed: {why}"),
            });
            return;
        };
        events.push(AgentEvent::Compacted {
            before: result.tokens_before,
            after: result.estimated_tokens_after,
        });
        if let Some(usage) = result.usage {
            let by = (self.model.clone(), Caller::Agent);
            self.tally.beside(usage, by, events);
        }
    }

    fn settled(&mut self, aborted: Option<bool>, events: &mut Vec<AgentEvent>) {
        let aborted = match aborted {
            Some(true) => Aborted::Yes,
            Some(false) | None => Aborted::No,
        };
        self.known.settled = Some(aborted);
        let Some(ending) = outcome::account(&self.known) else {
            return;
        };
        if let Ending::Limit { resets_at } = ending {
            events.push(AgentEvent::Limit {
                rejected: true,
                resets_at,
                which: None,
            });
        }
        let ok = ending == Ending::Finished;
        let text = self.known.last.as_ref().map(|answer| answer.text.clone());
        let said = || ending.message().unwrap_or(ending.outcome()).to_owned();
        events.push(AgentEvent::Result(AgentResult {
            ok,
            text: end_of(text.unwrap_or_default()),
            error: (!ok).then(said),
            turns: Some(self.tally.turns()),
            denied: Vec::new(),
        }));
    }

    /// Nobody is there to ask: a dialog is cancelled, and said.
    fn asked(&mut self, line: Line, events: &mut Vec<AgentEvent>) {
        let method = line.method.unwrap_or_default();
        let words = match line.message {
            Some(Said::Words(words)) => Some(words),
            Some(Said::Message(_)) | None => None,
        };
        let text = line.title.or(words).unwrap_or_default();
        match (method.as_str(), line.id) {
            ("select" | "confirm" | "input" | "editor", Some(id)) => {
                events.push(AgentEvent::Notice {
                    text: format!("an extension asks, and nobody is there: {text}"),
                });
                self.replies.extend(line_of(
                    &json!({"type": "extension_ui_response", "id": id, "cancelled": true}),
                ));
            }
            ("notify", _) => events.push(AgentEvent::Notice { text }),
            _ => events.push(AgentEvent::Other {
                name: format!("extension_ui_request/{method}"),
            }),
        }
    }
}

fn whole(message: Option<Said>) -> Option<Message> {
    match message? {
        Said::Message(message) => Some(*message),
        Said::Words(_) => None,
    }
}

/// The one thing a tool works on, for a person who watches.
fn target(args: &Map<String, Value>) -> String {
    let known = ["path", "command", "pattern", "url", "query"];
    let value = known.iter().find_map(|key| args.get(*key)?.as_str());
    let line = value.and_then(|text| text.lines().next());
    line.unwrap_or("").chars().take(200).collect()
}

#[cfg(test)]
mod tests;
