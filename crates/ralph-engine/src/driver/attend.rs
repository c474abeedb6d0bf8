//! Listens to a person while an agent runs: pauses, words for the agent, the stop request.
//!
//! Obeys what leaves the tasks alone; everything else waits until the iteration has ended, because
//! what changes in a task file while an agent runs is taken for the agent's.

use std::{
    cell::{Cell, RefCell},
    collections::{HashSet, VecDeque},
    future::Future,
};

use ralph_core::{
    agent::{AgentEvent, NudgeState},
    command::{Command, CommandReport, When},
    event::Event,
    record::Guidance,
};
use tokio::sync::{mpsc, watch};

use super::{
    artefacts::Signalled,
    notes::Turn,
    obey::{Line, Pace, commanded},
    wait::stop_asked,
};
use crate::{
    agent::{Nudges, StopRequest},
    clock::Clock,
    store::{CommandRow, Effects, Ended, Journal, NewGuidance, RepositoryId},
};

/// A pause ends a run as a signal would, and is none.
const NO_SIGNAL: i32 = 0;

/// What the onlooker, who has the reporter while an agent runs, hears for the attendant and says for
/// it.
pub(super) struct Ears {
    said: RefCell<Vec<Event>>,
    nudged: mpsc::UnboundedSender<NudgeState>,
    tools: Cell<u64>,
}

impl Ears {
    /// How many tools the agent was seen to use.
    pub(super) fn tools(&self) -> u64 {
        self.tools.get()
    }

    /// What is to be told to whoever watches.
    pub(super) fn take(&self) -> Vec<Event> {
        self.said.take()
    }

    pub(super) fn hear(&self, event: &AgentEvent) {
        if let AgentEvent::Tool { .. } = event {
            self.tools.set(self.tools.get() + 1);
        }
        if let AgentEvent::Nudge { state, .. } = event {
            // Nobody listens any more once the run is over.
            let _ = self.nudged.send(*state);
        }
    }
}

/// How the attendant reaches the running agent.
pub(super) struct Wires {
    cut: watch::Sender<Option<i32>>,
    nudges: mpsc::UnboundedSender<String>,
    nudged: mpsc::UnboundedReceiver<NudgeState>,
}

/// What the run of the agent listens to.
pub(super) struct Inputs {
    pub(super) stop: StopRequest,
    pub(super) nudges: Nudges,
}

pub(super) fn wires() -> (Ears, Wires, Inputs) {
    let (cut, stop) = watch::channel(None);
    let (nudges, nudges_in) = mpsc::unbounded_channel();
    let (nudged_out, nudged) = mpsc::unbounded_channel();
    let ears = Ears {
        said: RefCell::default(),
        nudged: nudged_out,
        tools: Cell::default(),
    };
    let wires = Wires {
        cut,
        nudges,
        nudged,
    };
    let inputs = Inputs {
        stop,
        nudges: nudges_in,
    };
    (ears, wires, inputs)
}

pub(super) struct Attendant<'a> {
    pub(super) journal: &'a mut Journal,
    pub(super) repository: &'a RepositoryId,
    pub(super) worktree: &'a str,
    pub(super) source: &'a str,
    pub(super) stop: &'a mut StopRequest,
    pub(super) line: &'a mut Line,
    pub(super) clock: &'a dyn Clock,
    pub(super) turn: &'a mut Turn,
    pub(super) ears: &'a Ears,
    /// The file by which the agent may say that it is done.
    pub(super) signalled: &'a Signalled,
}

