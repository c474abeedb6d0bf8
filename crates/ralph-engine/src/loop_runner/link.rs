//! The iteration's link to this loop: steps go into the journal, commands come from its queue.
//!
//! While an agent runs, the queue is obeyed as far as it leaves the tasks alone. Everything else waits
//! until the iteration has ended, because what changes in a task file while an agent runs is taken for
//! the agent's.

use std::collections::HashSet;

use async_trait::async_trait;
use ralph_core::{
    checkpoint::{CommandResult, Found, Item, IterationWork, Moment},
    command::{Command, CommandReport, When},
    id::{CheckpointId, CommandId, IterationId, LoopId},
    job::IterationLog,
    loop_machine::PauseState,
    record::Guidance,
    task::TaskId,
};

use super::{
    LoopError,
    checkpoint::results,
    control::{CommandQueue, ControlChannel, commanded},
    kept_events::EventBuffer,
};
use crate::{
    agent::StopRequest,
    clock::Clock,
    iteration::LoopLink,
    store::{CommandEffects, CommandEnd, CommandRow, Journal, NewGuidance, RepositoryId, Step},
    supervisor::{AgentControl, AgentTap, ControlReply, ControlRequest},
};

pub(super) struct JournalLink<'a> {
    pub(super) journal: &'a mut dyn Journal,
    pub(super) repository: &'a RepositoryId,
    pub(super) worktree: String,
    pub(super) source: String,
    pub(super) control: &'a mut ControlChannel,
    pub(super) stop: StopRequest,
    pub(super) clock: &'a dyn Clock,
    pub(super) of: LinkedIteration,
    /// Steps that are done and not yet in the journal.
    pub(super) pending: Vec<Step>,
    pub(super) queue: QueueProgress,
    /// Events that are not in the journal yet.
    pub(super) events: EventBuffer,
    pub(super) loop_id: &'a LoopId,
}

/// The iteration that is linked.
pub(super) struct LinkedIteration {
    pub(super) id: IterationId,
    pub(super) number: u64,
    pub(super) task: TaskId,
    pub(super) title: String,
    /// A checkpoint between two of its runs, without what the runs bring.
    pub(super) phase: Moment,
}

/// The commands that were carried out while agents ran.
#[derive(Default)]
pub(super) struct QueueProgress {
    seen: HashSet<CommandId>,
    /// Commands that the supervisor has not answered yet.
    passed_on: Vec<CommandRow>,
    stop_is_passed_on: bool,
    /// Guidance of a person that the agent was told.
    told: Vec<Guidance>,
}

#[async_trait(?Send)]
impl LoopLink for JournalLink<'_> {
    fn add_step(&mut self, step: Step) {
        self.pending.push(step);
    }

    async fn flush(&mut self) -> Result<(), LoopError> {
        let now = self.clock.now();
        let (repository, id) = (self.repository, &self.of.id);
        let journal = &mut *self.journal;
        journal
            .append_steps(repository, id, &self.pending, now, None)
            .await?;
        self.pending.clear();
        Ok(())
    }

    async fn flush_phase(&mut self, log: &IterationLog) -> Result<(), LoopError> {
        let moment = self.phase_moment(log);
        let (repository, id) = (self.repository, &self.of.id);
        let journal = &mut *self.journal;
        journal
            .append_steps(repository, id, &self.pending, moment.at, Some(&moment))
            .await?;
        self.pending.clear();
        Ok(())
    }

    async fn guidance(&mut self) -> Result<Vec<Guidance>, LoopError> {
        let (task, n) = (&self.of.task, self.of.number);
        let journal = &mut *self.journal;
        let said = journal.use_guidance(self.repository, &self.source, task, n);
        Ok(said.await?)
    }

    fn take_told(&mut self) -> Vec<Guidance> {
        std::mem::take(&mut self.queue.told)
    }

    fn control(&mut self) -> &mut dyn AgentControl {
        // Each run is told of a stop once.
        self.queue.stop_is_passed_on = false;
        self
    }
}

impl JournalLink<'_> {
    /// The checkpoint between a run whose work failed verification and the one that is to repair it.
    fn phase_moment(&self, log: &IterationLog) -> Moment {
        let failed = log.failure.as_ref().map(|failure| &failure.command);
        let work = IterationWork {
            iteration: self.of.number,
            task: Item {
                task_id: self.of.task.to_string(),
                title: self.of.title.clone(),
            },
            found: Found::Checked,
            sentence: match failed {
                Some(command) => format!("verification failed: {command}"),
                None => "the agent's work is not verified".to_owned(),
            },
            kept: None,
            said: log.said.block.clone(),
            handed_over: None,
            failed_calls: log.failed_calls.clone(),
            spent: None,
            verification: last_results(log),
        };
        let agent = log.runs.last().map(|run| run.agent.clone());
        Moment {
            id: CheckpointId::new(uuid::Uuid::now_v7()),
            at: self.clock.now(),
            agent: agent.unwrap_or_else(|| self.of.phase.agent.clone()),
            work: Some(Box::new(work)),
            ..self.of.phase.clone()
        }
    }
}

fn last_results(log: &IterationLog) -> Vec<CommandResult> {
    results(&log.verification)
}

