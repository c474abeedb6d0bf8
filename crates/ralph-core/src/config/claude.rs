//! How Claude Code is started.
//!
//! Only what its users set; the arguments that make a run fresh are the engine's.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvVars, value::Argv};

/// How Claude Code is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClaudeConfig {
    /// The program and what comes before ralph's own arguments.
    pub command: Argv,
    /// Arguments that are added after ralph's own.
    pub args: Vec<String>,
    /// The model to ask for. Claude Code's own choice depends on how it is logged in, so ralph always
    /// names one; `null` leaves it to Claude Code all the same.
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Models for tasks with a label: the first label of a task that stands here chooses.
    pub models: BTreeMap<String, String>,
    /// What Claude Code may do without asking. An unattended agent cannot be asked.
    pub permission_mode: PermissionMode,
    /// Tools that are allowed without asking, as Claude Code writes them: `Bash(cargo:*)`.
    pub allowed_tools: Vec<String>,
    /// Tools that are never allowed.
    pub disallowed_tools: Vec<String>,
    /// Text that is added to its system prompt.
    #[schemars(length(min = 1))]
    pub append_system_prompt: Option<String>,
    /// A settings file of Claude Code, or its JSON.
    #[schemars(length(min = 1))]
    pub settings: Option<String>,
    /// Which of its own settings are read: `user`, `project`, `local`. A project's settings and hooks
    /// come from the repository that an agent can write.
    pub setting_sources: Vec<SettingSource>,
    /// Files with MCP servers, or their JSON. No others are started.
    pub mcp_config: Vec<String>,
    /// Turns of the model in one run.
    pub max_turns: Option<NonZeroU32>,
    /// Environment variables that the agent gets in addition. They are never shown.
    pub env: EnvVars,
}

impl Default for ClaudeConfig {
    fn default() -> Self {
        Self {
            command: Argv::one("claude"),
            args: Vec::new(),
            model: Some("sonnet".to_owned()),
            models: BTreeMap::new(),
            permission_mode: PermissionMode::Bypass,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            append_system_prompt: None,
            settings: None,
            setting_sources: vec![SettingSource::User],
            mcp_config: Vec::new(),
            max_turns: None,
            env: EnvVars::default(),
        }
    }
}

/// Permission modes of Claude Code, by the names of `ralph.yaml`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum PermissionMode {
    Bypass,
    Default,
    AcceptEdits,
    DontAsk,
    Plan,
}

impl PermissionMode {
    /// The value that Claude Code's `--permission-mode` takes.
    pub fn claude_name(self) -> &'static str {
        match self {
            Self::Bypass => "bypassPermissions",
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::DontAsk => "dontAsk",
            Self::Plan => "plan",
        }
    }
}

/// Settings files of Claude Code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SettingSource {
    User,
    Project,
    Local,
}

impl SettingSource {
    /// The word that Claude Code's `--setting-sources` takes.
    pub fn claude_name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}
