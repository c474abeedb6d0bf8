//! Describes what can go wrong between a client and a model, one request at a time. Says what, not how it
//! looks on the wire.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "FaultFields")]
pub struct Fault {
    pub kind: FaultKind,
    pub repeat: Repeat,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// An error of the API.
    Status {
        status: u16,
        /// Seconds.
        retry_after: Option<u64>,
        /// Without it, what the API says with that status.
        message: Option<String>,
    },
    UsageLimit(UsageLimit),
    /// The prompt is too long.
    Overflow,
    /// Nothing more comes, and the connection stays open.
    Stall(Place),
    /// The connection ends.
    Cut(Place),
    /// The connection ends before anything was said: a cut before headers.
    RefuseConnection,
    /// An error event in a stream that began well.
    SseError(String),
}

/// The number of times that a fault comes before the next one does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeat {
    Times(usize),
    Forever,
}

/// A place in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    BeforeHeaders,
    /// Within the first block.
    MidStream,
    /// Between the end of the first block and what follows.
    AfterBlock,
}

/// A subscription that is used up.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageLimit {
    /// Seconds since 1970.
    pub resets_at: u64,
    #[serde(rename = "type")]
    pub kind: LimitKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    FiveHour,
    SevenDay,
}

/// A fault as it is written: one of these, and how often.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultFields {
    status: Option<u16>,
    retry_after: Option<u64>,
    message: Option<String>,
    usage_limit: Option<UsageLimit>,
    overflow: Option<bool>,
    stall: Option<Place>,
    cut: Option<Place>,
    refuse_connection: Option<bool>,
    sse_error: Option<String>,
    repeat: Option<RepeatField>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum RepeatField {
    Times(usize),
    Word(String),
}

/// Said to be so; one that is said not to be is no fault.
fn is_on(written: Option<bool>) -> bool {
    written == Some(true)
}

impl TryFrom<FaultFields> for Fault {
    type Error = String;

    fn try_from(written: FaultFields) -> Result<Self, String> {
        let repeat = match written.repeat {
            None => Repeat::Times(1),
            Some(RepeatField::Times(times)) => Repeat::Times(times),
            Some(RepeatField::Word(word)) if word == "forever" => Repeat::Forever,
            Some(RepeatField::Word(word)) => {
                return Err(format!("repeat is a number or forever, not {word}"));
            }
        };
        let (retry_after, message) = (written.retry_after, written.message);
        let is_detailed = retry_after.is_some() || message.is_some();
        if is_detailed && written.status.is_none() {
            return Err("retry_after and message belong to a status".to_owned());
        }
        let status = written.status.map(|status| FaultKind::Status {
            status,
            retry_after,
            message,
        });
        let named = [
            status,
            written.usage_limit.map(FaultKind::UsageLimit),
            is_on(written.overflow).then_some(FaultKind::Overflow),
            written.stall.map(FaultKind::Stall),
            written.cut.map(FaultKind::Cut),
            is_on(written.refuse_connection).then_some(FaultKind::RefuseConnection),
            written.sse_error.map(FaultKind::SseError),
        ];
        let mut kinds: Vec<FaultKind> = named.into_iter().flatten().collect();
        match (kinds.pop(), kinds.is_empty()) {
            (Some(kind), true) => Ok(Self { kind, repeat }),
            _ => Err(
                "a fault is one of status, usage_limit, overflow, stall, cut, \
                      refuse_connection, sse_error"
                    .to_owned(),
            ),
        }
    }
}
