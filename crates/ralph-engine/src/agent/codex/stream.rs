//! Reads Codex's stream into events, and its turn's end into an ending.
//!
//! Its errors are sentences: the status of a response is read out of them, and few words besides.

use std::{borrow::Cow, collections::VecDeque};

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{
    agent::{AgentEvent, AgentResult, Ending, Usage},
    usage_limit::reset_time,
};

use crate::{
    agent::{
        Conclusion, Dialect,
        fields::{count, text_of},
        json::Json,
        jsonl::{
            Digits, by_status, first_line, limit_reached, mark_of, notice, other, parse_event,
            started, tool_done,
        },
        no_result,
    },
    process::Ended,
};

#[derive(Default)]
pub(super) struct CodexStream {
    /// Only what was asked for: the stream does not name it.
    model: Option<String>,
    session: Option<String>,
    /// Its last words so far.
    said: String,
    usage: Usage,
    /// The last tools that began and have not ended.
    running: VecDeque<String>,
    end: Option<TurnEnd>,
    /// Its words on a failure before it gave up, or was stopped.
    failure: Option<String>,
    auth_retries: u32,
}

enum TurnEnd {
    Completed,
    Failed(String),
}

/// Tools that run at once.
const MAX_RUNNING: usize = 100;
/// Retries after which a key that does not fit is not going to.
const HOPELESS_RETRIES: u32 = 2;

impl CodexStream {
    pub(super) fn asking(model: Option<String>) -> Self {
        Self {
            model,
            ..Self::default()
        }
    }
}

impl Dialect for CodexStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        let Some(event) = parse_event(line, &[]) else {
            return;
        };
        match event["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                self.session = event["thread_id"].as_str().map(str::to_owned);
                events.push(started(&self.model, &self.session));
            }
            "turn.started" => self.end = None,
            "item.started" => self.item_started(&event["item"], events),
            "item.completed" => self.item_completed(&event["item"], events),
            "item.updated" => {}
            "error" => self.failing(&text_of(&event["message"]), events),
            // Nothing of a turn is believed before the thread that it is in.
            "turn.completed" if self.session.is_some() => self.completed(&event["usage"], events),
            "turn.failed" if self.session.is_some() => {
                let message = first_line(event["error"]["message"].as_str().unwrap_or_default());
                self.end(TurnEnd::Failed(message), events);
            }
            kind => events.push(other(kind)),
        }
    }

    fn has_concluded(&self) -> bool {
        self.end.is_some()
    }

    /// It asks several times with a key that was refused.
    fn is_hopeless(&self) -> bool {
        self.end.is_none() && self.auth_retries >= HOPELESS_RETRIES
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let is_hopeless = self.is_hopeless();
        let ending = match (&self.end, &self.failure) {
            (Some(TurnEnd::Completed), _) => Ending::Finished,
            (Some(TurnEnd::Failed(message)), _) => self.by_message(message),
            (None, Some(failure)) if is_hopeless || ended == Ended::Code(1) => {
                self.by_message(failure)
            }
            (None, _) => no_result(ended, stderr),
        };
        Conclusion {
            model: self.model,
            usage: self.usage,
            ..Conclusion::in_words(ending, &self.said)
        }
    }
}

impl CodexStream {
    /// The time when the thread began, which its id tells: nearly now, for a time of day.
    fn began(&self) -> Option<Timestamp> {
        let id = uuid::Uuid::parse_str(self.session.as_deref()?).ok()?;
        let (seconds, _) = id.get_timestamp()?.to_unix();
        Timestamp::from_second(seconds.try_into().ok()?).ok()
    }

    fn by_message(&self, message: &str) -> Ending {
        match by_message(message) {
            Ending::Limit { .. } => Ending::Limit {
                resets_at: self
                    .began()
                    .and_then(|began| reset_time(message, began, &TimeZone::system())),
            },
            other => other,
        }
    }

    fn item_started(&mut self, item: &Json<'_>, events: &mut Vec<AgentEvent>) {
        if let Some(tool) = tool(item) {
            if self.running.len() == MAX_RUNNING {
                self.running.pop_front();
            }
            self.running.push_back(text_of(&item["id"]));
            events.push(tool.called(item));
        }
    }

    fn item_completed(&mut self, item: &Json<'_>, events: &mut Vec<AgentEvent>) {
        match item["type"].as_str().unwrap_or_default() {
            "agent_message" => {
                self.said = text_of(&item["text"]);
                self.auth_retries = 0;
                self.failure = None;
                let text = self.said.clone();
                events.push(AgentEvent::Text { text });
            }
            // Also what is but a warning comes as an item of this type.
            "error" => events.push(notice(text_of(&item["message"]))),
            _ => self.tool_completed(item, events),
        }
    }

    fn tool_completed(&mut self, item: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let Some(tool) = tool(item) else {
            return;
        };
        let id = item["id"].as_str().unwrap_or_default();
        match self.running.iter().rposition(|running| running == id) {
            Some(at) => {
                self.running.remove(at);
            }
            // Some come only when they are done.
            None => events.push(tool.called(item)),
        }
        let is_done = item["status"].as_str().is_none_or(|s| s == "completed");
        let code = item["exit_code"].as_f64();
        let ok = is_done && code.is_none_or(|code| code == 0.0);
        let answer = tool_done(&item["id"], ok, &item["aggregated_output"]);
        events.push(answer);
    }

