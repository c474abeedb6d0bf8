//! The loop and the person: carries out queued commands between iterations, pauses, asks the person at
//! the terminal.
//!
//! Decides nothing about tasks: that is the command executor's, the same one when no loop runs.

use std::collections::HashSet;

use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport, CommandState, When},
    escalation::Question,
    event::Event,
    id::{CommandId, QuestionId},
    loop_machine::{PauseState, PersonAtTerminal},
};

use super::{
    Changed, LoopError, LoopRunner,
    commands::{CommandExecutor, LoopEffect, LoopPresence},
    files::own_files,
};
use crate::{
    agent::StopRequest,
    heartbeat::LoopActivity,
    human::{Human, PersonReply},
    inbox::Inbox,
    source::Source,
    store::{CommandEffects, CommandEnd, CommandRow, Journal, JournalError, RepositoryId},
};

/// The way in for people: the queue of commands, the terminal, signals.
pub(super) struct ControlChannel {
    pub(super) inbox: Inbox,
    pub(super) human: Option<Box<dyn Human>>,
    pub(super) asking: TerminalQuestions,
    pub(super) who: String,
    pub(super) pause: PauseState,
    /// The command that last let the loop go on: a pause before it is over, also one that is answered later.
    pub(super) resumed_by: Option<CommandId>,
    /// When this loop was started: what was asked for before was asked of another.
    pub(super) since: Timestamp,
    /// Becomes a signal when a stop is asked for.
    pub(super) stop: StopRequest,
}

/// The questions to the person at the terminal.
#[derive(Debug, Default)]
pub(super) struct TerminalQuestions {
    /// Those that the person has put off, or left without an answer for too long.
    put_off: HashSet<QuestionId>,
    /// The person is asked before anything else is done.
    pub(super) asks_first: bool,
}

/// Describes what follows after the person at the terminal was to be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AskOutcome {
    /// Something was said, or put off.
    DecideAgain,
    NothingToAsk,
}

/// The end of a question at the terminal.
enum TerminalAnswer {
    Replied(PersonReply),
    /// By a command, or a signal.
    Interrupted,
}

/// Where the commands to a loop come from.
#[derive(Clone, Copy)]
pub(super) struct CommandQueue<'a> {
    pub(super) repository: &'a RepositoryId,
    pub(super) worktree: &'a str,
    pub(super) inbox: &'a Inbox,
    pub(super) who: &'a str,
}

impl CommandQueue<'_> {
    /// Returns the commands that wait. Those that were typed where the loop runs are written down first.
    pub(super) async fn waiting(
        &self,
        journal: &mut dyn Journal,
        now: Timestamp,
    ) -> Result<Vec<CommandRow>, JournalError> {
        for command in self.inbox.take_typed() {
            journal
                .submit_command(self.repository, self.worktree, &command, self.who, now)
                .await?;
        }
        journal
            .waiting_commands(self.repository, self.worktree)
            .await
    }
}

impl ControlChannel {
    pub(super) fn person(&self) -> PersonAtTerminal {
        match (&self.human, self.asking.asks_first) {
            (None, _) => PersonAtTerminal::Away,
            (Some(_), false) => PersonAtTerminal::There,
            (Some(_), true) => PersonAtTerminal::Needed,
        }
    }

