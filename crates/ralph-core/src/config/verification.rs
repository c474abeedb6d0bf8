//! Describes how ralph finds out for itself whether work is done.

use std::num::{NonZeroU32, NonZeroU64};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::value::Minutes;
use crate::task::VerifyCommand;

/// How ralph finds out for itself whether work is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct VerificationConfig {
    /// Commands that must all pass before anything is committed: each a list of words, or a line
    /// for the shell.
    pub commands: Vec<VerifyCommand>,
    /// Commands that format the code; they run before the tree to be verified is written.
    pub format: Vec<VerifyCommand>,
    /// Minutes after which a single command counts as failed.
    pub timeout_minutes: Minutes,
    /// What happens when a command was already failing before the loop changed anything.
    pub known_failures: KnownFailures,
    /// True if the commands run once before the first iteration, so that a failure that was there
    /// already can be told from a new one.
    pub baseline: bool,
    /// The number of lines of a failing command's output the next prompt gets.
    pub tail_lines: NonZeroU32,
    /// The number of bytes of a failing command's output the next prompt gets.
    pub tail_bytes: NonZeroU64,
}

impl Default for VerificationConfig {
    fn default() -> Self {
        Self {
            commands: Vec::new(),
            format: Vec::new(),
            timeout_minutes: Minutes::whole(15),
            known_failures: KnownFailures::Refuse,
            baseline: true,
            tail_lines: const { NonZeroU32::new(200).expect("not zero") },
            tail_bytes: const { NonZeroU64::new(16_384).expect("not zero") },
        }
    }
}

/// What happens when a command was already failing before the loop changed anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KnownFailures {
    /// Nothing lands while a command fails, no matter who broke it.
    Refuse,
    /// A command that fails as it did at the start does not block.
    Allow,
}
