//! Reads Pi's stream into events, and writes to it what a running agent can be told.
//!
//! The same for both of its modes; `json` has no answers to commands, and none are given there. Unknown
//! fields and types are fine, and no field can spoil its event: what is of another kind than it should be
//! counts as missing (`fields`).

mod ending;
mod nudges;
mod usage;

use ralph_core::{
    agent::{AgentEvent, AgentResult, Ending},
    allowlist::Allowlist,
    economics::{Caller, ModelCall},
};
use serde_json::json;

use super::guarded;
use crate::{
    agent::{
        Conclusion, Dialect,
        fields::{self, count, number, said_texts, text_of, word},
        json::Json,
        jsonl::{
            capped, limit_reached, notice, other, started, to_line, tool_called, tool_done,
            tool_target,
        },
    },
    process::Ended,
};
use ending::{Aborted, ApiFailure, PiAnswer, PiRunState};
use nudges::{NudgeReply, PiNudges};
use usage::{MessageUsage, PiUsage};

#[derive(Default)]
pub(super) struct PiStream {
    session: Option<String>,
    model: Option<String>,
    is_announced: bool,
    state: PiRunState,
    usage: PiUsage,
    nudges: PiNudges,
    stopping: Stopping,
    replies: Vec<u8>,
    /// The commands that the agent may run, and those that it was refused.
    allowed: Option<Allowlist>,
    denied: Vec<String>,
}

impl PiStream {
    /// A reader for an agent whose commands are held against a list.
    pub(super) fn checked(allowed: Option<Allowlist>) -> Self {
        Self {
            allowed,
            ..Self::default()
        }
    }
}

#[derive(Default, PartialEq, Eq)]
enum Stopping {
    #[default]
    No,
    Asked,
    /// Nothing runs any more, also where nothing ran before.
    Obeyed,
}

/// Refused commands that are kept.
const MOST_DENIED: usize = 100;

/// Keys under which nothing is ever read: pieces of what comes again as a whole, and copies.
const SKIPPED: [&str; 4] = [
    "assistantMessageEvent",
    "partialResult",
    "toolResults",
    "messages",
];

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
        match fields::parse(line, &SKIPPED) {
            Some(line) => self.take(&line, events),
            None => events.push(other("broken line")),
        }
    }

    /// A message that came too late for one run begins another: it is over when Pi said what it did
    /// with all of them.
    fn has_concluded(&self) -> bool {
        let is_idle = self.state.settled.is_some() || self.state.refused.is_some();
        match self.stopping {
            Stopping::No => is_idle && self.nudges.are_answered(),
            Stopping::Asked => is_idle,
            Stopping::Obeyed => true,
        }
    }

    fn opening(&mut self, prompt: &str) -> Vec<u8> {
        // The state names the session, the model and its window, and asks no model.
        let mut lines = to_line(&json!({"id": STATE, "type": "get_state"}));
        lines.extend(to_line(
            &json!({"id": PROMPT, "type": "prompt", "message": guarded(prompt)}),
        ));
        lines
    }

    fn nudge(&mut self, text: &str) -> Option<Vec<u8>> {
        Some(to_line(&self.nudges.send(text)))
    }

    fn interrupt(&mut self) -> Option<Vec<u8>> {
        self.stopping = Stopping::Asked;
        // What waits in the queue would be worked on after the abort.
        let mut lines = to_line(&json!({"type": "clear_queue"}));
        lines.extend(to_line(&json!({"id": STOP, "type": "abort"})));
        Some(lines)
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.usage.take_new_calls()
    }

    fn replies(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.replies)
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = ending::ending(&self.state, ended, stderr);
        let turns = self.usage.turns();
        let (usage, context, calls) = self.usage.sum_up(self.model.as_deref());
        let text = self.state.last.map(|answer| capped(&answer.text));
        Conclusion {
            ending,
            final_message: text.unwrap_or_default(),
            model: self.model,
            // Its stream does not say.
            version: None,
            usage,
            context,
            calls,
            turns: Some(turns),
            denied: self.denied,
        }
    }
}

impl PiStream {
    fn take(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let message = &line["message"];
        match line["type"].as_str().unwrap_or_default() {
            "session" => {
                self.session = word(&line["id"]);
                self.announce(events);
            }
            "response" => self.response(line, events),
            "agent_start" => {
                self.state.has_begun = true;
                self.state.settled = None;
                self.announce(events);
            }
            "message_start" => {
                if message["role"] == "assistant" {
                    self.usage.partial(MessageUsage::read(&message["usage"]));
                }
            }
            "message_update" => self.usage.partial(MessageUsage::read(&line["usage"])),
            "message_end" => self.message(message, events),
            "tool_execution_start" => {
                self.state.did_anything = true;
                let (id, name) = (&line["toolCallId"], &line["toolName"]);
                events.push(tool_called(id, name, &line["args"]));
                self.note_refusal(name, &line["args"]);
            }
            "tool_execution_end" => {
                events.push(tool_done(
                    &line["toolCallId"],
                    line["isError"] != true,
                    &line["result"]["content"],
                ));
            }
            "auto_retry_start" | "summarization_retry_scheduled" => {
                events.push(AgentEvent::Retry {
                    attempt: number(&line["attempt"]).unwrap_or(0),
                    reason: ApiFailure::read(&text_of(&line["errorMessage"])).message,
                });
            }
            "auto_retry_end" => {
                let is_cancelled = line["finalError"] == "Retry cancelled";
                self.state.gave_up = line["success"] == false && !is_cancelled;
            }
            "compaction_end" => self.compacted(line, events),
            "agent_settled" => self.settled(line["aborted"] == true, events),
            "extension_ui_request" => self.asked(line, events),
            "extension_error" => {
                let error = text_of(&line["error"]);
                events.push(notice(format!("an extension failed: {error}")));
            }
            // Copies of what was read, and the course of what is reported when it ends.
            "turn_start" | "turn_end" | "agent_end" | "tool_execution_update" | "queue_update" => {}
            kind => events.push(other(kind)),
        }
    }

