//! Reads opencode's stream into events, and its last step into an ending.
//!
//! A tool is told only when it has ended, and a request that is asked again not at all: what takes long
//! is ended by the limits of a run, never from here.

use jiff::{SignedDuration, Timestamp};
use ralph_core::{
    agent::{AgentEvent, AgentResult, ContextUse, Ending, Usage},
    dollars::Dollars,
    economics::{Caller, ModelCall},
};
use serde_json::Value;

use crate::{
    agent::{
        Conclusion, Dialect,
        cost::CallLog,
        fields::{count, number, text_of},
        json::Json,
        jsonl::{
            by_status, first_line, keep_end, limit_reached, other, parse_event, started,
            tool_called, tool_done,
        },
        no_result,
    },
    process::Ended,
};

#[derive(Default)]
pub(super) struct OpenCodeStream {
    /// Only what was asked for: the stream does not name it.
    model: Option<String>,
    session: Option<String>,
    /// Its words in the step that it is in.
    said: String,
    usage: Usage,
    calls: CallLog,
    context: ContextUse,
    steps: u32,
    last: Option<LastEvent>,
}

/// The last event that can be an end.
enum LastEvent {
    Step { reason: String },
    Failed(Ending),
}

impl OpenCodeStream {
    pub(super) fn asking(model: Option<String>) -> Self {
        Self {
            model,
            ..Self::default()
        }
    }
}

impl Dialect for OpenCodeStream {
    fn read_line(&mut self, line: &[u8], events: &mut Vec<AgentEvent>) {
        let Some(event) = parse_event(line, &[]) else {
            return;
        };
        if !self.is_own(&event, events) {
            return events.push(other("event of another session"));
        }
        let part = &event["part"];
        match event["type"].as_str().unwrap_or_default() {
            "step_start" => {
                self.said.clear();
                self.last = None;
            }
            "text" => {
                let text = text_of(&part["text"]);
                if !self.said.is_empty() {
                    self.said.push('\n');
                }
                self.said.push_str(&text);
                keep_end(&mut self.said);
                events.push(AgentEvent::Text { text });
            }
            "tool_use" => tool_used(part, events),
            "step_finish" => self.step_finished(part, events),
            "error" => self.failed(&event, events),
            kind => events.push(other(kind)),
        }
    }

    /// The end of a step is the end of the run unless it was for the sake of its tools.
    fn has_concluded(&self) -> bool {
        match &self.last {
            Some(LastEvent::Step { reason }) => !goes_on(reason),
            Some(LastEvent::Failed(_)) => true,
            None => false,
        }
    }

    fn used(&mut self) -> Vec<ModelCall> {
        self.calls.take_new()
    }

    fn conclude(self: Box<Self>, ended: Ended, stderr: &str) -> Conclusion {
        let ending = match self.last {
            Some(LastEvent::Step { reason }) if !goes_on(&reason) => by_reason(&reason),
            Some(LastEvent::Failed(ending)) => ending,
            Some(LastEvent::Step { .. }) | None => no_result(ended, stderr),
        };
        Conclusion {
            model: self.model,
            usage: self.usage,
            calls: self.calls.into_all(),
            context: self.context,
            turns: Some(self.steps).filter(|steps| *steps > 0),
            ..Conclusion::in_words(ending, &self.said)
        }
    }
}

impl OpenCodeStream {
    /// The first session is its own; another's is a subagent's, or of another program.
    fn is_own(&mut self, event: &Json<'_>, events: &mut Vec<AgentEvent>) -> bool {
        let Some(session) = event["sessionID"].as_str() else {
            return false;
        };
        if self.session.is_none() {
            self.session = Some(session.to_owned());
            events.push(started(&self.model, &self.session));
        }
        self.session.as_deref() == Some(session)
    }

    fn step_finished(&mut self, part: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let tokens = &part["tokens"];
        let mut step = Usage {
            input_tokens: count(&tokens["input"]),
            output_tokens: count(&tokens["output"]) + count(&tokens["reasoning"]),
            cache_read_tokens: count(&tokens["cache"]["read"]),
            cache_write_tokens: count(&tokens["cache"]["write"]),
            cost_usd: part["cost"].as_f64(),
            context_tokens: 0,
        };
        step.context_tokens = step.input_tokens + step.cache_read_tokens + step.cache_write_tokens;
        self.usage.add(&step);
        self.calls.push(ModelCall {
            model: self.model.clone(),
            caller: Caller::Agent,
            tokens: step.into(),
            told: step.cost_usd.map(Dollars::told),
        });
        self.context.push(step.context_tokens);
        self.steps += 1;
        events.push(AgentEvent::Turn {
            model: self.model.clone(),
            context_tokens: step.context_tokens,
            window: None,
        });
        events.push(AgentEvent::Usage(self.usage));
        let reason = text_of(&part["reason"]);
        if !goes_on(&reason) {
            let error = match by_reason(&reason) {
                Ending::Finished => None,
                ending => ending.message().map(str::to_owned),
            };
            self.result(error, events);
        }
        self.last = Some(LastEvent::Step { reason });
    }

