//! Pi's events and answers, as far as ralph reads them.
//!
//! Unknown fields and types are fine, and no field can spoil its event: what is of another kind than it
//! should be counts as missing. Each field that is added here has its `lenient` reader.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::agent::lenient;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type", deserialize_with = "lenient::any")]
    pub(super) kind: String,
    /// Of a command that is answered, of a dialog that is asked, of the session.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) message: Option<Said>,
    /// `message_update`: what the message in the making has used.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
    /// `agent_settled`; not in versions before 1.1.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) aborted: Option<bool>,
    /// `auto_retry_start`, `summarization_retry_scheduled`.
    #[serde(deserialize_with = "lenient::number")]
    pub(super) attempt: Option<u32>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) error_message: Option<String>,
    /// `auto_retry_end`.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) final_error: Option<String>,
    /// `compaction_start`, `compaction_end`.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) reason: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) error: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) success: Option<bool>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) command: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) data: Option<Data>,
    /// `extension_ui_request`.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) method: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) title: Option<String>,
    #[serde(flatten)]
    pub(super) tool: ToolFields,
}

/// Fields of `tool_execution_…`, and the result that a compaction has too.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolFields {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_call_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_name: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) args: Option<Map<String, Value>>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) is_error: Option<bool>,
    pub(super) result: Option<Value>,
}

/// What stands under `message`: a whole one, or the words of a notice.
#[derive(Debug)]
pub(super) enum Said {
    Message(Box<Message>),
    Words(String),
}

impl<'de> Deserialize<'de> for Said {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(words) => Self::Words(words),
            other => Self::Message(Message::deserialize(other).unwrap_or_default().into()),
        })
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) role: String,
    pub(super) content: Content,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) provider: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) stop_reason: Option<String>,
    /// The API's own word for it.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) raw_stop_reason: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) error_message: Option<String>,
    /// When it was made.
    #[serde(deserialize_with = "lenient::moment")]
    pub(super) timestamp: Option<Timestamp>,
}

#[derive(Debug)]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => Self::Text(text),
            other => Self::Blocks(lenient::elements(other)),
        })
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl Content {
    /// What is said in it; thoughts and calls of tools are not.
    pub(super) fn texts(&self) -> Vec<&str> {
        match self {
            Self::Text(text) => vec![text],
            Self::Blocks(blocks) => blocks
                .iter()
                .filter(|block| block.kind == "text")
                .filter_map(|block| block.text.as_deref())
                .collect(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type", deserialize_with = "lenient::any")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) text: Option<String>,
}

/// Tokens of one message; `input` is without what came from the cache or went into it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    #[serde(deserialize_with = "lenient::count")]
    pub(super) input: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) output: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_read: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_write: u64,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) cost: Option<Cost>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    #[serde(deserialize_with = "lenient::amount")]
    pub(super) total: Option<f64>,
}

/// The result of a compaction.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compaction {
    #[serde(deserialize_with = "lenient::count")]
    pub(super) tokens_before: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) estimated_tokens_after: u64,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
}

/// What an answer to a command holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Data {
    /// `prompt`: what became of it.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) disposition: Option<String>,
    /// `get_state`.
    #[serde(deserialize_with = "lenient::any")]
    pub(super) session_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) model: Option<Model>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Model {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) provider: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) id: String,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) context_window: u64,
}
