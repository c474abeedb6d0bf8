//! Reads Gemini CLI's stream into events, and its result into an ending.
//!
//! What goes wrong while it asks again is on stderr alone: what takes long is ended by the limits of a
//! run, never from here.

use ralph_core::agent::{AgentEvent, AgentResult, Ending, FINAL_MESSAGE_BYTES, Usage};
use serde_json::Value;

use crate::{
    agent::{
        Conclusion, Dialect,
        fields::{count, text_of, word},
        json::Json,
        jsonl::{
            by_status, first_line, keep_end, notice, other, parse_event, started, tool_called,
            tool_done,
        },
        no_result,
    },
    process::Ended,
};

#[derive(Default)]
pub(super) struct GeminiStream {
    session: Option<String>,
    model: Option<String>,
    /// Its words since the last tool. They come in pieces.
    said: String,
    /// The part of that, in bytes, that was told as an event.
    told: usize,
    usage: Usage,
    result: Option<AgentResult>,
}

// Its exit codes, where it says no more.
const NOT_LOGGED_IN: i32 = 41;
const TURNS_USED_UP: i32 = 53;

impl Dialect for GeminiStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        let Some(event) = parse_event(line, &[]) else {
            return;
        };
        let kind = event["type"].as_str().unwrap_or_default();
        let is_piece = kind == "message" && event["role"] == "assistant";
        if !is_piece {
            self.tell(events);
        }
        match kind {
            "init" => self.begin(&event, events),
            "message" if is_piece => {
                if event["delta"] != true {
                    self.said.clear();
                    self.told = 0;
                }
                self.said
                    .push_str(event["content"].as_str().unwrap_or_default());
                if self.said.len() > 2 * FINAL_MESSAGE_BYTES {
                    self.tell(events);
                    keep_end(&mut self.said);
                    self.told = self.said.len();
                }
            }
            // The prompt comes back.
            "message" => {}
            "tool_use" => {
                self.said.clear();
                self.told = 0;
                let (id, name) = (&event["tool_id"], &event["tool_name"]);
                events.push(tool_called(id, name, &event["parameters"]));
            }
            "tool_result" => {
                events.push(tool_done(
                    &event["tool_id"],
                    event["status"] == "success",
                    &event["output"],
                ));
            }
            "error" => events.push(notice(text_of(&event["message"]))),
            // Nothing is believed before the session that it is in.
            "result" if self.session.is_some() => self.end(&event, events),
            kind => events.push(other(kind)),
        }
    }

    fn has_concluded(&self) -> bool {
        self.result.is_some()
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = match &self.result {
            Some(result) if result.ok => Ending::Finished,
            Some(result) => by_error(result.error.as_deref().unwrap_or_default(), ended),
            None => without_result(ended, stderr),
        };
        Conclusion {
            model: self.model,
            usage: self.usage,
            ..Conclusion::in_words(ending, &self.said)
        }
    }
}

impl GeminiStream {
    fn begin(&mut self, event: &Json<'_>, events: &mut Vec<AgentEvent>) {
        self.session = word(&event["session_id"]);
        self.model = word(&event["model"]);
        events.push(started(&self.model, &self.session));
    }

    /// Tells its words once they are whole.
    fn tell(&mut self, events: &mut Vec<AgentEvent>) {
        let text = &self.said[self.told..];
        if !text.trim().is_empty() {
            events.push(AgentEvent::Text {
                text: text.to_owned(),
            });
        }
        self.told = self.said.len();
    }

    fn end(&mut self, event: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let stats = &event["stats"];
        let count = |name: &str| count(&stats[name]);
        let (prompt, cached) = (count("input_tokens"), count("cached"));
        self.usage = Usage {
            input_tokens: prompt.saturating_sub(cached),
            // What it thought is in the total alone.
            output_tokens: count("output_tokens").max(count("total_tokens").saturating_sub(prompt)),
            cache_read_tokens: cached,
            ..Usage::default()
        };
        events.push(AgentEvent::Usage(self.usage));
        let ok = event["status"] == "success";
        let result = AgentResult {
            ok,
            text: self.said.clone(),
            error: (!ok).then(|| text_of(&event["error"]["message"])),
            ..AgentResult::default()
        };
        events.push(AgentEvent::Result(result.clone()));
        self.result = Some(result);
    }
}

/// The ending that an error of its result makes: by the status that the API refused with, which is its exit code
/// less 256, or stands in its message.
fn by_error(message: &str, ended: Ended) -> Ending {
    if is_quota(message) {
        return Ending::Limit { resets_at: None };
    }
    let status = status_in(message).or_else(|| status_of(ended));
    let message = first_line(message);
    match (status, ended) {
        (Some(status), _) => by_status(status, message),
        (None, Ended::Code(NOT_LOGGED_IN)) => Ending::Auth { message },
        (None, Ended::Code(TURNS_USED_UP)) => Ending::MaxTurns { message },
        (None, Ended::Code(_) | Ended::Signal(_)) => Ending::Error { message },
    }
}

fn without_result(ended: Ended, stderr: &str) -> Ending {
    let ending = no_result(ended, stderr);
    let message = ending.message().unwrap_or_default().to_owned();
    match ended {
        Ended::Code(NOT_LOGGED_IN) => Ending::Auth { message },
        Ended::Code(TURNS_USED_UP) => Ending::MaxTurns { message },
        Ended::Code(_) | Ended::Signal(_) => ending,
    }
}

/// Its own words for the quota of a day, which waiting a little does not bring back.
fn is_quota(message: &str) -> bool {
    message.contains("exhausted your daily quota") || message.contains("exhausted your capacity")
}

/// The code of an API's error in a message that holds it as JSON.
fn status_in(message: &str) -> Option<u16> {
    let (start, end) = (message.find('{')?, message.rfind('}')?);
    let body: Value = serde_json::from_str(message.get(start..=end)?).ok()?;
    body["error"]["code"].as_u64()?.try_into().ok()
}

/// An exit code holds eight bits of a status.
fn status_of(ended: Ended) -> Option<u16> {
    match ended {
        Ended::Code(code) => u16::try_from(code + 256)
            .ok()
            .filter(|status| (400..512).contains(status)),
        Ended::Signal(_) => None,
    }
}

#[cfg(test)]
mod tests;
