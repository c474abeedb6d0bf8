//! Tool calls of an agent, seen from outside: which came before, and which of them are progress.
//!
//! Bounded whatever the agent does. Reads nothing of what a tool answered but whether it went well.

use std::{
    collections::{HashMap, HashSet, hash_map::DefaultHasher},
    hash::{Hash as _, Hasher as _},
};

use crate::agent::AgentEvent;

/// Calls under way, and different calls, that are kept in mind at most.
const MOST: usize = 4_096;

/// Names under which agents run commands, in small letters.
const COMMANDS: [&str; 9] = [
    "bash",
    "shell",
    "exec",
    "exec_command",
    "execute_command",
    "command_execution",
    "local_shell",
    "run_shell_command",
    "powershell",
];

/// A tool call that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub name: String,
    /// The one thing that it works on: a command, a file.
    pub target: String,
    pub result: CallResult,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallResult {
    Ok,
    Failed,
}

impl Call {
    fn print(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.name, &self.target, self.result).hash(&mut hasher);
        hasher.finish()
    }

    fn is_passed_command(&self) -> bool {
        let name = self.name.to_ascii_lowercase();
        self.result == CallResult::Ok && COMMANDS.contains(&name.as_str())
    }
}

/// Pairs the begin of a tool call with its end.
#[derive(Debug, Default)]
pub struct Calls {
    under_way: HashMap<String, (String, String)>,
}

impl Calls {
    /// The call that ends with this event, if one does.
    pub fn observe(&mut self, event: &AgentEvent) -> Option<Call> {
        match event {
            AgentEvent::Tool { id, name, target } => {
                if self.under_way.len() >= MOST {
                    self.under_way.clear();
                }
                let call = (name.clone(), target.clone());
                self.under_way.insert(id.clone(), call);
                None
            }
            AgentEvent::ToolDone { id, ok } => {
                let (name, target) = self.under_way.remove(id)?;
                Some(Call {
                    name,
                    target,
                    result: if *ok {
                        CallResult::Ok
                    } else {
                        CallResult::Failed
                    },
                })
            }
            AgentEvent::Started { .. }
            | AgentEvent::Text { .. }
            | AgentEvent::Usage(_)
            | AgentEvent::Turn { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Background { .. }
            | AgentEvent::Compacted { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::Hook { .. }
            | AgentEvent::Nudge { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Retry { .. }
            | AgentEvent::Limit { .. }
            | AgentEvent::Result(_)
            | AgentEvent::Other { .. } => None,
        }
    }
}

/// What a call is to the run it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Worth {
    /// A command that passes, and has not passed before in this run.
    Progress,
    /// It came so often since the last progress, this one included.
    Seen(u32),
}

/// Calls of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    passed: HashSet<u64>,
    since_progress: HashMap<u64, u32>,
    /// How often the call that came most often did.
    most: u32,
}

impl Memory {
    pub(super) fn note(&mut self, call: &Call) -> Worth {
        let print = call.print();
        if call.is_passed_command() {
            if self.passed.len() >= MOST {
                // Forgetting is the gentle side: an old command counts as a new one.
                self.passed.clear();
            }
            if self.passed.insert(print) {
                return Worth::Progress;
            }
        }
        if self.since_progress.len() >= MOST {
            self.since_progress.clear();
        }
        let times = self.since_progress.entry(print).or_default();
        *times = times.saturating_add(1);
        self.most = self.most.max(*times);
        Worth::Seen(*times)
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
