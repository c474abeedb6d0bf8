//! Attends to a running agent: listens to a person meanwhile (pauses, words for the agent, the stop
//! request), and follows whoever minds the agent.
//!
//! Obeys what leaves the tasks alone; everything else waits until the iteration has ended, because
//! what changes in a task file while an agent runs is taken for the agent's.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, HashSet, VecDeque},
    future::Future,
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{AgentEvent, Beat, Ending, NudgeState, mark},
    command::{Command, CommandReport, When},
    event::Event,
    record::Guidance,
};
use tokio::sync::{mpsc, watch};

use super::{
    artefacts::Signalled,
    mind::{Minder, Minds, Now, Sight, Step},
    notes::Turn,
    obey::{Line, Pace, commanded},
    wait::stop_asked,
};
use crate::{
    agent::{Nudges, StopRequest},
    clock::Clock,
    git::Repo,
    report::Reporter,
    store::{CommandRow, Effects, Ended, Journal, NewGuidance, RepositoryId},
};

/// A pause ends a run as a signal would, and is none.
const NO_SIGNAL: i32 = 0;

/// What the onlooker, who has the reporter while an agent runs, hears for the attendant and says for
/// it.
pub(super) struct Ears {
    said: RefCell<Vec<Event>>,
    heard: mpsc::UnboundedSender<Heard>,
    tools: Cell<u64>,
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
enum Heard {
    Beat(Beat),
    /// What became of a message to it, which is known again by its mark.
    Nudged {
        mark: u64,
        state: NudgeState,
    },
}

impl Ears {
    /// How many tools the agent was seen to use.
    pub(super) fn tools(&self) -> u64 {
        self.tools.get()
    }

    /// The last calls to tools that failed, newest first.
    pub(super) fn failed_calls(&self) -> Vec<String> {
        self.calls.borrow().failed.iter().cloned().collect()
    }

    /// What is to be told to whoever watches.
    pub(super) fn take(&self) -> Vec<Event> {
        self.said.take()
    }

