//! Decides from what Pi said how its run ended.
//!
//! By the last answer, once Pi has settled; the exit code counts only where nothing was said at all. A
//! request that failed is read by the API's codes and the status first; words decide only between kinds
//! of the same status.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{agent::Ending, sanitize::fold, usage_limit};
use serde_json::Value;

use crate::{
    agent::{
        asked_to_end, describe_end,
        fields::{moment, said_texts, text_of, word},
        json::Json,
        jsonl::first_line,
        no_result,
    },
    process::Ended,
};

/// Everything that is known of the end of a run.
#[derive(Default)]
pub(super) struct PiRunState {
    /// The last answer of the model.
    pub(super) last: Option<PiAnswer>,
    /// `Some` while Pi has nothing left to do; whether it was aborted.
    pub(super) settled: Option<Aborted>,
    /// The reason why the prompt was never worked on.
    pub(super) refused: Option<String>,
    pub(super) has_begun: bool,
    /// Something was said, or a tool was used.
    pub(super) did_anything: bool,
    /// Pi asked again until it gave up.
    pub(super) gave_up: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aborted {
    Yes,
    No,
}

/// An answer of the model.
pub(super) struct PiAnswer {
    pub(super) text: String,
    stop: String,
    /// The API's own word for why it stopped.
    raw_stop: String,
    error: Option<String>,
    at: Option<Timestamp>,
}

impl PiAnswer {
    pub(super) fn read(message: &Json<'_>) -> Self {
        let texts: Vec<&str> = said_texts(&message["content"]).collect();
        Self {
            text: texts.join("\n"),
            stop: text_of(&message["stopReason"]),
            raw_stop: text_of(&message["rawStopReason"]),
            error: word(&message["errorMessage"]),
            at: moment(&message["timestamp"]),
        }
    }
}

/// Words of the APIs for an answer that they withhold.
const REFUSALS: [&str; 5] = [
    "refusal",
    "sensitive",
    "content_filter",
    "SAFETY",
    "PROHIBITED_CONTENT",
];

/// The ending of the run by Pi's own account; `None` as long as there is none.
pub(super) fn account(state: &PiRunState) -> Option<Ending> {
    if let Some(reason) = &state.refused {
        return Some(not_begun(reason));
    }
    match state.settled? {
        Aborted::Yes => Some(Ending::Interrupted {
            message: "it was aborted".into(),
        }),
        Aborted::No => Some(match &state.last {
            Some(answer) => by_answer(answer, state),
            None => Ending::NoResult {
                message: "it settled without an answer".into(),
            },
        }),
    }
}

/// The ending of the run, given how the process ended.
pub(super) fn ending(state: &PiRunState, ended: Ended, stderr: &str) -> Ending {
    if let Some(ending) = account(state) {
        return ending;
    }
    if state.has_begun || asked_to_end(ended) || stderr.trim().is_empty() {
        return no_result(ended, stderr);
    }
    match not_begun(complaint(stderr)) {
        Ending::Error { message } if message.is_empty() => Ending::Error {
            message: describe_end(ended, stderr),
        },
        ending => ending,
    }
}

fn by_answer(answer: &PiAnswer, state: &PiRunState) -> Ending {
    let error = answer.error.clone().unwrap_or_default();
    match answer.stop.as_str() {
        // A tool of an extension can end a run: then the call of it is the last word.
        "stop" | "toolUse" if state.did_anything => Ending::Finished,
        "stop" | "toolUse" => Ending::NoResult {
            message: "the model answered with nothing".into(),
        },
        "length" => Ending::Error {
            message: "truncated: the model reached its limit of output tokens".into(),
        },
        "aborted" => Ending::Interrupted {
            message: "it was aborted".into(),
        },
        "error" if REFUSALS.contains(&answer.raw_stop.as_str()) => Ending::Refused {
            message: ApiFailure::read(&error).message,
        },
        "error" => ApiFailure::read(&error).ending(answer.at, state.gave_up),
        other => Ending::Error {
            message: format!("it ended by {other:?}"),
        },
    }
}

/// The ending of a run whose prompt Pi did not take, by its own words: it has no codes for it.
fn not_begun(reason: &str) -> Ending {
    let message = first_line(reason);
    let begins = |any: &[&str]| any.iter().any(|words| message.starts_with(words));
    if begins(&[
        "No API key",
        "Authentication failed",
        "No model selected",
        "No models available",
    ]) {
        return Ending::Auth { message };
    }
    if begins(&["Model "]) && message.contains("not found") {
        return Ending::Rejected { message };
    }
    Ending::Error { message }
}

/// The complaint on stderr: warnings can stand before it, and places to read on behind it.
fn complaint(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|l| !l.is_empty());
    lines()
        .find_map(|line| line.strip_prefix("Error: "))
        .or_else(|| lines().find(|line| !line.starts_with("Warning:")))
        .unwrap_or("")
}

/// A request that failed: a status, the API's own words, or Pi's.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ApiFailure {
    status: Option<u16>,
    /// The API's codes for it, the most telling one first: `overloaded_error`.
    codes: Vec<String>,
    /// In a line, for a person.
    pub(super) message: String,
    /// The API's own words.
    said: String,
    /// All of it, as it came.
    text: String,
}

