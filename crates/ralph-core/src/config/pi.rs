//! The section `pi`: how Pi is started.
//!
//! Only what its users set; the arguments that make a run fresh are the engine's.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{EnvVars, sections::section, value::Argv};

section! {
    /// How Pi is started.
    pub struct PiConfig {
        /// The program and what comes before ralph's own arguments.
        pub command: Argv = Argv::one(Self::SECTION),
        /// Arguments that are added after ralph's own.
        pub args: Vec<String> = Vec::new(),
        /// The model to ask for, as `PROVIDER/ID`; `null` leaves it to Pi's own settings.
        #[schemars(length(min = 1))]
        pub model: Option<String> = None,
        /// Models for tasks with a label: the first label of a task that stands here chooses.
        pub models: BTreeMap<String, String> = BTreeMap::new(),
        /// `rpc` can be told something while it runs and stops when it is asked to; `json` can't.
        pub mode: PiMode = PiMode::Rpc,
        /// How much the model thinks, as Pi's `--thinking` takes it.
        #[schemars(length(min = 1))]
        pub thinking: Option<String> = None,
        /// The tools that it has; none given: Pi's own choice.
        pub tools: Vec<String> = Vec::new(),
        /// Text that is added to its system prompt.
        #[schemars(length(min = 1))]
        pub append_system_prompt: Option<String> = None,
        /// True if the repository's own `.pi/` extensions and settings are used. They come from files that
        /// an agent can write.
        pub trust_project: bool = false,
        /// Environment variables that the agent gets in addition. They are never shown.
        pub env: EnvVars = EnvVars::default(),
    }
}

impl PiConfig {
    /// The section's key, which is the agent's name.
    pub const SECTION: &str = "pi";
}

/// The two headless modes of Pi.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PiMode {
    Json,
    Rpc,
}
