//! Does what a person's command says to the tasks: in the file, in git, in the journal.
//!
//! The same code whether a loop runs or not; who calls holds the worktree's lock. First the file and
//! its commit, which are the same when they are done again, then everything else in the transaction
//! that ends the command: so a crash in between does no harm.

mod answer;
mod done;
mod reopen;
mod restore;
mod revert;
mod skip;

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport, When},
    task::{Task, TaskId, format::Change},
};

use super::{Board, LoopError};
use crate::{
    failpoint::failpoint,
    git::{CommitKind, Repo, commit_message},
    source::{Source, SourceError},
    store::{
        CommandEffects, CommandEnd, CommandRow, Journal, NewGuidance, RepositoryId, TaskHistory,
    },
};

/// On a commit that a command of a person's made: it is ralph's, so a revert may go past it.
const COMMAND_TRAILER: &str = "Ralph-Command";

pub(super) struct CommandExecutor<'a> {
    pub(super) root: &'a Path,
    pub(super) repo: &'a Repo,
    pub(super) journal: &'a mut dyn Journal,
    pub(super) repository: &'a RepositoryId,
    pub(super) board: &'a mut Board,
    /// Files of ralph's own besides the task files, and the progress file among them; relative to
    /// the root.
    pub(super) own: &'a [PathBuf],
    pub(super) progress: &'a Path,
    pub(super) now: Timestamp,
    pub(super) presence: LoopPresence,
}

/// The loop that a command is carried out for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopPresence {
    Running,
    NotRunning,
}

/// The effect of a command on the loop itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LoopEffect {
    Nothing,
    /// The loop ends.
    Abort,
}

/// The result of a command, to be recorded.
struct CommandOutcome {
    sentence: String,
    hint: Option<String>,
    detail: Option<serde_json::Value>,
    effects: CommandEffects,
    loop_effect: LoopEffect,
}

impl CommandOutcome {
    fn saying(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            hint: None,
            detail: None,
            effects: CommandEffects::default(),
            loop_effect: LoopEffect::Nothing,
        }
    }
}

/// The reason why a command was not carried out.
enum CommandRefusal {
    Refused {
        sentence: String,
        hint: Option<String>,
    },
    Failed(LoopError),
}

impl CommandRefusal {
    fn refused(sentence: impl Into<String>) -> Self {
        Self::Refused {
            sentence: sentence.into(),
            hint: None,
        }
    }

    fn hinted(sentence: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            sentence: sentence.into(),
            hint: Some(hint.into()),
        }
    }
}

impl<E: Into<LoopError>> From<E> for CommandRefusal {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl CommandExecutor<'_> {
    /// Carries out a command, and ends it.
    pub(super) async fn execute(
        &mut self,
        row: &CommandRow,
    ) -> Result<(CommandReport, LoopEffect), LoopError> {
        let outcome = match self.perform(row).await {
            Ok(outcome) => outcome,
            Err(CommandRefusal::Refused { sentence, hint }) => {
                let report = CommandReport::refused(sentence, hint);
                self.finish(row, &report, &CommandEffects::default())
                    .await?;
                return Ok((report, LoopEffect::Nothing));
            }
            Err(CommandRefusal::Failed(error)) => return Err(error),
        };
        let report = CommandReport {
            hint: outcome.hint,
            detail: outcome.detail,
            ..CommandReport::done(outcome.sentence)
        };
        failpoint("command-applied");
        self.finish(row, &report, &outcome.effects).await?;
        for (task, state) in outcome.effects.states {
            self.board.set_state(&task, state);
        }
        self.reread()?;
        Ok((report, outcome.loop_effect))
    }

    async fn finish(
        &mut self,
        row: &CommandRow,
        report: &CommandReport,
        effects: &CommandEffects,
    ) -> Result<(), LoopError> {
        let source = self.board.source.name().to_owned();
        let ended = CommandEnd {
            id: row.id,
            report,
            at: self.now,
        };
        self.journal
            .finish_command(self.repository, &source, ended, effects)
            .await?;
        Ok(())
    }

