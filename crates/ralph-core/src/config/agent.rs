//! Which agent does the work.
//!
//! Only says what was asked for; whether ralph knows such an agent, and whether its program is there,
//! is found out by the engine.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{ClaudeConfig, Config, value::Argv};

/// The agent of a loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub enum AgentChoice {
    /// One that ralph knows by name, started as the section of that name says.
    Named(String),
    /// The embedded scripted agent, playing this file.
    Script(PathBuf),
    /// Any program; its arguments are `command.args`.
    Command(String),
    /// A program of the user's that speaks like an agent that ralph knows.
    Custom(Box<CustomAgent>),
}

/// A program that speaks like an agent that ralph knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CustomAgent {
    /// What it is called in records.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The program and its first arguments.
    pub command: Argv,
    /// The agent whose stream it writes: a name that `ralph agent list` shows.
    #[schemars(length(min = 1))]
    pub dialect: String,
    /// The model to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub model: Option<String>,
    /// Arguments that are added after ralph's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables that the agent gets in addition. They are never shown.
    #[serde(default, skip_serializing_if = "EnvVars::is_empty")]
    pub env: EnvVars,
}

impl CustomAgent {
    /// Puts what it says over the settings of the section that its dialect has.
    pub fn override_section(
        &self,
        command: &mut Argv,
        model: &mut Option<String>,
        args: &mut Vec<String>,
        env: &mut EnvVars,
    ) {
        command.clone_from(&self.command);
        if self.model.is_some() {
            model.clone_from(&self.model);
        }
        args.extend(self.args.iter().cloned());
        env.0.extend(self.env.0.clone());
    }
}

/// As it stands in a file: a word, or a map.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Word(String),
    Map(Box<CustomAgent>),
}

impl Default for AgentChoice {
    fn default() -> Self {
        Self::Named(ClaudeConfig::SECTION.to_owned())
    }
}

impl FromStr for AgentChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, rest) = match text.split_once(':') {
            Some((kind, rest)) => (kind, Some(rest.trim())),
            None => (text, None),
        };
        match (kind.trim(), rest) {
            ("script", Some(file)) if !file.is_empty() => Ok(Self::Script(file.into())),
            ("command", Some(program)) if !program.is_empty() => Ok(Self::Command(program.into())),
            ("script", _) => Err("a scripted agent needs its file: `script:FILE`".into()),
            ("command", _) => Err("a command agent needs its program: `command:PROGRAM`".into()),
            (name, None) if is_name(name) => Ok(Self::Named(name.to_owned())),
            (name, Some(_)) if has_model_key(name) => Err(format!(
                "`{name}` takes nothing after it; a model is set with `{name}.model`"
            )),
            _ => Err(format!(
                "unknown agent `{text}`; expected a name such as `claude` or `pi`, `script:FILE` or \
                 `command:PROGRAM`"
            )),
        }
    }
}

/// Tells whether an agent has a section of its own that names a model.
fn has_model_key(name: &str) -> bool {
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    defaults.get(name).is_some_and(|s| s.get("model").is_some())
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_lowercase())
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

impl TryFrom<Written> for AgentChoice {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Word(text) => text.parse(),
            Written::Map(custom) => Ok(Self::Custom(custom)),
        }
    }
}

impl From<AgentChoice> for Written {
    fn from(agent: AgentChoice) -> Self {
        match agent {
            AgentChoice::Custom(custom) => Self::Map(custom),
            word => Self::Word(word.to_string()),
        }
    }
}

impl std::fmt::Display for AgentChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => f.write_str(name),
            Self::Script(file) => write!(f, "script:{}", file.display()),
            Self::Command(program) => write!(f, "command:{program}"),
            Self::Custom(custom) => f.write_str(&custom.name),
        }
    }
}

impl JsonSchema for AgentChoice {
    fn schema_name() -> Cow<'static, str> {
        "AgentChoice".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let custom = CustomAgent::json_schema(generator);
        json_schema!({ "anyOf": [
            { "type": "string", "pattern": "^([a-z][a-z0-9-]*|script:.+|command:.+)$" },
            custom,
        ]})
    }
}

/// Environment variables whose values may be secrets: printing one for debugging shows its names.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct EnvVars(pub BTreeMap<String, String>);

impl EnvVars {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The variables in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v.as_str()))
    }

    /// Keeps the names, for what is written down.
    pub fn hide(&mut self) {
        for value in self.0.values_mut() {
            *value = "(not kept)".into();
        }
    }
}

impl std::fmt::Debug for EnvVars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EnvVars")
            .field(&self.0.keys().collect::<Vec<_>>())
            .finish()
    }
}

impl Config {
    /// The variables that agents get in addition, wherever they are set.
    pub fn agent_envs(&mut self) -> impl Iterator<Item = &mut EnvVars> {
        let choices = [Some(&mut self.agent), self.limits.fallback_agent.as_mut()];
        let custom = choices
            .into_iter()
            .flatten()
            .filter_map(|choice| match choice {
                AgentChoice::Custom(custom) => Some(&mut custom.env),
                AgentChoice::Named(_) | AgentChoice::Script(_) | AgentChoice::Command(_) => None,
            });
        custom.chain([&mut self.claude.env, &mut self.pi.env])
    }

    /// Returns the configuration without values that may be secret, for what is written down or sent.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let mut config = self.clone();
        config.agent_envs().for_each(EnvVars::hide);
        config.notify.hide();
        config
    }
}

/// How the program of a command agent is started.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandConfig {
    /// The arguments of the program.
    pub args: Vec<String>,
}
