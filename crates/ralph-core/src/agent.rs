//! Describes what an agent does while it runs, and how its run ended, in words that all dialects share.
//!
//! An event is what the agent's own stream said; nothing here decides whether it is believed.

mod tool_calls;

pub use tool_calls::{Beat, CallResult, Mark, RunMoment, ToolCall, ToolCalls, ToolKind, mark};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    dollars::Dollars,
    economics::{Budget, ModelCall},
    handoff::HandoffTrigger,
    health::HealthState,
};

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
    Text { text: String },
    /// A tool began: its name, and the one thing that it works on.
    Tool {
        id: String,
        name: String,
        target: String,
        /// Tells its arguments from others; the same where the stream has none.
        #[serde(skip)]
        arguments: Mark,
    },
    ToolDone {
        id: String,
        ok: bool,
        /// Tells what it answered from other answers; the same where the stream has none.
        #[serde(skip)]
        answer: Mark,
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
    Thinking { tokens: u64 },
    /// Work in the background of the agent: a command or a subagent.
    Background {
        id: String,
        state: String,
        what: String,
    },
    /// The agent's context was made smaller: what it knew is now a summary.
    Compacted { before: u64, after: u64 },
    /// The agent went over to another model.
    ModelChanged {
        from: String,
        to: String,
        reason: String,
    },
    /// A hook of the user's ran inside the agent.
    Hook { name: String, outcome: String },
    /// A message to the running agent.
    Nudge { text: String, state: NudgeState },
    /// The agent says something about itself.
    Notice { text: String },
    /// The agent waits before it asks its model again.
    Retry { attempt: u32, reason: String },
    /// A usage limit was reported; `rejected` is the one that stops work.
    Limit {
        rejected: bool,
        resets_at: Option<Timestamp>,
        which: Option<String>,
    },
    /// The agent says that it has ended. The last one of a run counts.
    Result(AgentResult),
    /// Something this version does not know: kept in the log, otherwise harmless.
    Other { name: String },
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
    /// The cost as the agent told it; nothing where it told none.
    pub fn told(&self) -> Dollars {
        self.cost_usd.map_or(Dollars::NOTHING, Dollars::told)
    }

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

/// Turns whose use is kept, at least; of twice as many the older half is dropped.
const KEPT_TURNS: usize = 1_000;

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
        if self.turns.len() == 2 * KEPT_TURNS {
            self.turns.drain(..KEPT_TURNS);
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
    /// The hosts that it asked for, where its network is limited.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<Connection>,
}

/// A host that a program in a sandbox asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Connection {
    pub host: String,
    pub port: u16,
    /// False if it may not be reached, or could not.
    pub reached: bool,
    pub times: u64,
}

/// Why a run of an agent is over.
///
/// Says nothing of what the work is worth: that is a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    tag = "how",
    rename_all = "snake_case",
    rename_all_fields = "camelCase"
)]
pub enum Ending {
    /// It ended well by its own account. What that is worth is found out next.
    Finished,
    /// It ended without a word on how it went.
    NoResult {
        message: String,
    },
    /// The agent failed.
    Error {
        message: String,
    },
    /// Its API refused what it asked: a bad request, a prompt that is too long.
    Api {
        message: String,
    },
    /// Its API will not serve it, no matter who asks: no credit, no such model.
    Rejected {
        message: String,
    },
    /// Too many requests, an overloaded or failing server, no network: it passes.
    Overloaded {
        message: String,
    },
    /// Not logged in, or with a key that does not fit.
    Auth {
        message: String,
    },
    /// It can't work at all: not installed.
    Unavailable {
        message: String,
    },
    /// A usage limit: not the agent's fault, and no attempt is charged.
    Limit {
        resets_at: Option<Timestamp>,
    },
    /// The agent's own limit of turns.
    MaxTurns {
        message: String,
    },
    /// The agent's own limit of cost.
    Budget {
        message: String,
    },
    /// The model refused to do it.
    Refused {
        message: String,
    },
    /// Someone ended it: a signal, or a request to stop that ralph did not make.
    Interrupted {
        message: String,
    },
    TimedOut {
        minutes: u64,
    },
    /// It said nothing for too long.
    Silent {
        minutes: u64,
    },
    /// ralph stopped it: what the run of the command may cost is used up.
    OverBudget {
        spent_usd: Dollars,
        max_usd: Dollars,
        /// The budget that it was, where it is not the limit of the command itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        budget: Option<Budget>,
    },
    /// It was asked to wrap up, and a fresh agent goes on.
    HandedOff {
        trigger: HandoffTrigger,
    },
    /// ralph ended it: it made no progress, and nothing else helped.
    Terminated {
        reason: String,
    },
    /// A person or a signal stopped it.
    Stopped,
}

