//! Messages to a running Pi, and what became of each.
//!
//! Pi answers that it took a message, then, as the model gets it, repeats it as a user's. Only the
//! latter is a delivery: what it took can still sit in its queue.

use ralph_core::agent::{AgentEvent, NudgeState};
use serde_json::{Value, json};

use super::super::guarded;
use crate::agent::json::Json;

#[derive(Default)]
pub(super) struct PiNudges {
    sent: Vec<PiSentNudge>,
    count: u32,
}

struct PiSentNudge {
    id: String,
    text: String,
    /// As Pi has it.
    guarded: String,
    is_answered: bool,
}

/// The meaning of a reply for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NudgeReply {
    /// Not a reply to any of these.
    Foreign,
    /// Nothing was running any more: it begins again.
    Started,
    Taken,
}

impl PiNudges {
    /// The command that gives a message to a Pi that runs or has just become idle: a plain `steer`
    /// would wait in an idle one for ever.
    pub(super) fn send(&mut self, text: &str) -> Value {
        self.count += 1;
        let sent = PiSentNudge {
            id: format!("nudge-{}", self.count),
            text: text.to_owned(),
            guarded: guarded(text),
            is_answered: false,
        };
        let command = json!({
            "id": sent.id, "type": "prompt", "message": sent.guarded, "streamingBehavior": "steer",
        });
        self.sent.push(sent);
        command
    }

    /// Tells whether Pi has said of every message what it does with it.
    pub(super) fn are_answered(&self) -> bool {
        self.sent.iter().all(|sent| sent.is_answered)
    }

    pub(super) fn answered(&mut self, line: &Json<'_>, events: &mut Vec<AgentEvent>) -> NudgeReply {
        let Some(at) = self.sent.iter().position(|sent| line["id"] == *sent.id) else {
            return NudgeReply::Foreign;
        };
        let disposition = line["data"]["disposition"].as_str();
        match (line["success"].as_bool(), disposition) {
            // An extension of the user's kept it to itself, or it was refused: no model gets it.
            (Some(true), Some("handled")) | (Some(false) | None, _) => {
                let text = self.sent.remove(at).text;
                let state = NudgeState::Impossible;
                events.push(AgentEvent::Nudge { text, state });
                NudgeReply::Taken
            }
            (Some(true), Some("started")) => {
                self.sent[at].is_answered = true;
                NudgeReply::Started
            }
            (Some(true), _) => {
                self.sent[at].is_answered = true;
                NudgeReply::Taken
            }
        }
    }

    /// Takes note of a user's message that goes to the model.
    pub(super) fn delivered(&mut self, text: &str, events: &mut Vec<AgentEvent>) {
        if let Some(at) = self.sent.iter().position(|sent| sent.guarded == text) {
            let text = self.sent.remove(at).text;
            let state = NudgeState::Delivered;
            events.push(AgentEvent::Nudge { text, state });
        }
    }
}
