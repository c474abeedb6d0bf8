//! Claude Code's stream-json events, as far as ralph reads them. Unknown fields and types are fine.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub(super) struct Line {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) subtype: Option<String>,
    #[serde(default)]
    pub(super) session_id: Option<String>,
    #[serde(default)]
    pub(super) parent_tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) message: Option<Message>,
    #[serde(default)]
    pub(super) rate_limit_info: Option<RateLimit>,
    /// `assistant` and `api_retry`: a code such as `rate_limit`.
    #[serde(default)]
    pub(super) error: Option<serde_json::Value>,
    #[serde(default)]
    pub(super) attempt: Option<u32>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) claude_code_version: Option<String>,
    #[serde(default)]
    pub(super) timestamp: Option<jiff::Timestamp>,
    /// What was said to the agent, on its way to the model.
    #[serde(default, rename = "isReplay")]
    pub(super) is_replay: bool,
    #[serde(default)]
    pub(super) event: Option<PartialEvent>,
    #[serde(default)]
    pub(super) request_id: Option<String>,
    #[serde(default)]
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
    pub(super) original_model: Option<String>,
    pub(super) fallback_model: Option<String>,
    pub(super) trigger: Option<String>,
    pub(super) estimated_tokens: Option<u64>,
    pub(super) task_id: Option<String>,
    pub(super) patch: Option<Patch>,
    /// A word, or nothing.
    pub(super) status: Option<serde_json::Value>,
    pub(super) summary: Option<String>,
    pub(super) description: Option<String>,
    pub(super) compact_metadata: Option<Compaction>,
    pub(super) hook_name: Option<String>,
    pub(super) outcome: Option<String>,
    pub(super) text: Option<String>,
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
    pub(super) status: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Compaction {
    pub(super) pre_tokens: u64,
    pub(super) post_tokens: u64,
}

/// A part of a message in the making.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartialEvent {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) message: Option<Message>,
    pub(super) usage: Option<Usage>,
}

/// What Claude Code asks of whoever started it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Request {
    pub(super) tool_name: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultFields {
    pub(super) is_error: Option<bool>,
    pub(super) result: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) num_turns: Option<u32>,
    pub(super) stop_reason: Option<String>,
    pub(super) api_error_status: Option<u16>,
    pub(super) terminal_reason: Option<String>,
    pub(super) total_cost_usd: Option<f64>,
    pub(super) usage: Option<Usage>,
    #[serde(rename = "modelUsage")]
    pub(super) model_usage: std::collections::BTreeMap<String, ModelUsage>,
    pub(super) permission_denials: Vec<Denial>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Message {
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) content: Content,
    #[serde(default)]
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Blocks(Vec<Block>),
    Text(String),
    Other(serde::de::IgnoredAny),
}

impl Content {
    /// All text of a message.
    pub(super) fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => blocks.iter().filter_map(|b| b.text.as_deref()).collect(),
            Self::Other(_) => String::new(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type", default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) text: Option<String>,
    #[serde(default)]
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) input: Option<serde_json::Map<String, serde_json::Value>>,
    #[serde(default)]
    pub(super) tool_use_id: Option<String>,
    #[serde(default)]
    pub(super) is_error: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
}

impl Usage {
    /// The larger of each figure: a message's own only grow.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cache_read_input_tokens: self
                .cache_read_input_tokens
                .max(other.cache_read_input_tokens),
            cache_creation_input_tokens: self
                .cache_creation_input_tokens
                .max(other.cache_creation_input_tokens),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
    pub(super) context_window: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RateLimit {
    pub(super) status: String,
    #[serde(rename = "resetsAt")]
    pub(super) resets_at: Option<i64>,
    #[serde(rename = "rateLimitType")]
    pub(super) which: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Denial {
    pub(super) tool_name: String,
    pub(super) tool_input: serde_json::Map<String, serde_json::Value>,
}
