//! The loop and the person: carries out queued commands between iterations, pauses, asks the person at
//! the terminal.
//!
//! Decides nothing about tasks: that is the command executor's, the same one when no loop runs.

use jiff::Timestamp;
use ralph_core::{
    command::{Answer, Command, CommandReport, When},
    escalation::Question,
    event::Event,
    loop_machine::PauseState,
};

use super::{
    Changed, LoopError, LoopRunner,
    commands::{CommandExecutor, LoopEffect, LoopPresence},
    files::own_files,
};
use crate::{
    agent::StopRequest,
    heartbeat::LoopActivity,
    human::Human,
    inbox::Inbox,
    iteration::stop_asked,
    source::Source,
    store::{CommandEffects, CommandEnd, CommandRow},
};

/// The way in for people: the queue of commands, the terminal, signals.
pub(super) struct ControlChannel {
    pub(super) inbox: Inbox,
    pub(super) human: Option<Box<dyn Human>>,
    pub(super) who: String,
    pub(super) pause: PauseState,
    /// When this loop was started: what was asked for before was asked of another.
    pub(super) since: Timestamp,
    /// Becomes a signal when a stop is asked for.
    pub(super) stop: StopRequest,
}

/// The reaction of the person at the terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PersonReply {
    Given,
    None,
}

/// The end of a question at the terminal.
enum TerminalAnswer {
    /// `None`: the person is gone.
    Answered(Option<Answer>),
    /// By a command, or a signal.
    Interrupted,
}

impl ControlChannel {
    pub(super) fn resume(&mut self) -> &'static str {
        match std::mem::take(&mut self.pause) {
            PauseState::Paused => "the loop goes on",
            PauseState::Running => "the loop was not paused, and goes on",
        }
    }
}

pub(super) fn commanded(row: &CommandRow, report: CommandReport) -> Event {
    Event::Commanded {
        id: row.id,
        command: row.command.word().to_owned(),
        report,
    }
}

impl LoopRunner {
    /// Carries out the commands that wait in the queue.
    pub(super) async fn carry_out_commands(&mut self) -> Result<(), LoopError> {
        let rows = self.waiting_commands().await?;
        if rows.is_empty() {
            return Ok(());
        }
        // Also where no one else wrote them: what this loop itself has written of a task since is in
        // the file, and a command is about that.
        let (source, tasks) = Source::read(self.board.source.path(), &self.place.root)?;
        self.board.replace_tasks(source, tasks)?;
        self.changed = Changed::Something;
        for row in rows {
            let report = self.carry_out(&row).await?;
            self.tell(&commanded(&row, report));
        }
        // Only now: what a command wrote before a crash is no edit of a person's.
        self.note_edits().await
    }

    async fn waiting_commands(&mut self) -> Result<Vec<CommandRow>, LoopError> {
        let worktree = self.place.root.to_string_lossy().into_owned();
        Ok(self
            .journal
            .waiting_commands(&self.place.repository, &worktree)
            .await?)
    }

    /// Returns whether a command waits. A journal that can't be read fails at its next reader.
    pub(super) async fn has_waiting_commands(&mut self) -> bool {
        self.waiting_commands()
            .await
            .map_or(true, |rows| !rows.is_empty())
    }

    async fn carry_out(&mut self, row: &CommandRow) -> Result<CommandReport, LoopError> {
        let stale = row.at < self.control.since;
        let own = match &row.command {
            Command::Pause { .. } | Command::Resume if stale => Some(CommandReport::refused(
                "the loop had ended before, and `ralph run` has started it again",
                None,
            )),
            Command::Pause { when } => Some(self.pause(*when)),
            Command::Resume => Some(CommandReport::done(self.control.resume())),
            Command::Ping => Some(CommandReport::done("the loop listens")),
            Command::Retry { .. }
            | Command::Skip { .. }
            | Command::Unblock { .. }
            | Command::Revert { .. }
            | Command::Restore { .. }
            | Command::Say { .. }
            | Command::Intervene { .. }
            | Command::Answer { .. } => None,
        };
        let now = self.now();
        if let Some(report) = own {
            let source = self.board.source.name().to_owned();
            let effects = CommandEffects::default();
            let ended = CommandEnd {
                id: row.id,
                report: &report,
                at: now,
            };
            self.journal
                .finish_command(&self.place.repository, &source, ended, &effects)
                .await?;
            return Ok(report);
        }
        let own = own_files(
            &self.settings.config,
            &self.files.config_files,
            &self.place.root,
        );
        let mut executor = CommandExecutor {
            root: &self.place.root,
            repo: &self.place.repo,
            journal: &mut *self.journal,
            repository: &self.place.repository,
            board: &mut self.board,
            own: &own,
            progress: &self.settings.config.memory.progress_file,
            now,
            presence: LoopPresence::Running,
        };
        let (report, loop_effect) = executor.execute(row).await?;
        match loop_effect {
            LoopEffect::Nothing => {}
            LoopEffect::Abort => self.machine.abort(),
        }
        Ok(report)
    }