#[async_trait(?Send)]
impl AgentControl for JournalLink<'_> {
    async fn ready(&mut self) {
        if self.stop.asked().is_some() && !self.queue.stop_is_passed_on {
            return;
        }
        if self.events.has_new() {
            return;
        }
        tokio::select! {
            () = self.stop.changed() => {}
            () = self.control.inbox.knock() => {}
        }
    }

    async fn read(&mut self, tap: &mut dyn AgentTap) -> Vec<ControlRequest> {
        let mut requests = Vec::new();
        if self.stop.asked().is_some() && !self.queue.stop_is_passed_on {
            self.queue.stop_is_passed_on = true;
            requests.push(ControlRequest::Stop);
        }
        // A journal that can't be read or written is seen by the next who writes to it.
        let _ = self.events.write(self.journal, self.loop_id).await;
        let queue = CommandQueue {
            repository: self.repository,
            worktree: &self.worktree,
            inbox: &self.control.inbox,
            who: &self.control.who,
        };
        let rows = queue.waiting(&mut *self.journal, self.clock.now()).await;
        for row in rows.unwrap_or_default() {
            if self.queue.seen.insert(row.id) {
                requests.extend(self.take(row, tap).await);
            }
        }
        requests
    }

    async fn answer(&mut self, id: u64, reply: ControlReply, tap: &mut dyn AgentTap) {
        let rows = &mut self.queue.passed_on;
        let Some(at) = rows.iter().position(|row| row.id.get() == id) else {
            return;
        };
        let row = rows.remove(at);
        match reply {
            ControlReply::Told => self.told(row, tap).await,
            ControlReply::CannotBeTold => {
                let sentence =
                    "this agent can't be told while it runs: it will be in the next prompt";
                let effects = guidance(&row, None);
                self.finish(&row, sentence.to_owned(), effects, tap).await;
            }
            ControlReply::Followed { sentence } => {
                self.finish(&row, sentence, CommandEffects::default(), tap)
                    .await;
            }
            // It stays in the queue, and is answered once the iteration has ended.
            ControlReply::NotFollowed => {}
        }
    }
}

impl JournalLink<'_> {
    /// Obeys a command that can be obeyed now; returns what it asks of the agent, if anything.
    async fn take(&mut self, row: CommandRow, tap: &mut dyn AgentTap) -> Option<ControlRequest> {
        let id = row.id.get();
        let (sentence, effects) = match &row.command {
            Command::Pause { when: When::InTurn } => {
                self.control.pause = PauseState::Paused;
                let at = format!("iteration {} at {}", self.of.number, self.of.task);
                let sentence = format!("the loop pauses when {at} has ended");
                (sentence, CommandEffects::default())
            }
            // Answered once the agent has ended, between this iteration and the next.
            Command::Pause { when: When::Now } => {
                self.control.pause = PauseState::Paused;
                return Some(ControlRequest::Stop);
            }
            Command::Resume => (
                self.control.resume(row.id).to_owned(),
                CommandEffects::default(),
            ),
            Command::Ping => ("the loop listens".to_owned(), CommandEffects::default()),
            Command::Say {
                when: When::InTurn, ..
            } => {
                let sentence = "it will be in the next prompt".to_owned();
                (sentence, guidance(&row, None))
            }
            Command::Say {
                text,
                when: When::Now,
            } => {
                let text = text.clone();
                self.queue.passed_on.push(row);
                return Some(ControlRequest::Say { id, text });
            }
            Command::Intervene { choice } => {
                let choice = *choice;
                self.queue.passed_on.push(row);
                return Some(ControlRequest::Choose { id, choice });
            }
            Command::Retry { .. }
            | Command::Skip { .. }
            | Command::Unblock { .. }
            | Command::Done { .. }
            | Command::Revert { .. }
            | Command::Restore { .. }
            | Command::Answer { .. } => return None,
        };
        self.finish(&row, sentence, effects, tap).await;
        None
    }

    /// The agent was told what a person says.
    async fn told(&mut self, row: CommandRow, tap: &mut dyn AgentTap) {
        let Command::Say { text, .. } = &row.command else {
            return;
        };
        let (task, n) = (&self.of.task, self.of.number);
        let sentence = format!("told to the agent that works at {task} (iteration {n})");
        let effects = guidance(&row, Some((task.clone(), n)));
        self.queue.told.push(Guidance {
            text: text.clone(),
            by: row.who.clone(),
            at: row.at,
        });
        self.finish(&row, sentence, effects, tap).await;
    }

    async fn finish(
        &mut self,
        row: &CommandRow,
        sentence: String,
        effects: CommandEffects,
        tap: &mut dyn AgentTap,
    ) {
        let report = CommandReport::done(sentence);
        let ended = CommandEnd {
            id: row.id,
            report: &report,
            at: self.clock.now(),
        };
        let written = self
            .journal
            .finish_command(self.repository, &self.source, ended, &effects)
            .await;
        if written.is_ok() {
            tap.event(&commanded(row, report));
        }
    }
}

/// Returns what a person says, for the journal; with the task and the iteration of the agent that was told.
fn guidance(row: &CommandRow, told: Option<(TaskId, u64)>) -> CommandEffects {
    let Command::Say { text, .. } = &row.command else {
        return CommandEffects::default();
    };
    let (task, iteration) = told.unzip();
    CommandEffects {
        guidance: vec![NewGuidance {
            task,
            text: text.clone(),
            who: row.who.clone(),
            at: row.at,
            iteration,
        }],
        ..CommandEffects::default()
    }
}
