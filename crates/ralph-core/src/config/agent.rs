//! Which agent does the work, and how its program is started.
//!
//! Only says what was asked for; whether the program is there is found out by the engine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::value::Argv;

/// The agent of a loop.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum AgentChoice {
    /// Claude Code, started as the `claude` section says.
    #[default]
    Claude,
    /// The embedded scripted agent, playing this file.
    Script(PathBuf),
    /// Any program; its arguments are `command.args`.
    Command(String),
}

impl FromStr for AgentChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest.trim())),
            None => (text, None),
        };
        match (kind.trim(), rest) {
            ("claude", None) => Ok(Self::Claude),
            ("script", Some(file)) if !file.is_empty() => Ok(Self::Script(file.into())),
            ("command", Some(program)) if !program.is_empty() => Ok(Self::Command(program.into())),
            ("script", _) => Err("a scripted agent needs its file: `script:FILE`".into()),
            ("command", _) => Err("a command agent needs its program: `command:PROGRAM`".into()),
            ("claude", Some(_)) => {
                Err("`claude` takes nothing after it; a model is set with `claude.model`".into())
            }
            _ => Err(format!(
                "unknown agent `{text}`; expected `claude`, `script:FILE` or `command:PROGRAM`"
            )),
        }
    }
}

impl TryFrom<String> for AgentChoice {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<AgentChoice> for String {
    fn from(agent: AgentChoice) -> Self {
        agent.to_string()
    }
}

impl std::fmt::Display for AgentChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Claude => f.write_str("claude"),
            Self::Script(file) => write!(f, "script:{}", file.display()),
            Self::Command(program) => write!(f, "command:{program}"),
        }
    }
}

impl JsonSchema for AgentChoice {
    fn schema_name() -> Cow<'static, str> {
        "AgentChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(claude|script:.+|command:.+)$" })
    }
}

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
    /// What Claude Code may do without asking. An unattended agent cannot be asked.
    pub permission_mode: PermissionMode,
    /// Environment variables that the agent gets in addition. They are never shown.
    pub env: EnvVars,
}

impl Default for ClaudeConfig {
    fn default() -> Self {
        Self {
            command: claude_command(),
            args: Vec::new(),
            model: Some("sonnet".to_owned()),
            permission_mode: PermissionMode::Bypass,
            env: EnvVars::default(),
        }
    }
}

fn claude_command() -> Argv {
    Argv::try_from(vec!["claude".to_owned()]).expect("one word is a command line")
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

/// Environment variables whose values may be secrets: printing one for debugging shows its names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EnvVars(pub BTreeMap<String, String>);

impl std::fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EnvVars")
            .field(&self.0.keys().collect::<Vec<_>>())
            .finish()
    }
}

/// How the program of a command agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandConfig {
    /// The arguments of the program.
    pub args: Vec<String>,
}
