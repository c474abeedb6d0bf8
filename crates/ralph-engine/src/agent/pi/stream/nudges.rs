//! What was said to a running Pi, and what became of it.
//!
//! Pi answers that it took a message, then, as the model gets it, repeats it as a user's. Only the
//! latter is a delivery: what it took can still sit in its queue.

use ralph_core::agent::{AgentEvent, NudgeState};
use serde_json::{Value, json};

use super::super::{guarded, wire};

#[derive(Default)]
pub(super) struct Nudges {
    sent: Vec<Sent>,
    count: u32,
}

struct Sent {
    id: String,
    text: String,
    /// As Pi has it.
    guarded: String,
    is_answered: bool,
}

/// What an answer to a message means for the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Not an answer to any of these.
    Foreign,
    /// Nothing was running any more: it begins anew.
    Started,
    Taken,
}

impl Nudges {
    /// The command that gives a message to a Pi that runs or has just become idle: a plain `steer`
    /// would wait in an idle one for ever.
    pub(super) fn send(&mut self, text: &str) -> Value {
        self.count += 1;
        let sent = Sent {
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

    /// Whether Pi still has to say what it does with a message.
    pub(super) fn are_answered(&self) -> bool {
        self.sent.iter().all(|sent| sent.is_answered)
    }

    pub(super) fn answered(&mut self, line: &wire::Line, events: &mut Vec<AgentEvent>) -> Answer {
        let at = self
            .sent
            .iter()
            .position(|sent| Some(&sent.id) == line.id.as_ref());
        let Some(at) = at else {
            return Answer::Foreign;
        };
        let disposition = line.data.as_ref().and_then(|d| d.disposition.as_deref());
        match (line.success, disposition) {
            // An extension of the user's kept it to itself, or it was refused: no model gets it.
            (Some(true), Some("handled")) | (Some(false) | None, _) => {
                let text = self.sent.remove(at).text;
                let state = NudgeState::Impossible;
                events.push(AgentEvent::Nudge { text, state });
                Answer::Taken
            }
            (Some(true), Some("started")) => {
                self.sent[at].is_answered = true;
                Answer::Started
            }
            (Some(true), _) => {
                self.sent[at].is_answered = true;
                Answer::Taken
            }
        }
    }

    /// A user's message goes to the model.
    pub(super) fn delivered(&mut self, text: &str, events: &mut Vec<AgentEvent>) {
        if let Some(at) = self.sent.iter().position(|sent| sent.guarded == text) {
            let text = self.sent.remove(at).text;
            let state = NudgeState::Delivered;
            events.push(AgentEvent::Nudge { text, state });
        }
    }
}