impl Attendant<'_> {
    /// Runs an agent to its end, with an open ear.
    pub(super) async fn attend<T>(
        mut self,
        running: impl Future<Output = T>,
        mut wires: Wires,
    ) -> T {
        tokio::pin!(running);
        let inbox = self.line.inbox.clone();
        let overstays = self.signalled.overstays();
        tokio::pin!(overstays);
        let mut passed_on = false;
        let mut sent_home = false;
        let mut told = Told::default();
        let report = loop {
            if let (Some(signal), false) = (*self.stop.borrow(), passed_on) {
                passed_on = true;
                let _ = wires.cut.send(Some(signal));
            }
            tokio::select! {
                report = &mut running => break report,
                Some(state) = wires.nudged.recv() => self.nudged(&mut told, state).await,
                () = stop_asked(self.stop), if !passed_on => {}
                // It has finished, and only its process has not.
                () = &mut overstays, if !sent_home => {
                    sent_home = true;
                    let _ = wires.cut.send(Some(NO_SIGNAL));
                }
                () = inbox.knock() => self.look(&mut told, &wires).await,
            }
        };
        // What the agent said of the last words before it ended.
        while let Ok(state) = wires.nudged.try_recv() {
            self.nudged(&mut told, state).await;
        }
        report
    }

    /// Obeys what can be obeyed now. A journal that can't be read is seen by whoever writes next.
    async fn look(&mut self, told: &mut Told, wires: &Wires) {
        let rows = self
            .journal
            .waiting_commands(self.repository, self.worktree)
            .await;
        for row in rows.unwrap_or_default() {
            if !told.seen.insert(row.id) {
                continue;
            }
            let at = format!("iteration {} at {}", self.turn.n, self.turn.task_id());
            match &row.command {
                Command::Pause { when: When::InTurn } => {
                    self.line.pace = Pace::Paused;
                    let sentence = format!("the loop pauses when {at} has ended");
                    self.done(&row, sentence, Effects::default()).await;
                }
                // Ended once the agent has, between this iteration and the next.
                Command::Pause { when: When::Now } => {
                    self.line.pace = Pace::Paused;
                    let _ = wires.cut.send(Some(NO_SIGNAL));
                }
                Command::Resume => {
                    let sentence = self.line.go_on();
                    self.done(&row, sentence.to_owned(), Effects::default())
                        .await;
                }
                Command::Ping => {
                    self.done(&row, "the loop listens".to_owned(), Effects::default())
                        .await;
                }
                Command::Say {
                    text,
                    when: When::InTurn,
                } => {
                    let effects = guidance(&row, text, None);
                    let sentence = "it will be in the next prompt".to_owned();
                    self.done(&row, sentence, effects).await;
                }
                Command::Say {
                    text,
                    when: When::Now,
                } => {
                    let _ = wires.nudges.send(text.clone());
                    told.on_their_way.push_back(row);
                }
                Command::Retry { .. }
                | Command::Skip { .. }
                | Command::Unblock { .. }
                | Command::Revert { .. }
                | Command::Intervene { .. }
                | Command::Answer { .. } => {}
            }
        }
    }

    /// The agent was told something, or can't be.
    async fn nudged(&mut self, told: &mut Told, state: NudgeState) {
        if state == NudgeState::Delivered {
            // It was said to be sent before.
            return;
        }
        let Some(row) = told.on_their_way.pop_front() else {
            return;
        };
        let Command::Say { text, .. } = &row.command else {
            return;
        };
        let (n, task) = (self.turn.n, self.turn.task_id().clone());
        match state {
            NudgeState::Sent | NudgeState::Delivered => {
                let effects = guidance(&row, text, Some((task.clone(), n)));
                let sentence = format!("told to the agent that works at {task} (iteration {n})");
                self.turn.guidance.push(Guidance {
                    text: text.clone(),
                    by: row.who.clone(),
                    at: row.at,
                });
                self.done(&row, sentence, effects).await;
            }
            NudgeState::Impossible => {
                let sentence =
                    "this agent can't be told while it runs: it will be in the next prompt";
                let effects = guidance(&row, text, None);
                self.done(&row, sentence.to_owned(), effects).await;
            }
        }
    }

    async fn done(&mut self, row: &CommandRow, sentence: String, effects: Effects) {
        let report = CommandReport::done(sentence);
        let ended = Ended {
            id: row.id,
            report: &report,
            at: self.clock.now(),
        };
        let written = self
            .journal
            .finish_command(self.repository, self.source, ended, &effects)
            .await;
        if written.is_ok() {
            self.ears.said.borrow_mut().push(commanded(row, report));
        }
    }
}

/// What was done about the commands that came while the agent ran.
#[derive(Default)]
struct Told {
    seen: HashSet<u64>,
    /// Words that the agent was not heard to take yet, in the order in which they were said.
    on_their_way: VecDeque<CommandRow>,
}

fn guidance(
    row: &CommandRow,
    text: &str,
    told: Option<(ralph_core::task::TaskId, u64)>,
) -> Effects {
    let (task, iteration) = told.unzip();
    Effects {
        guidance: vec![NewGuidance {
            task,
            text: text.to_owned(),
            who: row.who.clone(),
            at: row.at,
            iteration,
        }],
        ..Effects::default()
    }
}
