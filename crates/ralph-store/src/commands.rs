//! People: the queue of their commands, added to by any terminal and ended by the process that carries them out, and
//! the questions that they are asked.
//!
//! A command ends in the transaction that writes its effects, so that it is carried out exactly once.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    command::{Command, CommandReport},
    escalation::{Answered, AskedBy, Question},
    id::{CommandId, QuestionId},
    record::Guidance,
    signal::Escalation,
    task::TaskId,
};

use super::{RepositoryId, Result, TaskHistory};

/// The queue of a person's commands, and the guidance that they leave for prompts.
#[async_trait]
pub trait CommandStore: Send {
    /// Puts a command into the queue.
    async fn submit_command(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
        command: &Command,
        who: &str,
        at: Timestamp,
    ) -> Result<CommandId>;

    /// Commands that were not carried out yet, oldest first.
    async fn waiting_commands(
        &mut self,
        repository: &RepositoryId,
        worktree: &str,
    ) -> Result<Vec<CommandRow>>;

    /// The report of a command; `None` while it waits.
    async fn command_result(&mut self, id: CommandId) -> Result<Option<CommandReport>>;

    /// Ends a command together with its effects. One that has ended before is left as it is.
    async fn finish_command(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ended: CommandEnd<'_>,
        effects: &CommandEffects,
    ) -> Result<()>;

    /// Keeps guidance for the prompts of a source.
    async fn add_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewGuidance,
    ) -> Result<()>;

    /// The guidance that the next prompt of a task has to tell. Changes nothing.
    async fn guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
    ) -> Result<Vec<Guidance>>;

    /// Returns the guidance for an iteration that begins. Guidance for the next prompt belongs to this task from
    /// now on.
    async fn use_guidance(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        iteration: u64,
    ) -> Result<Vec<Guidance>>;
}

/// A command that is not carried out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandRow {
    pub id: CommandId,
    pub who: String,
    pub at: Timestamp,
    pub command: Command,
}

/// The end of a command.
#[derive(Debug, Clone, Copy)]
pub struct CommandEnd<'a> {
    pub id: CommandId,
    pub report: &'a CommandReport,
    pub at: Timestamp,
}

/// The changes of a command to the journal, written together with its end.
#[derive(Debug, Default)]
pub struct CommandEffects {
    pub states: Vec<(TaskId, TaskHistory)>,
    pub guidance: Vec<NewGuidance>,
    pub answered: Option<(QuestionId, Answered)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGuidance {
    /// `None`: for whichever prompt is next.
    pub task: Option<TaskId>,
    pub text: String,
    pub who: String,
    pub at: Timestamp,
    /// The iteration that was told already, while it ran.
    pub iteration: Option<u64>,
}

/// Questions to a person, and their answers.
#[async_trait]
pub trait QuestionStore: Send {
    /// Adds a question, and the state of its task, which waits for the answer from now on. Sets the question's number
    /// in the state, too.
    async fn ask_question(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        new: &NewQuestion,
        state: &mut TaskHistory,
    ) -> Result<QuestionId>;

    /// The newest questions about the tasks of a source, oldest first, answered ones among them.
    async fn questions(&mut self, repository: &RepositoryId, source: &str)
    -> Result<Vec<Question>>;

    /// Closes a task's questions because a person changed the task.
    async fn answer_by_edit(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
        at: Timestamp,
    ) -> Result<()>;
}

/// A question that is about to be asked.
#[derive(Debug, Clone)]
pub struct NewQuestion {
    pub task: TaskId,
    pub iteration: u64,
    pub asked_by: AskedBy,
    pub question: String,
    pub escalation: Option<Escalation>,
    pub at: Timestamp,
}
