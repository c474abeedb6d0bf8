//! The section `claude`: how Claude Code is started.
//!
//! Only what its users set; the arguments that make a run fresh are the engine's.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvVars, KeyPath, Note, sections::section, value::Argv};

section! {
    /// How Claude Code is started.
    pub struct ClaudeConfig {
        /// The program and what comes before ralph's own arguments.
        pub command: Argv = Argv::one(Self::SECTION),
        /// Arguments that are added after ralph's own.
        pub args: Vec<String> = Vec::new(),
        /// The model to ask for. Claude Code's own choice depends on how it is logged in, so ralph always
        /// names one; `null` leaves it to Claude Code all the same.
        #[schemars(length(min = 1))]
        pub model: Option<String> = Some("sonnet".to_owned()),
        /// Models for tasks with a label: the first label of a task that stands here chooses.
        pub models: BTreeMap<String, String> = BTreeMap::new(),
        /// What Claude Code may do without asking. An unattended agent cannot be asked.
        pub permission_mode: PermissionMode = PermissionMode::Bypass,
        /// Tools that are allowed without asking, as Claude Code writes them: `Bash(cargo:*)`.
        pub allowed_tools: Vec<String> = Vec::new(),
        /// Tools that are never allowed.
        pub disallowed_tools: Vec<String> = Vec::new(),
        /// Text that is added to its system prompt.
        #[schemars(length(min = 1))]
        pub append_system_prompt: Option<String> = None,
        /// A settings file of Claude Code, or its JSON.
        #[schemars(length(min = 1))]
        pub settings: Option<String> = None,
        /// Which of its own settings are read: `user`, `project`, `local`. A project's settings and hooks
        /// come from the repository that an agent can write.
        pub setting_sources: Vec<SettingSource> = vec![SettingSource::User],
        /// Files with MCP servers, or their JSON. No others are started.
        pub mcp_config: Vec<String> = Vec::new(),
        /// Turns of the model in one run.
        pub max_turns: Option<NonZeroU32> = None,
        /// Environment variables that the agent gets in addition. They are never shown.
        pub env: EnvVars = EnvVars::default(),
    }
}

impl ClaudeConfig {
    /// The section's key, which is the agent's name.
    pub const SECTION: &str = "claude";

    /// Keys that people most often change, each with a comment for the first `ralph.yaml`.
    pub(super) const OFTEN_SET: &[(&str, &str)] = &[
        ("model", "null leaves the choice to Claude Code"),
        (
            "permission_mode",
            "bypass, default, acceptEdits, dontAsk or plan",
        ),
    ];

    /// Leaves `code` out of `claude code`, which was never a subcommand: today's Claude Code takes it for
    /// the prompt, and the real prompt is lost.
    pub(super) fn drop_code_argument(&mut self) -> Option<Note> {
        let program = Path::new(self.command.program()).file_name()?;
        let [first, rest @ ..] = self.command.args() else {
            return None;
        };
        if program != Self::SECTION || first != "code" {
            return None;
        }
        let words = [&[self.command.program().to_owned()], rest].concat();
        let shorter = Argv::try_from(words).ok()?;
        let message = format!(
            "the word `code` is left out: `{} code -p` would take it for the prompt",
            shorter.program()
        );
        self.command = shorter;
        Some(Note {
            key: Some(KeyPath::dotted("claude.command")),
            message,
        })
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

named! {
    /// Settings files of Claude Code.
    #[derive(JsonSchema)]
    pub enum SettingSource {
        User = "user",
        Project = "project",
        Local = "local",
    }
}
