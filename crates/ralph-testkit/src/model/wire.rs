//! Describes what the server needs of an API to play a scenario over it. Scenarios, faults, records and holds
//! know no API; an API knows none of them.
//!
//! To add one: write `model/NAME.rs` with a type that implements [`Wire`], and name it in [`ALL`].
//! `kind_of` says which calls are its own, `read` turns a request into [`ParsedRequest`], and the rest
//! turn an [`Answer`] or an [`ApiError`] into bytes. The tools are translated before `Answer` is
//! made: where a client's tools have other names or parameters, add them to `model/tools.rs`.

use serde::Serialize;
use serde_json::Value;

use super::anthropic::Anthropic;
use super::fault::{LimitKind, UsageLimit};
use super::gemini::Gemini;
use super::openai::{Chat, Responses};
use super::scenario::{Stop, Usage, Warning};

/// The APIs that are spoken, on one port. The first that takes a call answers it.
pub(super) const ALL: [&dyn Wire; 4] = [&Anthropic, &Responses, &Chat, &Gemini];

pub(super) trait Wire: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns what a call is, by its method and its path without a query; `None` if it is of another API.
    fn kind_of(&self, method: &str, path: &str) -> Option<CallKind>;

    /// Returns what a request asks. The path is whole: some APIs name the model there.
    ///
    /// # Errors
    ///
    /// With what is wrong about the body, for a status of 400.
    fn read(&self, call: &HttpCall) -> Result<ParsedRequest, String>;

    /// The body of an answer to a token count.
    fn token_count(&self, body: &Value) -> Value;

    /// The whole answer in one body.
    fn whole(&self, answer: &Answer) -> Value;

    /// The answer as server-sent events.
    fn stream(&self, answer: &Answer) -> Frames;

    /// An error as an event of a stream.
    fn error_event(&self, kind: &str) -> String;

    fn error(&self, error: &ApiError) -> ErrorReply;

    /// Headers of an answer that succeeds although little is left.
    fn warning_headers(&self, warning: &Warning) -> Headers;
}

pub(super) type Headers = Vec<(String, String)>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallKind {
    /// The model is asked something.
    Ask,
    CountTokens,
}

/// A call as it came.
#[derive(Debug, Clone)]
pub(super) struct HttpCall {
    pub(super) method: String,
    /// With its query.
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: Headers,
    pub(super) body: Value,
}

impl HttpCall {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// Describes what a request asks, in the words that all APIs share.
#[derive(Debug, Clone)]
pub(super) struct ParsedRequest {
    /// The client's name for the session, if it tells.
    pub(super) session: Option<String>,
    pub(super) model: String,
    pub(super) streaming: bool,
    /// Everything that is neither a message nor a tool: instructions and the environment.
    pub(super) system: String,
    pub(super) messages: Vec<Message>,
    pub(super) tools: Vec<Tool>,
}

/// One message of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Message {
    pub role: Role,
    pub texts: Vec<String>,
    /// Texts of the tool results in it.
    pub tool_results: Vec<String>,
    /// Names of the tools that are called in it.
    pub tool_calls: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    System,
    User,
    Assistant,
}

/// A tool that the client offers.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    pub name: String,
    /// The JSON schema of its input.
    pub schema: Value,
}

impl ParsedRequest {
    pub(super) fn assistant_messages(&self) -> usize {
        let is_assistant = |message: &&Message| message.role == Role::Assistant;
        self.messages.iter().filter(is_assistant).count()
    }

    /// All text of the first user message.
    pub(super) fn first_user_text(&self) -> String {
        let is_user = |message: &&Message| message.role == Role::User;
        let first = self.messages.iter().find(is_user);
        first.map_or_else(String::new, |message| message.texts.join("\n"))
    }
}

/// Messages with those of one speaker in a row made one. Some APIs have an item for each text, call
/// and result; to a script, an answer is one answer however it was cut up.
pub(super) fn merged(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for message in messages {
        match all.last_mut() {
            Some(last) if last.role == message.role => {
                last.texts.extend(message.texts);
                last.tool_results.extend(message.tool_results);
                last.tool_calls.extend(message.tool_calls);
            }
            _ => all.push(message),
        }
    }
    all
}

/// Describes what the model answers.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) blocks: Vec<Block>,
    pub(super) stop: Stop,
    pub(super) usage: Usage,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Thinking(String),
    Text(String),
    Tool {
        id: String,
        name: String,
        input: Value,
    },
}

/// An answer as events, and how many of them come before a place within it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Frames {
    pub(super) frames: Vec<String>,
    pub(super) mid_stream: usize,
    pub(super) after_block: usize,
}

/// Describes what an API refuses a request with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ApiError {
    Status {
        status: u16,
        retry_after: Option<u64>,
        message: Option<String>,
    },
    UsageLimit(UsageLimit),
    Overflow,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ErrorReply {
    pub(super) status: u16,
    pub(super) headers: Headers,
    pub(super) body: Value,
}

impl LimitKind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::FiveHour => "five_hour",
            Self::SevenDay => "seven_day",
        }
    }
}

/// A text in pieces, as a model would send it: at least two where it can be halved, and none large.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    const LARGEST: usize = 16 * 1024;
    let size = text.len().div_ceil(2).clamp(1, LARGEST);
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.len().min(size);
        let end = (end..=rest.len()).find(|at| rest.is_char_boundary(*at));
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
