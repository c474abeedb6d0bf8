//! A request to the model as it is kept: what came, and what was answered. Read only.

use serde::Serialize;
use serde_json::Value;

use super::wire::{HttpCall, Message, ParsedRequest, Role, Tool};

/// One request that asked the model something.
#[derive(Debug, Clone)]
pub struct Request {
    /// From 1.
    pub sequence: usize,
    /// The name of the API: `anthropic`.
    pub wire: &'static str,
    pub method: String,
    /// With its query.
    pub path: String,
    /// Names in lower case. Tests use dummy keys, so nothing is left out.
    pub headers: Vec<(String, String)>,
    pub body: Value,
    pub answered: Answered,
    pub(super) asked: ParsedRequest,
}

/// Describes what a request got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Which conversation of the scenario, from 0.
    pub conversation: Option<usize>,
    /// Which conversation it was in all, from 1; requests of one have the same.
    pub run: Option<usize>,
    /// From 0.
    pub turn: usize,
    /// 0 where the connection was dropped, or held open, before any.
    pub status: u16,
    pub with: AnsweredWith,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredWith {
    /// A turn of the scenario.
    Turn,
    /// A fault of that turn.
    Fault,
    /// No turn was left, or no conversation fits.
    Unscripted,
    /// It offers no tools: a title or a summary.
    Side,
    /// It can't be read, or the scenario asks for a tool that the client does not offer.
    Mistake,
}

impl Request {
    pub(super) fn new(
        wire: &'static str,
        call: HttpCall,
        asked: ParsedRequest,
        answered: Answered,
    ) -> Self {
        Self {
            sequence: 0,
            wire,
            method: call.method,
            path: call.path,
            headers: call.headers,
            body: call.body,
            answered,
            asked,
        }
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    #[must_use]
    pub fn model(&self) -> &str {
        &self.asked.model
    }

    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.asked.messages
    }

    #[must_use]
    pub fn tools(&self) -> &[Tool] {
        &self.asked.tools
    }

    /// Returns what stands before the messages: instructions and the environment.
    #[must_use]
    pub fn system(&self) -> &str {
        &self.asked.system
    }

    /// Every text of a user, tool results aside.
    #[must_use]
    pub fn user_texts(&self) -> Vec<&str> {
        let users = self.messages().iter().filter(|m| m.role == Role::User);
        users
            .flat_map(|message| &message.texts)
            .map(String::as_str)
            .collect()
    }

    /// The results of tools, in order.
    #[must_use]
    pub fn tool_results(&self) -> Vec<&str> {
        let all = self.messages().iter().flat_map(|m| &m.tool_results);
        all.map(String::as_str).collect()
    }

    /// All text that the model was given, for what it must or must not contain.
    #[must_use]
    pub fn text(&self) -> String {
        let mut texts = vec![self.system()];
        for message in self.messages() {
            let both = message.texts.iter().chain(&message.tool_results);
            texts.extend(both.map(String::as_str));
        }
        texts.join("\n")
    }

    /// Returns true if nothing was said before: one message of a user, no answer, no tool result.
    #[must_use]
    pub fn is_fresh(&self) -> bool {
        let of = |role| self.messages().iter().filter(move |m| m.role == role);
        of(Role::User).count() == 1
            && of(Role::Assistant).count() == 0
            && self.tool_results().is_empty()
    }

    /// One line of the log.
    pub(super) fn to_json(&self) -> Value {
        serde_json::json!({
            "sequence": self.sequence, "wire": self.wire, "method": self.method,
            "path": self.path, "answered": self.answered, "messages": self.messages(),
            "body": self.body,
        })
    }
}
