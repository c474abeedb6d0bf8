//! Tool calls of a run that came before, and which of them are progress.
//!
//! Bounded whatever the agent does.

use std::collections::{HashMap, HashSet};

use crate::agent::{CallResult, ToolCall, ToolKind};

/// Different calls that are kept in mind at most.
const MOST: usize = 4_096;

/// Describes what a call is to the run it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// A command that passes, and has not passed before in this run.
    Progress,
    Nothing,
}

/// Calls of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    passed: HashSet<u64>,
    since_progress: HashMap<(u64, CallResult), u32>,
    /// The number of times that the call that came most often did.
    most: u32,
}

impl Memory {
    pub(super) fn note(&mut self, call: &ToolCall) -> Worth {
        match (call.kind, call.result) {
            (ToolKind::Command, CallResult::Ok) => {
                if self.passed.len() >= MOST {
                    // Forgetting is the gentle side: an old command counts as a new one.
                    self.passed.clear();
                }
                if self.passed.insert(call.what) {
                    return Worth::Progress;
                }
            }
            (ToolKind::Command, CallResult::Failed) | (ToolKind::Other, _) => {}
        }
        if self.since_progress.len() >= MOST {
            self.since_progress.clear();
        }
        let times = self
            .since_progress
            .entry((call.what, call.result))
            .or_default();
        *times = times.saturating_add(1);
        self.most = self.most.max(*times);
        Worth::Nothing
    }

    pub(super) fn repeats(&self) -> u32 {
        self.most
    }

    /// Notes progress. The tests that passed before stay known: the same again is no progress.
    pub(super) fn progress(&mut self) {
        self.since_progress.clear();
        self.most = 0;
    }
}
