//! The sandbox that a person asks for.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// The sandbox around agents and verify commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SandboxWord", into = "SandboxWord")]
pub enum SandboxMode {
    /// A sandbox where the machine allows one; ralph says so where it does not.
    Auto,
    /// A sandbox; ralph does not start where the machine allows none.
    Required,
    /// None.
    Off,
}

/// As it stands in a file: a word, or yes and no.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum SandboxWord {
    Flag(bool),
    Name(String),
}

impl TryFrom<SandboxWord> for SandboxMode {
    type Error = String;

    fn try_from(word: SandboxWord) -> Result<Self, String> {
        match word {
            SandboxWord::Flag(true) => Ok(Self::Required),
            SandboxWord::Flag(false) => Ok(Self::Off),
            SandboxWord::Name(name) => match name.as_str() {
                "auto" => Ok(Self::Auto),
                // A variable of the environment is a text.
                "required" | "true" => Ok(Self::Required),
                "off" | "false" => Ok(Self::Off),
                other => Err(format!(
                    "`{other}` is none of `auto`, `required` (or true) and `off` (or false)"
                )),
            },
        }
    }
}

impl From<SandboxMode> for SandboxWord {
    fn from(mode: SandboxMode) -> Self {
        Self::Name(mode.name().to_owned())
    }
}

impl SandboxMode {
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Required => "required",
            Self::Off => "off",
        }
    }
}

impl JsonSchema for SandboxMode {
    fn schema_name() -> Cow<'static, str> {
        "SandboxMode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The sandbox around agents and verify commands.",
            "anyOf": [
                { "type": "string", "enum": ["auto", "required", "off", "true", "false"] },
                { "type": "boolean" },
            ],
        })
    }
}

/// The hosts that an agent reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AgentNetwork {
    /// Every one.
    Open,
    /// Those of its model, and `safety.allow_hosts`.
    ModelOnly,
    /// None.
    Off,
}

/// The hosts that verify commands reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyNetwork {
    /// None, unless the baseline shows that they need some.
    Auto,
    /// Every one.
    Open,
    /// None.
    Off,
}
