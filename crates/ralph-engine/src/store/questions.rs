//! Questions to a person, and their answers.

use async_trait::async_trait;
use jiff::Timestamp;
use ralph_core::{
    escalation::{AskedBy, Question},
    id::QuestionId,
    signal::Escalation,
    task::TaskId,
};

use super::{RepositoryId, Result, TaskHistory};

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
