//! Pi's events and answers, as far as ralph reads them. Unknown fields and types are fine, and a
//! figure that is none counts as nothing rather than spoiling its line.

use serde::{Deserialize, Deserializer, de::IgnoredAny};
use serde_json::{Map, Value};

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// Of a command that is answered, of a dialog that is asked, of the session.
    pub(super) id: Option<String>,
    pub(super) message: Option<Said>,
    /// `message_update`: what the message in the making has used.
    pub(super) usage: Option<Usage>,
    /// `agent_settled`; not in versions before 1.1.
    pub(super) aborted: Option<bool>,
    /// `auto_retry_start`, `summarization_retry_scheduled`.
    pub(super) attempt: Option<u32>,
    pub(super) error_message: Option<String>,
    /// `auto_retry_end`.
    pub(super) final_error: Option<String>,
    /// `compaction_start`, `compaction_end`.
    pub(super) reason: Option<String>,
    pub(super) error: Option<String>,
    pub(super) success: Option<bool>,
    pub(super) command: Option<String>,
    pub(super) data: Option<Data>,
    /// `extension_ui_request`.
    pub(super) method: Option<String>,
    pub(super) title: Option<String>,
    #[serde(flatten)]
    pub(super) tool: ToolFields,
}

/// Fields of `tool_execution_…`, and the result that a compaction has too.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ToolFields {
    pub(super) tool_call_id: Option<String>,
    pub(super) tool_name: Option<String>,
    pub(super) args: Option<Map<String, Value>>,
    pub(super) is_error: Option<bool>,
    pub(super) result: Option<Value>,
}

/// What stands under `message`: a whole one, or the words of a notice.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Said {
    Message(Box<Message>),
    Words(String),
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Message {
    pub(super) role: String,
    pub(super) content: Content,
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) stop_reason: Option<String>,
    /// The API's own word for it.
    pub(super) raw_stop_reason: Option<String>,
    pub(super) error_message: Option<String>,
    /// When it was made, in milliseconds.
    #[serde(deserialize_with = "count")]
    pub(super) timestamp: u64,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Blocks(Vec<Block>),
    /// Neither, which must not spoil the line.
    Other(IgnoredAny),
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
            Self::Other(_) => Vec::new(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
}

/// Tokens of one message; `input` is without what came from the cache or went into it.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Usage {
    #[serde(deserialize_with = "count")]
    pub(super) input: u64,
    #[serde(deserialize_with = "count")]
    pub(super) output: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_read: u64,
    #[serde(deserialize_with = "count")]
    pub(super) cache_write: u64,
    pub(super) cost: Option<Cost>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Cost {
    pub(super) total: Option<f64>,
}

/// The result of a compaction.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Compaction {
    #[serde(deserialize_with = "count")]
    pub(super) tokens_before: u64,
    #[serde(deserialize_with = "count")]
    pub(super) estimated_tokens_after: u64,
    pub(super) usage: Option<Usage>,
}

/// What an answer to a command holds.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Data {
    /// `prompt`: what became of it.
    pub(super) disposition: Option<String>,
    /// `get_state`.
    pub(super) session_id: Option<String>,
    pub(super) model: Option<Model>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Model {
    pub(super) provider: String,
    pub(super) id: String,
    #[serde(deserialize_with = "count")]
    pub(super) context_window: u64,
}

fn count<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let value = Value::deserialize(from)?;
    let rounded = || value.as_f64().filter(|n| *n > 0.0).map(|n| n as u64);
    Ok(value.as_u64().or_else(rounded).unwrap_or(0))
}
