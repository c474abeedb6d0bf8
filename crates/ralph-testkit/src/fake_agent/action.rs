//! Everything the fake agent can do, as it is written in a scenario: `{"do": "say", "text": "hi"}`.
//!
//! In texts, paths and commands `{{NAME}}` stands for the environment variable of that name.

use serde::Deserialize;
use serde_json::Value;

/// One step.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    tag = "do",
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Action {
    // What a good agent does.
    /// A message of the agent; the last one is the result's text.
    Say {
        text: String,
    },
    Write {
        path: String,
        text: String,
    },
    Append {
        path: String,
        text: String,
    },
    Delete {
        path: String,
    },
    /// Replaces the first occurrence.
    Patch {
        path: String,
        find: String,
        replace: String,
    },
    /// A shell command in a session of its own, as Claude Code runs them; also for git.
    Run {
        command: String,
    },
    /// Tells what the next messages say of tokens.
    Usage(FakeAgentUsage),
    /// A `result` event. Without one, a good result is sent at the end.
    Result(ResultFields),

    // What it says of itself, for tests to look at.
    /// Appends the prompt to a file.
    RecordPrompt {
        file: String,
    },
    /// Appends a line of JSON with pid, arguments, folder and environment.
    RecordSelf {
        file: String,
    },

    // Processes that stay.
    /// A child in its own session that lives on.
    SpawnChild(Child),
    /// Says nothing until a file appears; for ever without one.
    Hang {
        until_file: Option<String>,
    },
    /// Waits for another message on an open stdin, and tells that it came.
    AwaitMessage,
    SleepMs {
        ms: u64,
    },

    // Output that is hard to read.
    /// Lines of plain text, so many bytes in all.
    Flood {
        bytes: u64,
    },
    /// One message of so many bytes.
    HugeLine {
        bytes: usize,
    },
    /// Written as it is, without a newline of our own.
    Raw {
        text: String,
    },
    /// The same for what is no text: NUL, invalid UTF-8.
    Bytes {
        bytes: Vec<u8>,
    },
    Stderr {
        text: String,
    },
    /// Any event; session and id are added.
    Event {
        event: Value,
    },
    /// A message with another event in the middle of its line.
    Inject {
        text: String,
        event: Value,
    },
    /// Half of a good result, then the end.
    Cut {
        code: u8,
    },
    /// A subprocess prints a result on the agent's stdout.
    FakeResult {
        text: String,
        /// True if it knows the session.
        #[serde(default)]
        own_session: bool,
    },

    // Ends.
    /// Without a result, unless one was sent.
    Exit {
        code: u8,
    },
    /// By its own hand; the name has no `SIG`.
    KillSelf {
        signal: String,
    },
    /// Only the words of a usage limit, in a good result with exit code 0.
    UsageLimitText {
        text: Option<String>,
    },
    /// A usage limit as it is really told: event, message, failed result, exit code 1.
    RateLimited(RateLimit),
    /// The event alone, for any state of the limit.
    RateLimitEvent(RateLimit),
    ApiRetry(ApiRetry),
    /// A failed API call: message, failed result, exit code 1.
    ApiError {
        status: Option<u16>,
        error: String,
        text: String,
    },
    MaxTurns {
        turns: u32,
    },
}

/// A process that stays.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Child {
    /// Gets the child's pid as the child sees it, which in a namespace is not that of the outside.
    pub pid_file: String,
    #[serde(default = "sleep_long")]
    pub command: String,
    /// True if it keeps the agent's output open.
    #[serde(default)]
    pub hold_output: bool,
}

/// Describes what a `rate_limit_event` says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    /// `allowed`, `allowed_warning` or `rejected`.
    #[serde(default = "rejected")]
    pub status: String,
    /// Seconds since 1970.
    pub resets_at: u64,
    #[serde(default = "five_hour")]
    pub kind: String,
    pub utilization: Option<f64>,
}

/// Describes what an `api_retry` event says.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiRetry {
    pub attempt: u32,
    pub max: u32,
    pub delay_ms: f64,
    pub status: Option<u16>,
    pub error: String,
}

/// Tokens of a message.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FakeAgentUsage {
    pub input: u64,
    pub cache_creation: u64,
    pub cache_read: u64,
    pub output: u64,
    /// Dollars a message.
    pub cost: f64,
    pub context_window: u64,
}

impl Default for FakeAgentUsage {
    fn default() -> Self {
        Self {
            input: 100,
            cache_creation: 3_000,
            cache_read: 12_000,
            output: 50,
            cost: 0.0265,
            context_window: 200_000,
        }
    }
}

/// Describes what a `result` event says where it is not the usual.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ResultFields {
    /// Else what was said last.
    pub text: Option<String>,
    /// `success`, or an `error_…`, which has `errors` and no text.
    pub subtype: Option<String>,
    pub is_error: bool,
    pub api_error_status: Option<u16>,
    pub num_turns: Option<u32>,
    pub cost: Option<f64>,
    pub stop_reason: Option<String>,
    /// `""`: the field is left out.
    pub terminal_reason: Option<String>,
    pub errors: Vec<String>,
}

fn sleep_long() -> String {
    "exec sleep 1000".into()
}

fn five_hour() -> String {
    "five_hour".into()
}

fn rejected() -> String {
    "rejected".into()
}