    fn pause(&mut self, when: When) -> CommandReport {
        self.control.pause = PauseState::Paused;
        let last = self.machine.tally().last.as_ref();
        let cut = last.is_some_and(|l| l.verdict == ralph_core::verdict::Verdict::Interrupted);
        CommandReport::done(match (when, last) {
            (When::Now, Some(last)) if cut => format!(
                "the loop is paused: the agent that worked at {} was stopped, what it had done is kept",
                last.task
            ),
            (_, _) => "the loop is paused".to_owned(),
        })
    }

    /// Waits until a person lets the loop go on, or has something else to say.
    pub(super) async fn wait_while_paused(&mut self) -> Result<(), LoopError> {
        let now = self.now();
        self.journal.set_paused(&self.loop_id, Some(now)).await?;
        self.set_state_paused()?;
        self.set_activity(LoopActivity::Pause, None);
        while self.control.pause == PauseState::Paused && self.control.stop.borrow().is_none() {
            tokio::select! {
                () = stop_asked(&mut self.control.stop) => {}
                () = self.control.inbox.knock() => {}
            }
            self.carry_out_commands().await?;
            if self.machine.is_aborted() {
                break;
            }
        }
        self.journal.set_paused(&self.loop_id, None).await?;
        self.set_state_running()
    }

    /// Asks the person at the terminal the oldest question that is open, if there are both.
    pub(super) async fn ask_person(&mut self) -> Result<PersonReply, LoopError> {
        let Some(question) = self.open_question().await? else {
            return Ok(PersonReply::None);
        };
        let Some(mut human) = self.control.human.take() else {
            return Ok(PersonReply::None);
        };
        self.output.reporter.make_room();
        let asked = {
            let mut asking = human.ask(&question);
            loop {
                tokio::select! {
                    answer = &mut asking => break TerminalAnswer::Answered(answer),
                    // Who decides next sees the stop.
                    () = stop_asked(&mut self.control.stop) => break TerminalAnswer::Interrupted,
                    () = self.control.inbox.knock() => {
                        if self.has_waiting_commands().await {
                            break TerminalAnswer::Interrupted;
                        }
                    }
                }
            }
        };
        let answer = match asked {
            TerminalAnswer::Answered(Some(answer)) => answer,
            // The person is gone: the questions wait.
            TerminalAnswer::Answered(None) => return Ok(PersonReply::Given),
            // A command came in; if it is no answer, the question is asked again.
            TerminalAnswer::Interrupted => {
                self.control.human = Some(human);
                self.carry_out_commands().await?;
                return Ok(PersonReply::Given);
            }
        };
        self.control.human = Some(human);
        let command = Command::Answer {
            of: Some(question.id.to_string()),
            answer,
            amend: None,
        };
        let worktree = self.place.root.to_string_lossy().into_owned();
        let (now, who) = (self.now(), self.control.who.clone());
        self.journal
            .submit_command(&self.place.repository, &worktree, &command, &who, now)
            .await?;
        self.carry_out_commands().await?;
        Ok(PersonReply::Given)
    }

    async fn open_question(&mut self) -> Result<Option<Question>, LoopError> {
        Ok(self.open_questions().await?.into_iter().next())
    }

    /// The questions that keep tasks of this loop from being taken, oldest first.
    async fn open_questions(&mut self) -> Result<Vec<Question>, LoopError> {
        let held = self.board.asked();
        if held.is_empty() {
            return Ok(Vec::new());
        }
        let source = self.board.source.name().to_owned();
        let mut all = self
            .journal
            .questions(&self.place.repository, &source)
            .await?;
        all.retain(|q| q.answer.is_none() && held.contains(&q.id));
        Ok(all)
    }

    /// Questions of a loop before this one wait as well, and are said again.
    pub(super) async fn tell_questions(&mut self) -> Result<(), LoopError> {
        for question in self.open_questions().await? {
            self.tell(&Event::Question {
                id: question.id,
                task: question.task_id.to_string(),
                question: question.question,
                escalation: question.escalation,
            });
        }
        Ok(())
    }

    /// Writes down that questions were answered by an edit of their tasks.
    pub(super) async fn note_edits(&mut self) -> Result<(), LoopError> {
        let (source, now) = (self.board.source.name().to_owned(), self.now());
        for (task, state) in self.board.take_answered() {
            self.journal
                .answer_by_edit(&self.place.repository, &source, &task, &state, now)
                .await?;
        }
        Ok(())
    }
}