    async fn perform(&mut self, row: &CommandRow) -> Result<CommandOutcome, CommandRefusal> {
        match &row.command {
            // A loop carries these out itself.
            Command::Pause { .. } => Ok(CommandOutcome::saying(
                "no loop is running here: nothing to pause",
            )),
            Command::Resume => Ok(CommandOutcome::saying(
                "no loop is running here: nothing to resume",
            )),
            Command::Ping => Ok(CommandOutcome::saying(
                "no loop is running here: nothing to ping",
            )),
            // CommandOutcome while an agent works; this one came too early or too late.
            Command::Intervene { .. } => Err(CommandRefusal::hinted(
                "no agent works here now",
                "`ralph health` shows what a loop does",
            )),
            Command::Say { text, when } => Ok(self.say(row, text, *when)),
            Command::Skip { task, reason } => self.skip(row, task, reason).await,
            Command::Retry { task, feedback } => self.retry(row, task, feedback.as_deref()).await,
            Command::Unblock { task } => self.unblock(row, task).await,
            Command::Done { task, note } => self.done(row, task, note.as_deref()).await,
            Command::Revert {
                iteration,
                others,
                extent,
            } => self.revert(row, (*iteration, *others, *extent)).await,
            Command::Restore {
                checkpoint,
                others,
                extent,
            } => self.restore(checkpoint, *others, *extent).await,
            Command::Answer { of, answer, amend } => {
                self.answer(row, of.as_deref(), (answer, amend.as_ref()))
                    .await
            }
        }
    }

    fn say(&self, row: &CommandRow, text: &str, when: When) -> CommandOutcome {
        let sentence = match when {
            When::InTurn => "it will be in the next prompt",
            When::Now => "no agent runs that could be told: it will be in the next prompt",
        };
        let mut outcome = CommandOutcome::saying(sentence);
        outcome.effects.guidance.push(NewGuidance {
            task: None,
            text: text.to_owned(),
            who: row.who.clone(),
            at: row.at,
            iteration: None,
        });
        outcome
    }

    /// The task that is meant.
    fn task(&self, id: &TaskId) -> Result<Task, CommandRefusal> {
        let Some(task) = self.board.task(id) else {
            let sentence = format!("there is no task {id} in {}", self.board.source.name());
            return Err(match self.board.graph().did_you_mean(id.as_str()) {
                Some(near) => CommandRefusal::hinted(sentence, format!("did you mean {near}?")),
                None => CommandRefusal::hinted(sentence, "`ralph tasks list` shows them"),
            });
        };
        Ok(task.clone())
    }

    /// Returns what the journal knows of a task, without what holds it back.
    fn opened(&self, id: &TaskId) -> TaskHistory {
        let before = self.board.state(id).cloned().unwrap_or_default();
        TaskHistory {
            kept_ref: before.kept_ref,
            goes_on: before.goes_on,
            feedback: before.feedback,
            last_verdict: before.last_verdict,
            gutter: before.gutter.opened(),
            ..TaskHistory::default()
        }
    }

    /// Changes a task in its file, and commits that file if git tracks it. Gives what should be said
    /// about it.
    async fn write(
        &mut self,
        task: &Task,
        changes: Vec<Change>,
        (title, body): (&str, &str),
    ) -> Result<String, CommandRefusal> {
        let path = self.board.file_of(&task.id);
        let path = path.and_then(|p| Some(p.strip_prefix(self.repo.root()).ok()?.to_owned()));
        let tracked = match &path {
            Some(path) => self.repo.is_tracked(path).await?,
            None => false,
        };
        if tracked && let Err(problem) = self.repo.preflight().await {
            let hint = problem.hint();
            return Err(CommandRefusal::Refused {
                sentence: format!("{} can't be committed: {problem}", task.id),
                hint,
            });
        }
        match self.board.edit(&task.id, changes) {
            Ok(_) => {}
            Err(SourceError::Format(error)) => {
                return Err(CommandRefusal::refused(error.to_string()));
            }
            Err(other) => return Err(other.into()),
        }
        failpoint("command-written");
        let (true, Some(path)) = (tracked, path) else {
            return Ok(String::new());
        };
        let shown = path.display().to_string();
        let message = commit_message(CommitKind::Chore, title, body, &[(COMMAND_TRAILER, title)]);
        match self.repo.commit_paths(&message, &[path]).await {
            Ok(_) => Ok(format!("; {shown} is committed")),
            // The file says it already, and that is what counts.
            Err(error) => Ok(format!("; {shown} is not committed: {error}")),
        }
    }

    /// Takes over the tasks as the files have them now.
    fn reread(&mut self) -> Result<(), LoopError> {
        let (source, tasks) = Source::read(self.board.source.path(), self.root)?;
        self.board.replace_tasks(source, tasks)
    }
}

/// A line for the notes of a task: who did what, and when. The same for the same command, so that it
/// is not written twice.
fn note_of(row: &CommandRow, what: &str) -> String {
    let at = row.at.strftime("%Y-%m-%d %H:%M:%S UTC");
    format!("{what} by {} on {at}", row.who)
}

/// Notes with a line more.
fn with_line(notes: Option<&str>, line: &str) -> String {
    match notes.map(str::trim_end).filter(|n| !n.is_empty()) {
        Some(notes) => format!("{notes}\n{line}"),
        None => line.to_owned(),
    }
}
