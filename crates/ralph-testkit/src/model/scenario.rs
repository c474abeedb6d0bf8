//! Describes what the model answers: conversations and their turns, read from YAML or JSON. Knows nothing of
//! how an answer looks on the wire.

use serde::Deserialize;
use serde_json::Value;

use super::fault::{Fault, LimitKind, Place};

/// All that the model will say.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    pub conversations: Vec<Conversation>,
}

/// The text is no scenario.
#[derive(Debug, thiserror::Error)]
#[error("this is no scenario: {0}")]
pub struct ScenarioError(String);

/// Describes what is answered from a first message on. The first conversation that fits and is not used up is
/// taken.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Conversation {
    /// A part of the first user message; without it, any fits.
    pub when: Option<String>,
    /// The number of conversations it is good for; without it, any number.
    pub times: Option<usize>,
    /// True if it answers requests that offer no tools, and those alone. Otherwise these are taken
    /// for requests on the side (a title, a summary) and get a short text.
    pub without_tools: bool,
    pub turns: Vec<Turn>,
}

/// One answer, and what goes wrong before it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    pub thinking: Option<String>,
    pub say: Option<String>,
    /// So many bytes of generated text, after what is said.
    pub fill: Option<usize>,
    pub tools: Vec<ToolUse>,
    pub usage: Usage,
    /// Without it, `tool_use` with tools and `end_turn` without.
    pub stop: Option<Stop>,
    /// Played one a request, in order, before the answer is given.
    pub faults: Vec<Fault>,
    /// Sent along with an answer that succeeds.
    pub warning: Option<Warning>,
    pub hold: Option<Hold>,
}

/// A tool to be used, in words of our own; the request's list of tools says how the client calls it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolUse {
    Write {
        path: String,
        content: String,
    },
    Edit {
        path: String,
        old: String,
        new: String,
    },
    Bash(Bash),
    Read(String),
    /// A tool by its name at the client, with its input as it is.
    Call {
        name: String,
        #[serde(default)]
        input: Value,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Bash {
    Plain(String),
    Limited {
        command: String,
        /// Seconds, whatever the client counts in.
        timeout: Option<u64>,
    },
}

/// Describes what the answer is said to have cost. Input does not contain what was cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input: 100,
            output: 20,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

/// Why an answer ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    StopSequence,
    PauseTurn,
    Refusal,
}

/// The subscription is nearly used up.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// `five_hour` or `seven_day`.
    #[serde(rename = "type", default = "five_hour")]
    pub kind: LimitKind,
    /// Seconds since 1970.
    pub resets_at: u64,
    pub utilization: f64,
}

fn five_hour() -> LimitKind {
    LimitKind::FiveHour
}

/// Where an answer waits for the test.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Hold {
    BeforeHeaders(String),
    At { name: String, at: Place },
}

impl Hold {
    pub(super) fn parts(&self) -> (&str, Place) {
        match self {
            Self::BeforeHeaders(name) => (name, Place::BeforeHeaders),
            Self::At { name, at } => (name, *at),
        }
    }
}

impl Scenario {
    /// Reads YAML, and so JSON.
    ///
    /// # Errors
    ///
    /// If it is no scenario; unknown keys are no scenario.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        serde_saphyr::from_str(text).map_err(|error| ScenarioError(error.to_string()))
    }
}

#[cfg(test)]
mod tests;