    /// Notes a command that the check of commands refuses.
    fn note_refusal(&mut self, name: &Json<'_>, args: &Json<'_>) {
        let Some(command) = args["command"].as_str().filter(|_| *name == "bash") else {
            return;
        };
        let refusal = self.allowed.as_ref().map(|list| list.check_line(command));
        if let Some(Err(refusal)) = refusal
            && self.denied.len() < MOST_DENIED
        {
            self.denied
                .push(format!("bash {}: {refusal}", tool_target(args)));
        }
    }

    /// Says once that it began: as soon as the session is known, or with the first run at the latest.
    fn announce(&mut self, events: &mut Vec<AgentEvent>) {
        if !std::mem::replace(&mut self.is_announced, true) {
            events.push(started(&self.model, &self.session));
        }
    }

    fn response(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        match self.nudges.answered(line, events) {
            NudgeReply::Foreign => {}
            NudgeReply::Taken => return,
            NudgeReply::Started => {
                self.state.settled = None;
                return;
            }
        }
        let data = &line["data"];
        match line["id"].as_str() {
            Some(STATE) => {
                self.session = word(&data["sessionId"]);
                let model = &data["model"];
                if model.is_object() {
                    let (provider, id) = (text_of(&model["provider"]), text_of(&model["id"]));
                    self.model = Some(format!("{provider}/{id}"));
                    self.usage.expect_window(count(&model["contextWindow"]));
                }
                self.announce(events);
            }
            Some(PROMPT) if line["success"] != true => {
                self.state.refused = Some(text_of(&line["error"]));
            }
            Some(PROMPT) if data["disposition"] == "handled" => {
                self.state.refused = Some("an extension of Pi's took the prompt".into());
            }
            Some(STOP) => self.stopping = Stopping::Obeyed,
            _ if line["success"] != true => {
                events.push(other(format!("refused {}", text_of(&line["command"]))));
            }
            _ => {}
        }
    }

    fn message(&mut self, message: &Json<'_>, events: &mut Vec<AgentEvent>) {
        match message["role"].as_str().unwrap_or_default() {
            "assistant" => self.answer(message, events),
            "user" => {
                let texts: Vec<&str> = said_texts(&message["content"]).collect();
                self.nudges.delivered(&texts.join("\n"), events);
            }
            "toolResult" => {
                // A tool that asked a model is an agent of its own.
                if let Some(used) = MessageUsage::read(&message["usage"]) {
                    let model = self.model.clone();
                    self.usage.add(used, model, Caller::Subagent, events);
                }
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: &Json<'_>, events: &mut Vec<AgentEvent>) {
        if let (Some(provider), Some(model)) =
            (message["provider"].as_str(), message["model"].as_str())
        {
            self.model = Some(format!("{provider}/{model}"));
        }
        for text in said_texts(&message["content"]) {
            self.state.did_anything |= !text.trim().is_empty();
            events.push(AgentEvent::Text {
                text: text.to_owned(),
            });
        }
        let used = MessageUsage::read(&message["usage"]).unwrap_or_default();
        self.usage.add_answer(used, self.model.clone(), events);
        self.state.last = Some(PiAnswer::read(message));
    }

    fn compacted(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let result = &line["result"];
        if !result.is_object() {
            let why = line["errorMessage"].as_str().unwrap_or("aborted");
            let reason = line["reason"].as_str().unwrap_or("its own reason");
            let text = format!("compaction by {reason} did not succeed: {why}");
            events.push(notice(text));
            return;
        }
        events.push(AgentEvent::Compacted {
            before: count(&result["tokensBefore"]),
            after: count(&result["estimatedTokensAfter"]),
        });
        if let Some(used) = MessageUsage::read(&result["usage"]) {
            let model = self.model.clone();
            self.usage.add(used, model, Caller::Agent, events);
        }
    }

    fn settled(&mut self, is_aborted: bool, events: &mut Vec<AgentEvent>) {
        self.state.settled = Some(if is_aborted {
            Aborted::Yes
        } else {
            Aborted::No
        });
        let Some(ending) = ending::account(&self.state) else {
            return;
        };
        if let Ending::Limit { resets_at } = ending {
            events.push(limit_reached(resets_at));
        }
        let ok = ending == Ending::Finished;
        let text = self.state.last.as_ref().map(|answer| capped(&answer.text));
        let said = || ending.message().unwrap_or(ending.outcome()).to_owned();
        events.push(AgentEvent::Result(AgentResult {
            ok,
            text: text.unwrap_or_default(),
            error: (!ok).then(said),
            turns: Some(self.usage.turns()),
            denied: self.denied.clone(),
        }));
    }

    /// There is no person to ask: a dialog is cancelled, and said.
    fn asked(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let method = text_of(&line["method"]);
        let text = word(&line["title"]).unwrap_or_else(|| text_of(&line["message"]));
        match (method.as_str(), line["id"].as_str()) {
            ("select" | "confirm" | "input" | "editor", Some(id)) => {
                let text = format!("an extension asks, and nobody is there: {text}");
                events.push(notice(text));
                self.replies.extend(to_line(
                    &json!({"type": "extension_ui_response", "id": id, "cancelled": true}),
                ));
            }
            ("notify", _) => events.push(AgentEvent::Notice { text }),
            _ => events.push(other(format!("extension_ui_request/{method}"))),
        }
    }
}

#[cfg(test)]
mod tests;