    /// An error on the way: it tries again, or its turn fails next.
    fn failing(&mut self, message: &str, events: &mut Vec<AgentEvent>) {
        let message = first_line(message);
        let Some((attempt, reason)) = retry(&message) else {
            events.push(notice(message.clone()));
            self.failure = Some(message);
            return;
        };
        let is_auth = matches!(by_message(reason), Ending::Auth { .. });
        self.auth_retries += u32::from(is_auth);
        self.failure = Some(reason.to_owned());
        events.push(AgentEvent::Retry {
            attempt,
            reason: reason.to_owned(),
        });
    }

    fn completed(&mut self, usage: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let (read, written) = (
            count(&usage["cached_input_tokens"]),
            count(&usage["cache_write_input_tokens"]),
        );
        // Its input contains both.
        self.usage = Usage {
            input_tokens: count(&usage["input_tokens"]).saturating_sub(read + written),
            output_tokens: count(&usage["output_tokens"]),
            cache_read_tokens: read,
            cache_write_tokens: written,
            ..Usage::default()
        };
        events.push(AgentEvent::Usage(self.usage));
        self.end(TurnEnd::Completed, events);
    }

    fn end(&mut self, end: TurnEnd, events: &mut Vec<AgentEvent>) {
        let error = match &end {
            TurnEnd::Completed => None,
            TurnEnd::Failed(message) => Some(message.clone()),
        };
        if let Some(Ending::Limit { resets_at }) = error.as_deref().map(|e| self.by_message(e)) {
            events.push(limit_reached(resets_at));
        }
        events.push(AgentEvent::Result(AgentResult {
            ok: error.is_none(),
            text: self.said.clone(),
            error,
            ..AgentResult::default()
        }));
        self.end = Some(end);
    }
}

/// A tool by its name, and what it works on.
struct CodexTool<'j> {
    name: &'j str,
    target: Cow<'j, str>,
}

impl CodexTool<'_> {
    /// The event of its call, by the item that it was read from.
    fn called(&self, item: &Json<'_>) -> AgentEvent {
        AgentEvent::Tool {
            id: text_of(&item["id"]),
            name: self.name.to_owned(),
            target: first_line(&self.target),
            arguments: mark_of(&item["changes"], Digits::Count),
        }
    }
}

/// The tool of an item; nothing for an item that is no tool.
fn tool<'j>(item: &'j Json<'_>) -> Option<CodexTool<'j>> {
    let name = item["type"].as_str()?;
    let text = |value: &'j Json<'_>| Cow::Borrowed(value.as_str().unwrap_or_default());
    let target = match name {
        "command_execution" => text(&item["command"]),
        "file_change" => {
            let first = item["changes"].elements().first();
            first
                .map(|change| text(&change["path"]))
                .unwrap_or_default()
        }
        "mcp_tool_call" => Cow::Owned(format!("{} {}", text(&item["server"]), text(&item["tool"]))),
        "collab_tool_call" => text(&item["tool"]),
        "web_search" => text(&item["query"]),
        _ => return None,
    };
    Some(CodexTool { name, target })
}

/// `Reconnecting... 1/5 (why)`: which attempt, and why.
fn retry(message: &str) -> Option<(u32, &str)> {
    let rest = message.strip_prefix("Reconnecting... ")?;
    let (attempt, rest) = rest.split_once('/')?;
    let reason = rest.split_once('(').map_or(rest, |(_, reason)| reason);
    let reason = reason.strip_suffix(')').unwrap_or(reason);
    Some((attempt.parse().ok()?, reason))
}

/// The ending that a failure makes, by the sentence that Codex makes of it.
fn by_message(message: &str) -> Ending {
    let is_said = |words: &[&str]| words.iter().any(|word| message.contains(word));
    if is_said(&["hit your usage limit", "usage limit has been reached"]) {
        return Ending::Limit { resets_at: None };
    }
    let message = message.to_owned();
    if let Some(status) = status_in(&message) {
        return by_status(status, message);
    }
    if is_said(&["Quota exceeded", "upgrade to Plus"]) {
        return Ending::Rejected { message };
    }
    if is_said(&["Not logged in", "log in again", "sign in again"]) {
        return Ending::Auth { message };
    }
    if is_said(&["interrupted"]) {
        return Ending::Interrupted { message };
    }
    if is_said(&[
        "stream disconnected",
        "error sending request",
        "Connection failed",
        "high demand",
        "at capacity",
        "timed out",
    ]) {
        return Ending::Overloaded { message };
    }
    if is_said(&["context window"]) || message.starts_with("{\"error\"") {
        return Ending::Api { message };
    }
    Ending::Error { message }
}

/// The status of a response that a sentence tells.
fn status_in(message: &str) -> Option<u16> {
    let (_, rest) = ["unexpected status ", "last status: "]
        .iter()
        .find_map(|words| message.split_once(words))?;
    rest.get(..3)?.parse().ok()
}

#[cfg(test)]
mod tests;
