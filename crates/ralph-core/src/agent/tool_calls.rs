//! Tool calls of a run, seen from outside: which are under way, and how they ended.
//!
//! The one place that knows which tools run. Bounded whatever the agent does; of what a tool was given
//! and of what it answered only marks are left, by which one is told from another.

use std::{
    collections::{HashMap, VecDeque},
    time::Duration,
};

use super::{AgentEvent, Usage};

/// Calls under way that are kept in mind at most.
const MAX_UNDER_WAY: usize = 1_000;
/// Failed calls that are remembered, and most characters of each.
const MAX_FAILED: usize = 3;
const MAX_LABEL: usize = 300;

/// A tool call that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolCall {
    /// The same for the same tool with the same arguments.
    pub what: u64,
    pub kind: ToolKind,
    pub result: CallResult,
    pub answer: Mark,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CallResult {
    Ok,
    Failed,
}

/// A moment of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunMoment {
    /// Since the run began.
    pub elapsed: Duration,
    /// Tools that are under way.
    pub tools: usize,
    /// Those of them that began since the model last answered: it is asked again only once they are
    /// done, whatever was heard of the others.
    pub tools_this_turn: usize,
}

/// Pairs the begin of each tool call with its end.
#[derive(Debug, Default)]
pub struct ToolCalls {
    under_way: HashMap<u64, Begun>,
    turn: u64,
    this_turn: usize,
    total: u64,
    failed: VecDeque<String>,
}

#[derive(Debug)]
struct Begun {
    what: u64,
    kind: ToolKind,
    turn: u64,
    label: String,
}

impl ToolCalls {
    /// Takes note of an event and its beat; returns the call that ends with it, if one does.
    #[inline]
    pub fn observe(&mut self, beat: Beat, event: &AgentEvent) -> Option<ToolCall> {
        self.note(beat, || match event {
            AgentEvent::Tool { name, target, .. } => {
                let mut label = [name, " ", target].concat();
                if label.len() > MAX_LABEL
                    && let Some((cut, _)) = label.char_indices().nth(MAX_LABEL)
                {
                    label.truncate(cut);
                }
                label
            }
            _ => String::new(),
        })
    }

    #[inline]
    pub(crate) fn note(&mut self, beat: Beat, label: impl FnOnce() -> String) -> Option<ToolCall> {
        match beat {
            Beat::Tool { id, call, kind } => {
                self.total += 1;
                if self.under_way.len() >= MAX_UNDER_WAY {
                    self.under_way.clear();
                    self.this_turn = 0;
                }
                let begun = Begun {
                    what: call,
                    kind,
                    turn: self.turn,
                    label: label(),
                };
                let before = self.under_way.insert(id, begun);
                self.forget(before.as_ref());
                self.this_turn += 1;
                None
            }
            Beat::ToolDone { id, ok, answer } => {
                let begun = self.under_way.remove(&id)?;
                self.forget(Some(&begun));
                let result = if ok {
                    CallResult::Ok
                } else {
                    self.failed.truncate(MAX_FAILED - 1);
                    self.failed.push_front(begun.label);
                    CallResult::Failed
                };
                Some(ToolCall {
                    what: begun.what,
                    kind: begun.kind,
                    result,
                    answer,
                })
            }
            Beat::Turn { .. } => {
                self.turn += 1;
                self.this_turn = 0;
                None
            }
            Beat::Usage(_) | Beat::Text { .. } | Beat::Waits | Beat::Ended | Beat::Other => None,
        }
    }

    fn forget(&mut self, begun: Option<&Begun>) {
        if begun.is_some_and(|begun| begun.turn == self.turn) {
            self.this_turn -= 1;
        }
    }

    /// The moment after `elapsed` of the run.
    pub fn moment(&self, elapsed: Duration) -> RunMoment {
        RunMoment {
            elapsed,
            tools: self.under_way(),
            tools_this_turn: self.this_turn,
        }
    }

    pub fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// Calls that were begun in all.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The last calls that failed, newest first.
    pub fn last_failed(&self) -> Vec<String> {
        self.failed.iter().cloned().collect()
    }
}

