//! Describes what an agent's change may not contain, and what an agent may not do.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::GlobPattern;

/// What an agent's change may not contain, and what an agent may not do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SafetyConfig {
    /// True if the agent runs inside a sandbox.
    pub sandbox: bool,
    /// Programs that the agent may start; empty for any.
    pub allowed_commands: Vec<String>,
    /// Paths that an agent's change may not touch.
    pub protected_paths: Vec<GlobPattern>,
    /// Megabytes of the largest file that a change may add.
    pub max_file_mb: NonZeroU32,
    /// Paths in which things that look like secrets are accepted (test fixtures, say).
    pub secret_allow: Vec<GlobPattern>,
    /// Environment variables that agents and verify commands get although their names look like
    /// credentials. Those of the agent's own model are always passed.
    pub pass_env: Vec<String>,
}

impl Default for SafetyConfig {
    fn default() -> Self {
        Self {
            sandbox: false,
            allowed_commands: Vec::new(),
            protected_paths: Vec::new(),
            max_file_mb: const { NonZeroU32::new(50).expect("not zero") },
            secret_allow: Vec::new(),
            pass_env: Vec::new(),
        }
    }
}