impl Ending {
    /// The one word for it, as `ralph agent explain` prints it.
    pub fn outcome(&self) -> &'static str {
        match self {
            Self::Finished => "completed",
            Self::NoResult { .. } => "no_result",
            Self::Error { .. } | Self::Unavailable { .. } => "agent_error",
            Self::Api { .. } | Self::Rejected { .. } => "api_error",
            Self::Overloaded { .. } => "overloaded",
            Self::Auth { .. } => "auth",
            Self::Limit { .. } => "usage_limit",
            Self::MaxTurns { .. } => "max_turns",
            Self::Budget { .. } | Self::OverBudget { .. } => "budget",
            Self::Refused { .. } => "refused",
            Self::Interrupted { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. }
            | Self::Terminated { .. }
            | Self::Stopped => "interrupted",
            Self::HandedOff { .. } => "handoff",
        }
    }

    /// Returns what the agent or its API said of it.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::NoResult { message }
            | Self::Error { message }
            | Self::Api { message }
            | Self::Rejected { message }
            | Self::Overloaded { message }
            | Self::Auth { message }
            | Self::Unavailable { message }
            | Self::MaxTurns { message }
            | Self::Budget { message }
            | Self::Refused { message }
            | Self::Interrupted { message }
            | Self::Terminated { reason: message } => Some(message),
            Self::Finished
            | Self::Limit { .. }
            | Self::TimedOut { .. }
            | Self::Silent { .. }
            | Self::OverBudget { .. }
            | Self::HandedOff { .. }
            | Self::Stopped => None,
        }
    }
}

impl AgentEvent {
    /// Returns what happened, in a line; an agent's own words can be several.
    ///
    /// Holds the agent's words as they came: the code that prints them makes them safe.
    pub fn line(&self) -> String {
        match self {
            Self::Started {
                model,
                version,
                session,
            } => {
                let mut line = "[started]".to_owned();
                for (name, value) in [("model", model), ("version", version), ("session", session)]
                {
                    if let Some(value) = value {
                        line.push_str(&format!(" {name} {value}"));
                    }
                }
                line
            }
            Self::Text { text } => text.clone(),
            Self::Tool { name, target, .. } => {
                let mut line = ["[", name, "] ", target].concat();
                line.truncate(line.trim_end().len());
                line
            }
            Self::ToolDone { ok: true, .. } => "[tool done]".into(),
            Self::ToolDone { ok: false, .. } => "[tool failed]".into(),
            Self::Usage(usage) => format!("[usage] {}", usage.line()),
            Self::Turn {
                model,
                context_tokens,
                window,
            } => turn(model.as_deref(), *context_tokens, *window),
            Self::Thinking { tokens } => format!("[thinking] {tokens} tokens"),
            Self::Background { id, state, what } => format!("[background {id}] {state} {what}")
                .trim()
                .to_owned(),
            Self::Compacted { before, after } => {
                format!("[compacted] context from {before} to {after} tokens")
            }
            Self::ModelChanged { from, to, reason } => {
                format!("[model changed] from {from} to {to}: {reason}")
            }
            Self::Hook { name, outcome } => format!("[hook {name}] {outcome}"),
            Self::Nudge { text, state } => match state {
                NudgeState::Sent => format!("[nudge sent] {text}"),
                NudgeState::Delivered => format!("[nudge delivered] {text}"),
                NudgeState::Impossible => format!("[nudge not possible] {text}"),
            },
            Self::Notice { text } => format!("[notice] {text}"),
            Self::Retry { attempt, reason } => format!("[retry {attempt}] {reason}"),
            Self::Limit {
                rejected,
                resets_at,
                which,
            } => {
                let mut line =
                    format!("[limit] {}", if *rejected { "reached" } else { "reported" });
                if let Some(which) = which {
                    line.push_str(&format!(", {which}"));
                }
                if let Some(at) = resets_at {
                    line.push_str(&format!(", resets at {at}"));
                }
                line
            }
            Self::Result(result) => {
                let mut line = format!("[result] {}", if result.ok { "ok" } else { "not ok" });
                if let Some(error) = &result.error {
                    line.push_str(&format!(": {error}"));
                }
                line
            }
            Self::Other { name } => format!("[{name}]"),
        }
    }
}

fn turn(model: Option<&str>, used: u64, window: Option<u64>) -> String {
    let mut line = "[turn]".to_owned();
    if let Some(model) = model {
        line.push_str(&format!(" {model},"));
    }
    line.push_str(&format!(" context {used}"));
    if let Some(window) = window.filter(|w| *w > 0) {
        line.push_str(&format!(
            " of {window} ({:.1} %)",
            used as f64 * 100.0 / window as f64
        ));
    }
    line
}

impl Usage {
    /// All figures, in a line.
    pub fn line(&self) -> String {
        let mut line = format!(
            "{} in, {} out, {} read from cache, {} written to it",
            self.input_tokens, self.output_tokens, self.cache_read_tokens, self.cache_write_tokens
        );
        if let Some(cost) = self.cost_usd {
            line.push_str(&format!(", ${cost:.4}"));
        }
        line
    }
}