/// A sign of life: what an agent did, as far as minding it while it works needs to know.
///
/// Small and of one size whatever the agent wrote: of texts only a mark is left, by which one is
/// told from another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Beat {
    /// Its model answered: how much of the window was in use. Never a subagent's.
    Turn {
        context_tokens: u64,
        window: Option<u64>,
    },
    /// A tool began, of its own or of a subagent's. `call` is the same for the same tool with the same
    /// arguments.
    Tool {
        id: u64,
        call: u64,
        kind: ToolKind,
    },
    ToolDone {
        id: u64,
        ok: bool,
        answer: Mark,
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
    #[inline]
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
            AgentEvent::Tool {
                id,
                name,
                target,
                arguments,
            } => {
                let kind = ToolKind::of(name);
                Self::Tool {
                    id: mark(&[id]),
                    call: match kind {
                        // Its other arguments are words about it, which change though it is the same.
                        ToolKind::Command => mark(&[name, target]),
                        ToolKind::Other => mark(&[name, target]) ^ arguments.0.rotate_left(1),
                    },
                    kind,
                }
            }
            AgentEvent::ToolDone { id, ok, answer } => Self::ToolDone {
                id: mark(&[id]),
                ok: *ok,
                answer: *answer,
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

/// Tells texts from each other; says nothing of what they are.
#[inline]
pub fn mark(texts: &[&str]) -> u64 {
    let sum = texts.iter().fold(Mark::EMPTY, |sum, text| {
        // A byte that no text has keeps "a", "bc" and "ab", "c" apart.
        sum.with(text.as_bytes()).with(&[0xff])
    });
    sum.0
}

/// A mark of some bytes, by which they are told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mark(u64);

impl Mark {
    /// The mark of nothing.
    pub const EMPTY: Self = Self(0xcbf2_9ce4_8422_2325);

    /// The mark with more bytes behind it: eight at a time, as whatever a tool answers goes through here.
    #[must_use]
    #[inline]
    pub fn with(self, bytes: &[u8]) -> Self {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        // The rotation brings the upper bits down, where the product can spread them.
        let step = |sum: u64, more: u64| (sum.rotate_left(5) ^ more).wrapping_mul(ODD);
        let (words, rest) = bytes.as_chunks();
        let sum = words
            .iter()
            .fold(self.0, |sum, word| step(sum, u64::from_le_bytes(*word)));
        Self(
            rest.iter()
                .fold(sum, |sum, byte| step(sum, u64::from(*byte))),
        )
    }
}

impl Default for Mark {
    fn default() -> Self {
        Self::EMPTY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(id: &str, target: &str) -> AgentEvent {
        AgentEvent::Tool {
            id: id.into(),
            name: "Bash".into(),
            target: target.into(),
            arguments: Mark::EMPTY,
        }
    }

    fn end(id: &str, ok: bool) -> AgentEvent {
        AgentEvent::ToolDone {
            id: id.into(),
            ok,
            answer: Mark::EMPTY,
        }
    }

    fn turn() -> AgentEvent {
        AgentEvent::Turn {
            model: None,
            context_tokens: 1,
            window: None,
        }
    }

    impl ToolCalls {
        fn hear(&mut self, event: &AgentEvent) -> Option<ToolCall> {
            self.observe(Beat::of(event)?, event)
        }
    }

    #[test]
    fn a_call_is_known_by_its_begin_and_its_end() {
        let mut calls = ToolCalls::default();
        assert_eq!(calls.hear(&begin("1", "make")), None);
        assert_eq!(calls.hear(&begin("2", "ls")), None);
        assert_eq!(calls.under_way(), 2);
        let made = calls.hear(&end("1", false)).expect("a call");
        assert_eq!(made.result, CallResult::Failed);
        assert_eq!(calls.hear(&end("1", false)), None, "it has ended");
        let listed = calls.hear(&end("2", true)).expect("a call");
        assert_eq!(listed.result, CallResult::Ok);
        assert_ne!(made.what, listed.what);
        assert_eq!((calls.under_way(), calls.total()), (0, 2));
        assert_eq!(calls.last_failed(), ["Bash make"]);
    }

    #[test]
    fn a_turn_ends_the_tools_before_it_and_their_end_is_heard_all_the_same() {
        let mut calls = ToolCalls::default();
        calls.hear(&begin("1", "a"));
        calls.hear(&turn());
        calls.hear(&begin("2", "b"));
        let at = |calls: &ToolCalls| {
            let now = calls.moment(Duration::ZERO);
            (now.tools, now.tools_this_turn)
        };
        assert_eq!(at(&calls), (2, 1));
        assert!(calls.hear(&end("1", true)).is_some());
        assert_eq!(at(&calls), (1, 1));
        calls.hear(&begin("2", "again"));
        assert_eq!(at(&calls), (1, 1), "the same id is the same call");
        assert!(calls.hear(&end("2", true)).is_some());
        assert_eq!(at(&calls), (0, 0));
    }

    #[test]
    fn the_last_failures_are_remembered_and_no_more() {
        let mut calls = ToolCalls::default();
        for n in 0..5_000 {
            calls.hear(&begin(&n.to_string(), &n.to_string()));
            if n >= 4_990 {
                calls.hear(&end(&n.to_string(), false));
            }
            assert!(calls.under_way() <= MAX_UNDER_WAY);
        }
        assert_eq!(calls.last_failed(), ["Bash 4999", "Bash 4998", "Bash 4997"]);
    }
}

#[cfg(test)]
mod beat_tests {
    use super::*;

    fn tool(name: &str, target: &str) -> Option<Beat> {
        Beat::of(&AgentEvent::Tool {
            id: "1".into(),
            name: name.into(),
            target: target.into(),
            arguments: Mark::EMPTY,
        })
    }

    #[test]
    fn other_arguments_make_another_call_but_for_a_command() {
        let call = |name: &str, arguments: &str| {
            Beat::of(&AgentEvent::Tool {
                id: "1".into(),
                name: name.into(),
                target: "src/lib.rs".into(),
                arguments: Mark::EMPTY.with(arguments.as_bytes()),
            })
        };
        assert_eq!(call("Edit", "a -> b"), call("Edit", "a -> b"));
        assert_ne!(call("Edit", "a -> b"), call("Edit", "b -> c"));
        let (one, other) = ("why: to look", "why: to look again");
        assert_eq!(call("Bash", one), call("Bash", other), "the same command");
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
            answer: Mark::EMPTY,
        });
        let (
            Some(Beat::Tool { id, .. }),
            Some(Beat::ToolDone {
                id: again,
                ok: true,
                ..
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
