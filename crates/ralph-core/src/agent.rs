//! What an agent does while it runs, and how its run ended, in words that all dialects share.
//!
//! An event is what the agent's own stream said; nothing here decides whether it is believed.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Longest final message that is kept: signals stand at its end, so the end is what stays.
pub const FINAL_MESSAGE_BYTES: usize = 64 * 1024;

/// One thing that an agent's stream said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum AgentEvent {
    Started {
        model: Option<String>,
        version: Option<String>,
        session: Option<String>,
    },
    /// The agent's own words; a subagent's are not.
    Text {
        text: String,
    },
    /// A tool began: its name, and the one thing that it works on.
    Tool {
        id: String,
        name: String,
        target: String,
    },
    ToolDone {
        id: String,
        ok: bool,
    },
    /// What has been used so far in this run.
    Usage(Usage),
    /// The agent waits before it asks its model again.
    Retry {
        attempt: u32,
        reason: String,
    },
    /// A usage limit was reported; `rejected` is the one that stops work.
    Limit {
        rejected: bool,
        resets_at: Option<Timestamp>,
        which: Option<String>,
    },
    /// The agent says that it has ended. The last one of a run counts.
    Result(AgentResult),
    /// Something this version does not know: kept in the log, otherwise harmless.
    Other {
        name: String,
    },
}

/// The agent's own account of its end.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentResult {
    pub ok: bool,
    /// The final message. Only here are claims, promises and escalations looked for.
    pub text: String,
    pub error: Option<String>,
    pub turns: Option<u32>,
    pub denied: Vec<String>,
}

/// Tokens and money, summed over one run of an agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub cost_usd: Option<f64>,
    /// Tokens in the context at the last turn.
    pub context_tokens: u64,
}

impl Usage {
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens + self.cache_read_tokens + self.cache_write_tokens
    }

    /// Adds another run's figures; the context is that of the later one.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.context_tokens = other.context_tokens;
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (None, None) => None,
            (a, b) => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        };
    }
}

/// How one run of an agent ended, once its process and all that it started are gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    pub ending: Ending,
    pub final_message: String,
    pub model: Option<String>,
    pub version: Option<String>,
    pub usage: Usage,
    pub turns: Option<u32>,
    /// Tools the agent asked for and was refused.
    pub denied: Vec<String>,
    pub seconds: f64,
}

/// Why a run of an agent is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "how",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Ending {
    /// It ended well by its own account. What that is worth is found out next.
    Finished,
    /// The agent or its API failed.
    Error {
        message: String,
    },
    /// It can\'t work at all: not installed, not logged in.
    Unavailable {
        message: String,
    },
    /// A usage limit: nobody's fault, and no attempt is charged.
    Limit {
        resets_at: Option<Timestamp>,
    },
    TimedOut {
        minutes: u64,
    },
    /// It said nothing for too long.
    Silent {
        minutes: u64,
    },
    /// A person or a signal stopped it.
    Stopped,
}
