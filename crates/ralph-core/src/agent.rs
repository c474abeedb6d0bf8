//! Describes what an agent does while it runs, and how its run ended, in words that all dialects share.
//!
//! An event is what the agent's own stream said; nothing here decides whether it is believed.

mod beat;
mod ending;
mod line;
mod tool_calls;

pub use beat::{Beat, ToolKind, mark};
pub use ending::Ending;
pub use tool_calls::{CallResult, RunMoment, ToolCall, ToolCalls};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{economics::ModelCall, health::HealthState};

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
    /// Tells what has been used so far in this run.
    Usage(Usage),
    /// The model was asked once more: how much of its window is in use.
    Turn {
        model: Option<String>,
        context_tokens: u64,
        window: Option<u64>,
    },
    /// The model thinks; about how many tokens so far.
    Thinking {
        tokens: u64,
    },
    /// Work in the background of the agent: a command or a subagent.
    Background {
        id: String,
        state: String,
        what: String,
    },
    /// The agent's context was made smaller: what it knew is now a summary.
    Compacted {
        before: u64,
        after: u64,
    },
    /// The agent went over to another model.
    ModelChanged {
        from: String,
        to: String,
        reason: String,
    },
    /// A hook of the user's ran inside the agent.
    Hook {
        name: String,
        outcome: String,
    },
    /// A message to the running agent.
    Nudge {
        text: String,
        state: NudgeState,
    },
    /// The agent says something about itself.
    Notice {
        text: String,
    },
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

/// Describes what became of a message to a running agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NudgeState {
    /// Written to the agent.
    Sent,
    /// The agent said that it goes to the model.
    Delivered,
    /// This agent can't be told anything while it runs, or has ended.
    Impossible,
}

/// The fill of the context, turn by turn.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, into = "WrittenContext")]
pub struct ContextUse {
    /// Tokens that fit, where it is known.
    pub window: Option<u64>,
    /// Tokens in use at each turn of the agent's own; of very many, the last ones.
    pub turns: Vec<u64>,
}

/// Turns whose use is kept.
const MAX_TURNS: usize = 2_000;

/// As it is written down: with the shares beside the figures that they come from.
#[derive(Serialize)]
struct WrittenContext {
    window: Option<u64>,
    turns: Vec<u64>,
    utilisation: Vec<f64>,
}

impl From<ContextUse> for WrittenContext {
    fn from(context: ContextUse) -> Self {
        let round = |share: &f64| (share * 10_000.0).round() / 10_000.0;
        Self {
            utilisation: context.utilisation().iter().map(round).collect(),
            window: context.window,
            turns: context.turns,
        }
    }
}

impl ContextUse {
    pub fn push(&mut self, tokens: u64) {
        if self.turns.len() == MAX_TURNS {
            self.turns.remove(0);
        }
        self.turns.push(tokens);
    }

    /// Used ÷ window of each turn; nothing where the window is not known.
    pub fn utilisation(&self) -> Vec<f64> {
        match self.window {
            Some(window) if window > 0 => self
                .turns
                .iter()
                .map(|used| *used as f64 / window as f64)
                .collect(),
            Some(_) | None => Vec::new(),
        }
    }
}

/// The way one run of an agent ended, once its process and all that it started are gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentReport {
    pub ending: Ending,
    pub final_message: String,
    pub model: Option<String>,
    pub version: Option<String>,
    pub usage: Usage,
    #[serde(default)]
    pub context: ContextUse,
    pub turns: Option<u32>,
    /// Tools the agent asked for and was refused.
    pub denied: Vec<String>,
    pub seconds: f64,
    /// Calls to models, which come to `usage`.
    #[serde(default)]
    pub calls: Vec<ModelCall>,
    /// Tools that it used.
    #[serde(default)]
    pub tool_calls: u64,
    /// Says how well it did when it ended.
    #[serde(default)]
    pub health: HealthState,
}