    pub(super) fn resume(&mut self, by: CommandId) -> &'static str {
        self.resumed_by = Some(by);
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
            if report.state == CommandState::Done && says_how_to_go_on(&row.command) {
                self.machine.tally_mut().forget_fruitless();
            }
            self.tell(&commanded(&row, report));
        }
        // Only now: what a command wrote before a crash is no edit of a person's.
        self.note_edits().await
    }

    async fn waiting_commands(&mut self) -> Result<Vec<CommandRow>, LoopError> {
        let queue = CommandQueue {
            repository: &self.place.repository,
            worktree: &self.place.root.to_string_lossy(),
            inbox: &self.control.inbox,
            who: &self.control.who,
        };
        let now = self.output.clock.now();
        Ok(queue.waiting(&mut *self.journal, now).await?)
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
            Command::Pause { .. } if self.control.resumed_by > Some(row.id) => {
                let sentence = "the agent was stopped, and the loop goes on, as it was told since";
                Some(CommandReport::done(sentence))
            }
            Command::Pause { when } => Some(self.pause(*when)),
            Command::Resume => Some(CommandReport::done(self.control.resume(row.id))),
            Command::Ping => Some(CommandReport::done("the loop listens")),
            Command::Retry { .. }
            | Command::Skip { .. }
            | Command::Unblock { .. }
            | Command::Done { .. }
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
        while self.control.pause == PauseState::Paused && self.control.stop.asked().is_none() {
            tokio::select! {
                () = self.control.stop.changed() => {}
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

    /// Asks the person at the terminal the oldest question that is open and that they have not put off.
    pub(super) async fn ask_person(&mut self) -> Result<AskOutcome, LoopError> {
        self.control.asking.asks_first = false;
        let open = self.open_questions().await?;
        let put_off = &self.control.asking.put_off;
        let Some(question) = open.into_iter().find(|q| !put_off.contains(&q.id)) else {
            return Ok(AskOutcome::NothingToAsk);
        };
        let Some(mut human) = self.control.human.take() else {
            return Ok(AskOutcome::NothingToAsk);
        };
        self.set_activity(LoopActivity::Between, None);
        self.output.reporter.begin("waiting for an answer");
        self.output.reporter.make_room();
        let ended = self.await_reply(&mut *human, &question).await;
        if !matches!(ended, TerminalAnswer::Replied(PersonReply::Gone)) {
            self.control.human = Some(human);
        }
        match ended {
            TerminalAnswer::Replied(PersonReply::Answer(answer)) => {
                self.control.inbox.add(Command::Answer {
                    of: Some(question.id.to_string()),
                    answer,
                    amend: None,
                });
            }
            TerminalAnswer::Replied(PersonReply::Later) => {
                self.control.asking.put_off.insert(question.id);
                self.notice(format!(
                    "question {id} stays open: `ralph answer {id}` answers it",
                    id = question.id
                ));
            }
            // The questions wait; or a command came, and if it is no answer, the question is asked again.
            TerminalAnswer::Replied(PersonReply::Gone) | TerminalAnswer::Interrupted => {}
        }
        self.carry_out_commands().await?;
        Ok(AskOutcome::DecideAgain)
    }

    /// Waits for what the person says, for a command or a stop; a person who says nothing has put it off.
    async fn await_reply(&mut self, human: &mut dyn Human, question: &Question) -> TerminalAnswer {
        let patience = self.settings.config.loop_.ask_minutes.duration();
        let mut asking = human.ask(question);
        let too_long = tokio::time::sleep(patience);
        tokio::pin!(too_long);
        loop {
            tokio::select! {
                reply = &mut asking => return TerminalAnswer::Replied(reply),
                () = &mut too_long => return TerminalAnswer::Replied(PersonReply::Later),
                // Who decides next sees the stop.
                () = self.control.stop.changed() => return TerminalAnswer::Interrupted,
                () = self.control.inbox.knock() => {
                    if self.has_waiting_commands().await {
                        return TerminalAnswer::Interrupted;
                    }
                }
            }
        }
    }

    /// Shows the person at the terminal which questions are open.
    pub(super) async fn show_open_questions(&mut self) -> Result<(), LoopError> {
        if self.control.human.is_none() {
            return Ok(());
        }
        let open = self.open_questions().await?;
        if let Some(human) = &mut self.control.human {
            human.set_open_questions(&open);
        }
        Ok(())
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
        let list = self.board.take_list_change();
        if let Some(ids) = &list.ids {
            self.journal
                .set_task_list(&self.place.repository, &source, ids, &list.moved)
                .await?;
        }
        for message in list.notices {
            self.notice(message);
        }
        for message in list.warnings {
            self.warn(message);
        }
        for (task, state) in self.board.take_answered() {
            self.machine.tally_mut().forget_fruitless();
            self.journal
                .answer_by_edit(&self.place.repository, &source, &task, &state, now)
                .await?;
        }
        Ok(())
    }
}

/// Returns true if a person says by it that the loop is to go on: what failed before does not count any more.
fn says_how_to_go_on(command: &Command) -> bool {
    matches!(
        command,
        Command::Answer { .. }
            | Command::Retry { .. }
            | Command::Unblock { .. }
            | Command::Done { .. }
            | Command::Skip { .. }
            | Command::Resume
    )
}