    pub(super) fn hear(&self, event: &AgentEvent) {
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
pub(super) struct Wires {
    cut: watch::Sender<Option<i32>>,
    /// Why it is cut off; the first reason holds.
    why: Option<Why>,
    nudges: mpsc::UnboundedSender<String>,
    heard: mpsc::UnboundedReceiver<Heard>,
}

/// Why a run is cut off.
enum Why {
    /// By a person or a signal, or because it is over: its ending says so itself.
    Stop,
    Ending(Ending),
}

impl Wires {
    fn cut(&mut self, signal: i32, why: Why) {
        self.why.get_or_insert(why);
        let _ = self.cut.send(Some(signal));
    }
}

/// A run that was attended to.
pub(super) struct Attended<T> {
    pub(super) report: T,
    /// How it ended if it was cut off, where that is not a stop.
    pub(super) cut: Option<Ending>,
}

/// What the run of the agent listens to.
pub(super) struct Inputs {
    pub(super) stop: StopRequest,
    pub(super) nudges: Nudges,
}

pub(super) fn wires() -> (Ears, Wires, Inputs) {
    let (cut, stop) = watch::channel(None);
    let (nudges, nudges_in) = mpsc::unbounded_channel();
    let (heard_out, heard) = mpsc::unbounded_channel();
    let ears = Ears {
        said: RefCell::default(),
        heard: heard_out,
        tools: Cell::default(),
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
    pub(super) minder: &'a mut Minder,
    pub(super) began: Instant,
    pub(super) repo: &'a Repo,
    pub(super) reporter: &'a RefCell<&'a mut dyn Reporter>,
}

/// What ralph itself writes there is no work of the agent's.
const OWN_FOLDER: &str = ".ralph";

/// Between two wakings of the minder, at least: one that asks for too many must not take all the time.
const REST: Duration = Duration::from_millis(50);

impl Attendant<'_> {
    /// Runs an agent to its end, with an open ear.
    pub(super) async fn attend<T>(
        mut self,
        running: impl Future<Output = T>,
        mut wires: Wires,
    ) -> Attended<T> {
        tokio::pin!(running);
        let inbox = self.line.inbox.clone();
        let overstays = self.signalled.overstays();
        tokio::pin!(overstays);
        let mut passed_on = false;
        let mut sent_home = false;
        let mut told = Told::default();
        let mut rested = Duration::ZERO;
        let report = loop {
            if let (Some(signal), false) = (*self.stop.borrow(), passed_on) {
                passed_on = true;
                wires.cut(signal, Why::Stop);
            }
            let wake = self.minder.wakes_at().filter(|_| wires.why.is_none());
            let wake = wake.map(|at| self.began + at.max(rested));
            tokio::select! {
                report = &mut running => break report,
                Some(heard) = wires.heard.recv() => self.heard(&mut told, &mut wires, heard).await,
                () = alarm(wake) => {
                    let now = self.time();
                    rested = now.run + REST;
                    let steps = self.minder.wake(now);
                    self.follow(&mut told, &mut wires, steps).await;
                }
                () = stop_asked(self.stop), if !passed_on => {}
                // It has finished, and only its process has not.
                () = &mut overstays, if !sent_home => {
                    sent_home = true;
                    wires.cut(NO_SIGNAL, Why::Stop);
                }
                () = inbox.knock() => self.look(&mut told, &mut wires).await,
            }
        };
        // What the agent said of the last words before it ended.
        while let Ok(heard) = wires.heard.try_recv() {
            self.heard(&mut told, &mut wires, heard).await;
        }
        let cut = match wires.why {
            Some(Why::Ending(ending)) => Some(ending),
            Some(Why::Stop) | None => None,
        };
        Attended { report, cut }
    }

    fn time(&self) -> Now {
        Now {
            run: self.began.elapsed(),
            at: self.clock.now(),
        }
    }

    async fn heard(&mut self, told: &mut Told, wires: &mut Wires, heard: Heard) {
        let now = self.time();
        let steps = match heard {
            Heard::Beat(beat) => self.minder.hear(beat, now),
            Heard::Nudged { mark, state } => match told.whose(mark, state) {
                Some(Words::Persons(row)) => return self.nudged(*row, state).await,
                Some(Words::Minders(whose)) => self.minder.nudged(whose, state, now),
                // Said to be delivered, which a person was told when it was sent.
                None => return,
            },
        };
        self.follow(told, wires, steps).await;
    }

    /// Does what the minder says. What follows from a look around is done as well, but looked around
    /// is once.
    async fn follow(&mut self, told: &mut Told, wires: &mut Wires, steps: Vec<(Minds, Step)>) {
        let mut look = false;
        for (whose, step) in steps {
            look |= self.step(told, wires, (whose, step));
        }
        if look {
            let sight = self.look_about().await;
            let steps = self.minder.saw(&sight, self.time());
            for step in steps {
                self.step(told, wires, step);
            }
        }
        self.pass_on();
    }

    /// Takes one step; whether it is to look around.
    fn step(&mut self, told: &mut Told, wires: &mut Wires, (whose, step): (Minds, Step)) -> bool {
        match step {
            Step::Nudge(text) => {
                told.say(mark(&[&text]), Words::Minders(whose));
                let _ = wires.nudges.send(text);
            }
            Step::Cut(ending) => wires.cut(NO_SIGNAL, Why::Ending(ending)),
            Step::Tell(event) => self.ears.said.borrow_mut().push(event),
            Step::Look => return true,
        }
        false
    }

    /// Looks at what can't be heard of an agent: here is the journal, and the working tree.
    async fn look_about(&mut self) -> Sight {
        Sight {
            tree: self.repo.fingerprint(Path::new(OWN_FOLDER)).await.ok(),
        }
    }

    /// Tells at once what there is to tell: an agent that hangs says nothing after which it could be.
    fn pass_on(&self) {
        for event in self.ears.take() {
            self.reporter.borrow_mut().report(&event, self.clock.now());
        }
    }

    /// Obeys what can be obeyed now. A journal that can't be read is seen by whoever writes next.
    async fn look(&mut self, told: &mut Told, wires: &mut Wires) {
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
                    wires.cut(NO_SIGNAL, Why::Stop);
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
                    told.say(mark(&[text]), Words::Persons(Box::new(row)));
                }
                // One that nothing here follows is refused once the agent has ended.
                Command::Intervene { choice } => {
                    let now = self.time();
                    if let Some((whose, heeded)) = self.minder.told(*choice, now) {
                        let steps = heeded.steps.into_iter().map(|step| (whose, step));
                        self.follow(told, wires, steps.collect()).await;
                        self.done(&row, heeded.sentence, Effects::default()).await;
                    }
                }
                Command::Retry { .. }
                | Command::Skip { .. }
                | Command::Unblock { .. }
                | Command::Revert { .. }
                | Command::Answer { .. } => {}
            }
        }
    }

    /// The agent was told what a person says, or can't be.
    async fn nudged(&mut self, row: CommandRow, state: NudgeState) {
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
            self.pass_on();
        }
    }
}

/// Until then, or for ever.
async fn alarm(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// What was done about the commands that came while the agent ran, and what the agent was told.
#[derive(Default)]
struct Told {
    seen: HashSet<u64>,
    /// Words that the agent was not heard to take yet, with their marks, in the order in which they
    /// were said.
    on_their_way: VecDeque<(u64, Words)>,
    /// Words of the minder's that it took, and may yet say to have read.
    taken: Vec<(u64, Minds)>,
}

/// Whose words were said to the agent.
enum Words {
    Persons(Box<CommandRow>),
    Minders(Minds),
}

impl Told {
    fn say(&mut self, mark: u64, words: Words) {
        self.on_their_way.push_back((mark, words));
    }

    /// Who is to hear what became of words with this mark. A person hears it once.
    fn whose(&mut self, mark: u64, state: NudgeState) -> Option<Words> {
        match state {
            NudgeState::Delivered => {
                let at = self.taken.iter().position(|(of, _)| *of == mark)?;
                Some(Words::Minders(self.taken.remove(at).1))
            }
            NudgeState::Sent | NudgeState::Impossible => {
                let (mark, words) = self.on_their_way.pop_front()?;
                if let Words::Minders(whose) = words {
                    self.taken.push((mark, whose));
                }
                Some(words)
            }
        }
    }
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