/// Longest account of a failure that is passed on.
const MESSAGE_CHARS: usize = 300;

impl ApiFailure {
    /// From `429 {…}`, `429: {…}`, `{…}` or plain words.
    pub(super) fn read(text: &str) -> Self {
        let (status, rest) = leading_status(text);
        let body: Option<Value> = serde_json::from_str(rest).ok();
        let error = body.as_ref().map(|b| b.get("error").unwrap_or(b));
        let field = |name: &str| error.and_then(|e| e.get(name));
        let word = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
        let inner = field("code").and_then(Value::as_u64);
        let status = status.or_else(|| inner.and_then(|n| u16::try_from(n).ok()));
        let codes: Vec<String> = ["type", "code", "status"]
            .into_iter()
            .filter_map(word)
            .collect();
        let said = word("message").unwrap_or_else(|| rest.trim().to_owned());
        let shown = [status.map(|s| s.to_string()), codes.first().cloned()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let line = fold(&said);
        let message = if shown.is_empty() {
            line
        } else {
            format!("{shown}: {line}")
        };
        Self {
            status,
            codes,
            message: message.chars().take(MESSAGE_CHARS).collect(),
            said,
            text: text.to_owned(),
        }
    }

    /// The ending that it makes. `retried`: Pi itself took it for something that passes.
    pub(super) fn ending(self, at: Option<Timestamp>, retried: bool) -> Ending {
        let message = self.message.clone();
        if self.is_busy() {
            return Ending::Overloaded { message };
        }
        if self.is_used_up(at) {
            let zone = TimeZone::system();
            let resets_at = at.and_then(|at| usage_limit::reset_time(&self.text, at, &zone));
            // What ends by itself is a limit, also where the API speaks of plans and bills.
            return if resets_at.is_none() && self.says(&NO_CREDIT) {
                Ending::Rejected { message }
            } else {
                Ending::Limit { resets_at }
            };
        }
        match (self.status, self.codes.first().map_or("", String::as_str)) {
            (Some(401 | 403), _) | (None, "authentication_error" | "permission_error") => {
                Ending::Auth { message }
            }
            (Some(402), _) | (None, "billing_error") => Ending::Rejected { message },
            (Some(404), _) | (None, "not_found_error") => Ending::Rejected { message },
            (Some(408 | 429 | 500..=599), _)
            | (None, "overloaded_error" | "rate_limit_error" | "api_error" | "timeout_error") => {
                Ending::Overloaded { message }
            }
            (Some(_), _) | (None, "invalid_request_error") => Ending::Api { message },
            (None, _) if self.says(&ABORTED) => Ending::Interrupted { message },
            (None, _) if retried || self.says(&NETWORK) => Ending::Overloaded { message },
            (None, _) => Ending::Error { message },
        }
    }

    /// Too many requests at once, which passes in a moment; how to pay for more is often said with it.
    fn is_busy(&self) -> bool {
        let is_code = |code: &String| RATE_LIMITED.contains(&code.as_str());
        self.codes.iter().any(is_code) && !self.says(&USED_UP)
    }

    /// Tells whether there is nothing left to use, of a plan or of money.
    fn is_used_up(&self, at: Option<Timestamp>) -> bool {
        match self.status {
            // A request that is not allowed at all is not helped by waiting.
            Some(401 | 403) => false,
            None | Some(402 | 429) => self.says(&USED_UP) || self.says(&NO_CREDIT),
            // The words can stand in what was sent: only a whole notice counts.
            Some(_) => {
                let at = at.unwrap_or_default();
                usage_limit::notice(&self.said, at, &TimeZone::system()).is_some()
            }
        }
    }

    fn says(&self, any: &[&str]) -> bool {
        let text = self.text.to_lowercase();
        any.iter().any(|words| text.contains(words))
    }
}

/// Codes for too many requests in a while.
const RATE_LIMITED: [&str; 2] = ["rate_limit_exceeded", "rate_limit_error"];

/// Nothing is served before it is paid for.
const NO_CREDIT: [&str; 8] = [
    "insufficient_quota",
    "credit balance",
    "available balance",
    "out of budget",
    "billing_error",
    "billing details",
    "billing_hard_limit",
    "billing hard limit",
];

/// It passes, at a time that the API knows.
const USED_UP: [&str; 7] = [
    "usage limit",
    "usage_limit",
    "usagelimit",
    "used up your limit",
    "hit your limit",
    "quota exceeded",
    "exceeded your current quota",
];

const ABORTED: [&str; 2] = ["this operation was aborted", "request was aborted"];

/// Words of Pi's, and of what it is made with, for an answer that did not come whole.
const NETWORK: [&str; 8] = [
    "connection error",
    "stream ended",
    "fetch failed",
    "terminated",
    "timed out",
    "timeout",
    "socket",
    "network",
];

fn leading_status(text: &str) -> (Option<u16>, &str) {
    let text = text.trim();
    let (head, rest) = text.split_at(text.find([' ', ':']).unwrap_or(text.len()));
    match head.parse::<u16>() {
        Ok(status @ 400..=599) => (Some(status), rest.trim_start_matches(':').trim()),
        _ => (None, text),
    }
}

#[cfg(test)]
mod tests;
