//! A sign of life: what an agent did, as far as minding it while it works needs to know.
//!
//! Small and of one size whatever the agent wrote: of texts only a mark is left, by which one is told
//! from another.

use super::{AgentEvent, Usage};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beat {
    /// Its model answered: how much of the window was in use. Never a subagent's.
    Turn {
        context_tokens: u64,
        window: Option<u64>,
    },
    /// A tool began, of its own or of a subagent's. `call` is the same for the same tool at the same
    /// thing.
    Tool {
        id: u64,
        call: u64,
        kind: ToolKind,
    },
    ToolDone {
        id: u64,
        ok: bool,
    },
    /// Tells what has been used so far in this run.
    Usage(Usage),
    Text {
        mark: u64,
    },
    /// It waits for its model, which can't be asked now.
    Waits,
    /// It said how it ended.
    Ended,
    /// Anything else: it lives.
    Other,
}

/// Describes what a tool does, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Runs a command.
    Command,
    Other,
}

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

impl ToolKind {
    fn of(name: &str) -> Self {
        if COMMANDS.iter().any(|one| one.eq_ignore_ascii_case(name)) {
            Self::Command
        } else {
            Self::Other
        }
    }
}

impl Beat {
    /// Nothing for a message to the agent: what becomes of that is heard by who sent it.
    pub fn of(event: &AgentEvent) -> Option<Self> {
        Some(match event {
            AgentEvent::Turn {
                context_tokens,
                window,
                ..
            } => Self::Turn {
                context_tokens: *context_tokens,
                window: *window,
            },
            AgentEvent::Tool { id, name, target } => Self::Tool {
                id: mark(&[id]),
                call: mark(&[name, target]),
                kind: ToolKind::of(name),
            },
            AgentEvent::ToolDone { id, ok } => Self::ToolDone {
                id: mark(&[id]),
                ok: *ok,
            },
            AgentEvent::Usage(usage) => Self::Usage(*usage),
            AgentEvent::Text { text } => Self::Text {
                mark: mark(&[text]),
            },
            AgentEvent::Retry { .. } | AgentEvent::Limit { rejected: true, .. } => Self::Waits,
            AgentEvent::Result(_) => Self::Ended,
            AgentEvent::Nudge { .. } => return None,
            AgentEvent::Started { .. }
            | AgentEvent::Thinking { .. }
            | AgentEvent::Background { .. }
            | AgentEvent::Compacted { .. }
            | AgentEvent::ModelChanged { .. }
            | AgentEvent::Hook { .. }
            | AgentEvent::Notice { .. }
            | AgentEvent::Limit {
                rejected: false, ..
            }
            | AgentEvent::Other { .. } => Self::Other,
        })
    }
}

/// Tells texts from each other (FNV-1a); says nothing of what they are.
pub fn mark(texts: &[&str]) -> u64 {
    const BASIS: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(PRIME);
    texts.iter().fold(BASIS, |sum, text| {
        // A byte that no text has keeps "a", "bc" and "ab", "c" apart.
        step(text.as_bytes().iter().fold(sum, step), &0xff)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, target: &str) -> Option<Beat> {
        Beat::of(&AgentEvent::Tool {
            id: "1".into(),
            name: name.into(),
            target: target.into(),
        })
    }

    #[test]
    fn the_same_call_has_the_same_mark_and_another_one_has_not() {
        assert_eq!(tool("Bash", "make"), tool("Bash", "make"));
        assert_ne!(tool("Bash", "make"), tool("Bash", "make "));
        assert_ne!(tool("Bash", "make"), tool("Bashm", "ake"));
    }

    #[test]
    fn a_command_is_told_from_other_tools_by_its_name() {
        let kind = |name| match tool(name, "x") {
            Some(Beat::Tool { kind, .. }) => kind,
            _ => panic!("a tool"),
        };
        assert_eq!(kind("Bash"), ToolKind::Command);
        assert_eq!(kind("bash"), ToolKind::Command);
        assert_eq!(kind("run_shell_command"), ToolKind::Command);
        assert_eq!(kind("Read"), ToolKind::Other);
        assert_eq!(kind("BashOutput"), ToolKind::Other);
    }

    #[test]
    fn a_tool_is_known_again_when_it_is_done() {
        let done = Beat::of(&AgentEvent::ToolDone {
            id: "1".into(),
            ok: true,
        });
        let (
            Some(Beat::Tool { id, .. }),
            Some(Beat::ToolDone {
                id: again,
                ok: true,
            }),
        ) = (tool("Bash", "make"), done)
        else {
            panic!("a tool that begins and ends");
        };
        assert_eq!(id, again);
    }

    #[test]
    fn a_beat_is_small_whatever_was_said() {
        assert!(size_of::<Beat>() <= 72, "{}", size_of::<Beat>());
    }
}
