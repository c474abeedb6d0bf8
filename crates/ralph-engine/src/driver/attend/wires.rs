//! The wires between the attendant and a running agent: what is heard of it, what it is told, and how
//! it is cut off.
//!
//! Passes on, and decides nothing. What is passed on is small whatever the agent wrote.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
};

use ralph_core::{
    agent::{AgentEvent, Beat, Ending, NudgeState, mark},
    dollars::Dollars,
    event::Event,
};
use tokio::sync::{mpsc, watch};

use crate::agent::{Nudges, StopRequest};

/// What the onlooker, who has the reporter while an agent runs, hears for the attendant and says for
/// it.
pub(in crate::driver) struct Ears {
    pub(super) said: RefCell<Vec<Event>>,
    heard: mpsc::UnboundedSender<Heard>,
    tools: Cell<u64>,
    spent: Cell<Dollars>,
    calls: RefCell<Calls>,
}

/// Calls to tools, as far as it must be known which of them failed.
#[derive(Default)]
struct Calls {
    running: HashMap<String, String>,
    failed: VecDeque<String>,
}

/// Calls that run at once and are known by name, and failed ones that are remembered.
const MOST_RUNNING: usize = 100;
const MOST_FAILED: usize = 3;
/// Most characters of a call.
const CALL_CHARS: usize = 300;

impl Calls {
    fn hear(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Tool { id, name, target } if self.running.len() < MOST_RUNNING => {
                let call = format!("{name} {target}")
                    .chars()
                    .take(CALL_CHARS)
                    .collect();
                self.running.insert(id.clone(), call);
            }
            AgentEvent::ToolDone { id, ok } => {
                let call = self.running.remove(id);
                if let (Some(call), false) = (call, *ok) {
                    self.failed.truncate(MOST_FAILED - 1);
                    self.failed.push_front(call);
                }
            }
            // What ran before is done, whatever was heard of it.
            AgentEvent::Turn { .. } => self.running.clear(),
            _ => {}
        }
    }
}

/// What is heard of the running agent, in its order.
pub(super) enum Heard {
    Beat(Beat),
    /// What it has cost so far.
    Spent(Dollars),
    /// What became of a message to it, which is known again by its mark.
    Nudged {
        mark: u64,
        state: NudgeState,
    },
}

impl Ears {
    /// How many tools the agent was seen to use.
    pub(in crate::driver) fn tools(&self) -> u64 {
        self.tools.get()
    }

    /// The last calls to tools that failed, newest first.
    pub(in crate::driver) fn failed_calls(&self) -> Vec<String> {
        self.calls.borrow().failed.iter().cloned().collect()
    }

    /// It has cost so much up to now.
    pub(in crate::driver) fn spent(&self, so_far: Dollars) {
        if self.spent.replace(so_far) != so_far {
            let _ = self.heard.send(Heard::Spent(so_far));
        }
    }

    /// What is to be told to whoever watches.
    pub(in crate::driver) fn take(&self) -> Vec<Event> {
        self.said.take()
    }

    pub(in crate::driver) fn hear(&self, event: &AgentEvent) {
        if let AgentEvent::Tool { .. } = event {
            self.tools.set(self.tools.get() + 1);
        }
        self.calls.borrow_mut().hear(event);
        let heard = match event {
            AgentEvent::Nudge { text, state } => Some(Heard::Nudged {
                mark: mark(&[text]),
                state: *state,
            }),
            event => Beat::of(event).map(Heard::Beat),
        };
        if let Some(heard) = heard {
            // Nobody listens any more once the run is over.
            let _ = self.heard.send(heard);
        }
    }
}

/// How the attendant reaches the running agent.
pub(in crate::driver) struct Wires {
    cut: watch::Sender<Option<i32>>,
    /// Why it is cut off; the first reason holds.
    pub(super) why: Option<Why>,
    pub(super) nudges: mpsc::UnboundedSender<String>,
    pub(super) heard: mpsc::UnboundedReceiver<Heard>,
}

/// Why a run is cut off.
pub(super) enum Why {
    /// By a person or a signal, or because it is over: its ending says so itself.
    Stop,
    Ending(Ending),
}

impl Wires {
    pub(super) fn cut(&mut self, signal: i32, why: Why) {
        self.why.get_or_insert(why);
        let _ = self.cut.send(Some(signal));
    }
}

/// What the run of the agent listens to.
pub(in crate::driver) struct Inputs {
    pub(in crate::driver) stop: StopRequest,
    pub(in crate::driver) nudges: Nudges,
}

pub(in crate::driver) fn wires() -> (Ears, Wires, Inputs) {
    let (cut, stop) = watch::channel(None);
    let (nudges, nudges_in) = mpsc::unbounded_channel();
    let (heard_out, heard) = mpsc::unbounded_channel();
    let ears = Ears {
        said: RefCell::default(),
        heard: heard_out,
        tools: Cell::default(),
        spent: Cell::default(),
        calls: RefCell::default(),
    };
    let wires = Wires {
        cut,
        why: None,
        nudges,
        heard,
    };
    let inputs = Inputs {
        stop,
        nudges: nudges_in,
    };
    (ears, wires, inputs)
}
