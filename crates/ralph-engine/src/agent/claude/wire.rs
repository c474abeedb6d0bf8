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
    #[serde(flatten)]
    pub(super) result: ResultFields,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResultFields {
    pub(super) is_error: Option<bool>,
    pub(super) result: Option<String>,
    pub(super) errors: Vec<String>,
    pub(super) num_turns: Option<u32>,
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
    /// A plain text: nothing that ralph reads.
    Other(serde::de::IgnoredAny),
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

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ModelUsage {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    pub(super) cache_read_input_tokens: u64,
    pub(super) cache_creation_input_tokens: u64,
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
