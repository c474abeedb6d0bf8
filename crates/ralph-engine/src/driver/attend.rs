//! Attends to a running agent: listens to a person meanwhile (pauses, words for the agent, the stop
//! request), and follows whoever minds the agent.
//!
//! Obeys what leaves the tasks alone; everything else waits until the iteration has ended, because
//! what changes in a task file while an agent runs is taken for the agent's.

mod told;
mod wires;

pub(super) use wires::{Ears, wires};

use std::{
    cell::RefCell,
    future::Future,
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::{
    agent::{Ending, NudgeState, mark},
    command::{Command, CommandReport, When},
    loop_machine::PauseState,
    record::Guidance,
};

use self::{
    told::{Told, Words},
    wires::{Heard, Why, Wires},
};
use super::{
    artefacts::Signalled,
    mind::{Minder, Minds, Now, Sight, Step},
    notes::Turn,
    obey::{Line, commanded},
    wait::stop_asked,
};
use crate::{
    agent::StopRequest,
    clock::Clock,
    git::Repo,
    report::Reporter,
    store::{CommandRow, Effects, Ended, Journal, NewGuidance, RepositoryId},
};

/// A pause ends a run as a signal would, and is none.
const NO_SIGNAL: i32 = 0;

/// A run that was attended to.
pub(super) struct Attended<T> {
    pub(super) report: T,
    /// How it ended if it was cut off, where that is not a stop.
    pub(super) cut: Option<Ending>,
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
        }
    }

    async fn heard(&mut self, told: &mut Told, wires: &mut Wires, heard: Heard) {
        let now = self.time();
        let steps = match heard {
            Heard::Beat(beat) => self.minder.hear(beat, now),
            Heard::Spent(so_far) => self.minder.spent(so_far, now),
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
            Step::Tell(event) => self.ears.said.borrow_mut().push(*event),
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
                    self.line.pace = PauseState::Paused;
                    let sentence = format!("the loop pauses when {at} has ended");
                    self.done(&row, sentence, Effects::default()).await;
                }
                // Ended once the agent has, between this iteration and the next.
                Command::Pause { when: When::Now } => {
                    self.line.pace = PauseState::Paused;
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
                | Command::Restore { .. }
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
