//! The histories of tasks, by task file, and follow-up tasks that agents suggested.

use async_trait::async_trait;
use ralph_core::{board::TaskHistory, task::TaskId};

use super::{RepositoryId, Result};

/// The histories of tasks, and the follow-up tasks that agents suggested.
#[async_trait]
pub trait TaskStore: Send {
    /// Replaces the history of one task.
    async fn set_task_state(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
    ) -> Result<()>;

    /// The histories of the tasks of a source, without empty ones.
    async fn task_states(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, TaskHistory)>>;

    /// The ids of a source whose tasks have them from their titles, in the order of the file as it was last
    /// known; `None` where there are none.
    async fn task_list(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Option<Vec<TaskId>>>;

    /// Replaces that list, and gives the histories of the tasks in `moved` to their new ids.
    async fn set_task_list(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ids: &[TaskId],
        moved: &[(TaskId, TaskId)],
    ) -> Result<()>;

    /// Suggestions that were not taken yet.
    async fn suggestions(&mut self, repository: &RepositoryId) -> Result<Vec<Suggestion>> {
        let mut all = self.all_suggestions(repository).await?;
        all.retain(|one| one.taken_as.is_none());
        Ok(all)
    }

    /// All suggestions, oldest first, those that were taken among them: a suggestion's place in
    /// this list never changes.
    async fn all_suggestions(&mut self, repository: &RepositoryId) -> Result<Vec<Suggestion>>;

    /// Marks a suggestion as taken, by the task that was made of it.
    async fn take_suggestion(&mut self, id: i64, task: &str) -> Result<()>;
}

/// A follow-up task that an agent suggested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suggestion {
    pub id: i64,
    pub iteration: u64,
    pub title: String,
    pub description: String,
    pub taken_as: Option<String>,
}