    fn failed(&mut self, event: &Json<'_>, events: &mut Vec<AgentEvent>) {
        let ending = by_error(event);
        if let Ending::Limit { resets_at } = ending {
            events.push(limit_reached(resets_at));
        }
        let message = first_line(&text_of(&event["error"]["data"]["message"]));
        self.result(Some(message), events);
        self.last = Some(LastEvent::Failed(ending));
    }

    fn result(&self, error: Option<String>, events: &mut Vec<AgentEvent>) {
        events.push(AgentEvent::Result(AgentResult {
            ok: error.is_none(),
            text: self.said.clone(),
            error,
            turns: Some(self.steps),
            ..AgentResult::default()
        }));
    }
}

fn tool_used(part: &Json<'_>, events: &mut Vec<AgentEvent>) {
    let state = &part["state"];
    let id = &part["callID"];
    events.push(tool_called(id, &part["tool"], &state["input"]));
    // A command that failed is completed too.
    let code = state["metadata"]["exit"].as_f64();
    let ok = state["status"] == "completed" && code.is_none_or(|code| code == 0.0);
    events.push(tool_done(id, ok, &state["output"]));
}

/// Tells whether another step follows one that ended for this reason.
fn goes_on(reason: &str) -> bool {
    matches!(reason, "tool-calls" | "unknown" | "")
}

fn by_reason(reason: &str) -> Ending {
    match reason {
        "stop" => Ending::Finished,
        "content-filter" => Ending::Refused {
            message: "the model's answer was withheld (content-filter)".into(),
        },
        "length" => Ending::Error {
            message: "the model's answer was cut at its greatest length".into(),
        },
        other => Ending::Error {
            message: format!("its last step ended by {}", first_line(other)),
        },
    }
}

fn by_error(event: &Json<'_>) -> Ending {
    let error = &event["error"];
    let data = &error["data"];
    let name = error["name"].as_str().unwrap_or_default();
    let message = match data["message"].as_str() {
        Some(message) if !message.trim().is_empty() => first_line(message),
        _ => first_line(name),
    };
    match name {
        "ProviderAuthError" => return Ending::Auth { message },
        "MessageAbortedError" => return Ending::Interrupted { message },
        "ContextOverflowError" => return Ending::Api { message },
        "ProviderModelNotFoundError" => return Ending::Rejected { message },
        _ => {}
    }
    match number::<u16>(&data["statusCode"]) {
        Some(429 | 402) if is_limit(data) => Ending::Limit {
            resets_at: resets_at(event),
        },
        Some(status) => by_status(status, message),
        // The API was not reached.
        None if name == "APIError" => Ending::Overloaded { message },
        None => Ending::Error { message },
    }
}

/// Tells whether a refusal says that a subscription or a quota is used up: by its type or code, where the body
/// has one.
fn is_limit(data: &Json<'_>) -> bool {
    let error = error_of_body(data);
    ["type", "code"]
        .iter()
        .filter_map(|key| error[*key].as_str())
        .any(|word| word == "usage_limit_reached" || word.ends_with("UsageLimitError"))
}

fn error_of_body(data: &Json<'_>) -> Value {
    let body = data["responseBody"].as_str().unwrap_or_default();
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body["error"].clone()
}

/// The time at which it passes: as the body says, else so many seconds after the event.
fn resets_at(event: &Json<'_>) -> Option<Timestamp> {
    let data = &event["error"]["data"];
    if let Some(at) = error_of_body(data)["resets_at"].as_i64() {
        return Timestamp::from_second(at).ok();
    }
    let now = Timestamp::from_millisecond(number(&event["timestamp"])?).ok()?;
    let wait: i64 = data["responseHeaders"]["retry-after"]
        .as_str()?
        .parse()
        .ok()?;
    now.checked_add(SignedDuration::from_secs(wait)).ok()
}

#[cfg(test)]
mod tests;
