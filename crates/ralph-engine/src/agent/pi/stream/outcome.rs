//! Decides from what Pi said how its run ended.
//!
//! By the last answer, once Pi has settled; the exit code counts only where nothing was said at all.

use jiff::Timestamp;
use ralph_core::agent::Ending;

use super::super::wire::Message;
use super::failure::Failure;
use crate::agent::{asked_to_end, describe_end, no_result};
use crate::process;

/// What is known of the end of a run.
#[derive(Default)]
pub(super) struct Known {
    /// The last answer of the model.
    pub(super) last: Option<Answer>,
    /// `Some` while Pi has nothing left to do; whether it was aborted.
    pub(super) settled: Option<Aborted>,
    /// Why the prompt was never worked on.
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

pub(super) struct Answer {
    pub(super) text: String,
    stop: String,
    /// The API's own word for why it stopped.
    raw_stop: String,
    error: Option<String>,
    at: Option<Timestamp>,
}

impl Answer {
    pub(super) fn read(message: &Message) -> Self {
        Self {
            text: message.content.texts().join("\n"),
            stop: message.stop_reason.clone().unwrap_or_default(),
            raw_stop: message.raw_stop_reason.clone().unwrap_or_default(),
            error: message.error_message.clone(),
            at: message.timestamp,
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

/// How the run ended by Pi's own account; `None` as long as there is none.
pub(super) fn account(known: &Known) -> Option<Ending> {
    if let Some(reason) = &known.refused {
        return Some(not_begun(reason));
    }
    match known.settled? {
        Aborted::Yes => Some(Ending::Interrupted {
            message: "it was aborted".into(),
        }),
        Aborted::No => Some(match &known.last {
            Some(answer) => by_answer(answer, known),
            None => Ending::NoResult {
                message: "it settled without an answer".into(),
            },
        }),
    }
}

/// How the run ended, given how the process did.
pub(super) fn ending(known: &Known, ended: process::Ended, stderr: &str) -> Ending {
    if let Some(ending) = account(known) {
        return ending;
    }
    if known.has_begun || asked_to_end(ended) || stderr.trim().is_empty() {
        return no_result(ended, stderr);
    }
    match not_begun(complaint(stderr)) {
        Ending::Error { message } if message.is_empty() => Ending::Error {
            message: describe_end(ended, stderr),
        },
        ending => ending,
    }
}

fn by_answer(answer: &Answer, known: &Known) -> Ending {
    let error = answer.error.clone().unwrap_or_default();
    match answer.stop.as_str() {
        // A tool of an extension can end a run: then the call of it is the last word.
        "stop" | "toolUse" if known.did_anything => Ending::Finished,
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
            message: Failure::read(&error).message,
        },
        "error" => Failure::read(&error).ending(answer.at, known.gave_up),
        other => Ending::Error {
            message: format!("it ended by {other:?}"),
        },
    }
}

/// Why Pi did not take the prompt, by its own words: it has no codes for it.
fn not_begun(reason: &str) -> Ending {
    let message: String = reason
        .lines()
        .next()
        .unwrap_or("")
        .trim()
        .chars()
        .take(300)
        .collect();
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

/// What stderr complains of: warnings can stand before it, and places to read on behind it.
fn complaint(stderr: &str) -> &str {
    let lines = || stderr.lines().map(str::trim).filter(|l| !l.is_empty());
    lines()
        .find_map(|line| line.strip_prefix("Error: "))
        .or_else(|| lines().find(|line| !line.starts_with("Warning:")))
        .unwrap_or("")
}
