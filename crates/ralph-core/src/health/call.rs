//! Tool calls of an agent, seen from outside: which came before, and which of them are progress.
//!
//! Bounded whatever the agent does. Knows nothing of what a tool answered but whether it went well.

use std::collections::{HashMap, HashSet};

use crate::agent::{Beat, ToolKind};

/// Calls under way, and different calls, that are kept in mind at most.
const MOST: usize = 4_096;

/// A tool call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// The same for the same tool at the same thing.
    pub what: u64,
    pub kind: ToolKind,
    pub result: CallResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallResult {
    Ok,
    Failed,
}

/// Pairs the begin of a tool call with its end.
#[derive(Debug, Default)]
pub struct Calls {
    under_way: HashMap<u64, (u64, ToolKind)>,
}

impl Calls {
    /// The call that ends with this, if one does.
    pub fn observe(&mut self, beat: &Beat) -> Option<Call> {
        match *beat {
            Beat::Tool { id, call, kind } => {
                if self.under_way.len() >= MOST {
                    self.under_way.clear();
                }
                self.under_way.insert(id, (call, kind));
                None
            }
            Beat::ToolDone { id, ok } => {
                let (what, kind) = self.under_way.remove(&id)?;
                let result = match ok {
                    true => CallResult::Ok,
                    false => CallResult::Failed,
                };
                Some(Call { what, kind, result })
            }
            Beat::Turn { .. }
            | Beat::Usage(_)
            | Beat::Text { .. }
            | Beat::Waits
            | Beat::Ended
            | Beat::Other => None,
        }
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }
}

/// What a call is to the run it belongs to.
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
    /// How often the call that came most often did.
    most: u32,
}

impl Memory {
    pub(super) fn note(&mut self, call: &Call) -> Worth {
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

    /// What passed before stays known: the same again is no progress.
    pub(super) fn progress(&mut self) {
        self.since_progress.clear();
        self.most = 0;
    }
}
