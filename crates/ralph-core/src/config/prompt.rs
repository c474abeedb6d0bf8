//! Describes how much of each thing goes into a prompt: every part has a cap.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::GlobPattern;

/// How much of each thing goes into a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptConfig {
    /// Entries of a list of files.
    pub file_list: NonZeroU32,
    /// Bytes of the Codebase Patterns of the progress file.
    pub patterns_bytes: NonZeroU64,
    /// Bytes of `AGENTS.md`.
    pub agents_md_bytes: NonZeroU64,
    /// Bytes of a task's description.
    pub description_bytes: NonZeroU64,
    /// Searches whose matches are put into every prompt.
    pub greps: Vec<Grep>,
}

impl Default for PromptConfig {
    fn default() -> Self {
        const EIGHT_KB: NonZeroU64 = NonZeroU64::new(8_192).expect("not zero");
        Self {
            file_list: const { NonZeroU32::new(100).expect("not zero") },
            patterns_bytes: EIGHT_KB,
            agents_md_bytes: EIGHT_KB,
            description_bytes: const { NonZeroU64::new(65_536).expect("not zero") },
            greps: Vec::new(),
        }
    }
}

/// A search whose matches are put into every prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Grep {
    /// The regular expression to look for.
    #[schemars(length(min = 1))]
    pub pattern: String,
    /// Where to look; empty for all files that git knows.
    #[serde(default)]
    pub paths: Vec<GlobPattern>,
    /// The number of matching lines are kept.
    #[serde(default = "Grep::default_max_lines")]
    pub max_lines: NonZeroU32,
}

impl Grep {
    fn default_max_lines() -> NonZeroU32 {
        const { NonZeroU32::new(20).expect("not zero") }
    }
}
