//! Reads what Pi says of a request that failed: a status, the API's own words, or Pi's.
//!
//! By the status and the API's code first; words decide only between kinds of the same status.

use jiff::{Timestamp, tz::TimeZone};
use ralph_core::{agent::Ending, usage_limit::reset_time};
use serde_json::Value;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    status: Option<u16>,
    /// The API's code for it: `overloaded_error`.
    code: Option<String>,
    /// In a line, for a person.
    pub(super) message: String,
    /// All of it, in small letters.
    words: String,
}

/// Longest account of a failure that is passed on.
const MESSAGE_CHARS: usize = 300;

impl Failure {
    /// From `429 {…}`, `429: {…}`, `{…}` or plain words.
    pub(super) fn read(text: &str) -> Self {
        let (status, rest) = leading_status(text);
        let body: Option<Value> = serde_json::from_str(rest).ok();
        let error = body.as_ref().map(|b| b.get("error").unwrap_or(b));
        let field = |name: &str| error.and_then(|e| e.get(name));
        let word = |name: &str| field(name).and_then(Value::as_str).map(str::to_owned);
        let inner = field("code").and_then(Value::as_u64);
        let status = status.or_else(|| inner.and_then(|n| u16::try_from(n).ok()));
        let code = word("type").or_else(|| word("code")).or(word("status"));
        let said = word("message").unwrap_or_else(|| rest.trim().to_owned());
        let shown = [status.map(|s| s.to_string()), code.clone()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ");
        let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = match shown.is_empty() {
            true => line,
            false => format!("{shown}: {line}"),
        };
        Self {
            status,
            code,
            message: message.chars().take(MESSAGE_CHARS).collect(),
            words: text.to_lowercase(),
        }
    }

    /// What kind of ending it makes. `retried`: Pi itself took it for something that passes.
    pub(super) fn ending(self, at: Option<Timestamp>, retried: bool) -> Ending {
        let message = self.message.clone();
        let is_limit = matches!(self.status, None | Some(402 | 403 | 429));
        if is_limit && (self.says(&USED_UP) || self.says(&NO_CREDIT)) {
            let resets_at = at.and_then(|at| reset_time(&self.words, at, &TimeZone::system()));
            // What ends by itself is a limit, also where the API speaks of plans and bills.
            return match resets_at.is_none() && self.says(&NO_CREDIT) {
                true => Ending::Rejected { message },
                false => Ending::Limit { resets_at },
            };
        }
        match (self.status, self.code.as_deref().unwrap_or("")) {
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

    fn says(&self, any: &[&str]) -> bool {
        any.iter().any(|words| self.words.contains(words))
    }
}

/// Nobody is served before somebody pays.
const NO_CREDIT: [&str; 5] = [
    "insufficient_quota",
    "credit balance",
    "available balance",
    "out of budget",
    "billing",
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
