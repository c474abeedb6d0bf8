//! Claude Code's stream-json events, as far as ralph reads them.
//!
//! Unknown fields and types are fine, and no field can spoil its event: what is of another kind than it
//! should be counts as missing. Each field that is added here has its `lenient` reader.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::agent::lenient;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Line {
    #[serde(rename = "type", deserialize_with = "lenient::any")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) subtype: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) session_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) message: Option<Message>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) rate_limit_info: Option<RateLimit>,
    /// `assistant` and `api_retry`: a code such as `rate_limit`.
    pub(super) error: Option<Value>,
    #[serde(deserialize_with = "lenient::number")]
    pub(super) attempt: Option<u32>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) model: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) claude_code_version: Option<String>,
    #[serde(deserialize_with = "lenient::moment")]
    pub(super) timestamp: Option<Timestamp>,
    /// What was said to the agent, on its way to the model.
    #[serde(rename = "isReplay", deserialize_with = "lenient::any")]
    pub(super) is_replay: bool,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) event: Option<PartialEvent>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) request_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) request: Option<Request>,
    #[serde(flatten)]
    pub(super) system: SystemFields,
    #[serde(flatten)]
    pub(super) result: ResultFields,
}

/// Fields of `system` events.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct SystemFields {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) original_model: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) fallback_model: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) trigger: Option<String>,
    #[serde(deserialize_with = "lenient::number")]
    pub(super) estimated_tokens: Option<u64>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) task_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) patch: Option<Patch>,
    /// A word, or nothing.
    pub(super) status: Option<Value>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) summary: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) description: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) compact_metadata: Option<Compaction>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) hook_name: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) outcome: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) state: Option<String>,
}

impl SystemFields {
    pub(super) fn status_word(&self) -> Option<String> {
        self.status.as_ref()?.as_str().map(str::to_owned)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Patch {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) status: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Compaction {
    #[serde(deserialize_with = "lenient::count")]
    pub(super) pre_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) post_tokens: u64,
}

/// A part of a message in the making.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartialEvent {
    #[serde(rename = "type", deserialize_with = "lenient::any")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) message: Option<Message>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
}

/// What Claude Code asks of whoever started it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultFields {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) is_error: Option<bool>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) result: Option<String>,
    #[serde(deserialize_with = "lenient::list")]
    pub(super) errors: Vec<String>,
    #[serde(deserialize_with = "lenient::number")]
    pub(super) num_turns: Option<u32>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) stop_reason: Option<String>,
    #[serde(deserialize_with = "lenient::number")]
    pub(super) api_error_status: Option<u16>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) terminal_reason: Option<String>,
    #[serde(deserialize_with = "lenient::amount")]
    pub(super) total_cost_usd: Option<f64>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
    #[serde(rename = "modelUsage", deserialize_with = "lenient::table")]
    pub(super) model_usage: BTreeMap<String, ModelUsage>,
    #[serde(deserialize_with = "lenient::list")]
    pub(super) permission_denials: Vec<Denial>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Message {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) model: Option<String>,
    pub(super) content: Content,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) usage: Option<Usage>,
}

#[derive(Debug)]
pub(super) enum Content {
    Blocks(Vec<Block>),
    Text(String),
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(from)? {
            Value::String(text) => Self::Text(text),
            other => Self::Blocks(lenient::elements(other)),
        })
    }
}

impl Content {
    /// All text of a message.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks.iter().filter_map(|b| b.text.as_deref()).collect(),
        }
    }
}

impl Content {
    /// How many bytes the model wrote for it.
    pub(super) fn written(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Blocks(blocks) => blocks.iter().map(Block::written).sum(),
        }
    }
}

impl Block {
    fn written(&self) -> usize {
        let texts = [&self.text, &self.thinking, &self.name];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let input = self.input.as_ref().map(|input| Value::from(input.clone()));
        texts + input.map_or(0, |input| input.to_string().len())
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Block {
    #[serde(rename = "type", deserialize_with = "lenient::any")]
    pub(super) kind: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) text: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) thinking: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) name: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) input: Option<Map<String, Value>>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_use_id: Option<String>,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) is_error: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(deserialize_with = "lenient::count")]
    pub(super) input_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) output_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_read_input_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_creation_input_tokens: u64,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelUsage {
    #[serde(deserialize_with = "lenient::count")]
    pub(super) input_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) output_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_read_input_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) cache_creation_input_tokens: u64,
    #[serde(deserialize_with = "lenient::count")]
    pub(super) context_window: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) status: String,
    #[serde(rename = "resetsAt", deserialize_with = "lenient::moment")]
    pub(super) resets_at: Option<Timestamp>,
    /// Work goes on, and costs extra.
    #[serde(rename = "isUsingOverage", deserialize_with = "lenient::any")]
    pub(super) is_using_overage: bool,
    #[serde(rename = "rateLimitType", deserialize_with = "lenient::any")]
    pub(super) which: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial {
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_name: String,
    #[serde(deserialize_with = "lenient::any")]
    pub(super) tool_input: Map<String, Value>,
}
