//! The histories of tasks, and suggestions.

use async_trait::async_trait;
use ralph_core::task::TaskId;

use super::{
    SqlJournal,
    statement::{Statement, columns, json, sql},
    transaction,
};
use crate::{RepositoryId, Result, Suggestion, TaskHistory, TaskStore};

columns!(Suggestion as SUGGESTION: id, iteration, title, description, taken_as);

#[async_trait]
impl TaskStore for SqlJournal {
    async fn set_task_state(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        task: &TaskId,
        state: &TaskHistory,
    ) -> Result<()> {
        let state = upsert_state(repository, source, task.as_str(), state)?;
        self.write(state).await
    }

    async fn task_states(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Vec<(String, TaskHistory)>> {
        // The history of a completed task is most often that of one never worked on.
        let empty = json(&TaskHistory::default())?;
        self.all(sql!(
            "read the tasks' history",
            "SELECT task_id, state FROM task_state WHERE repository_id = ? AND source = ? AND state <> ?",
            repository,
            source,
            empty,
        ))
        .await
    }

    async fn task_list(
        &mut self,
        repository: &RepositoryId,
        source: &str,
    ) -> Result<Option<Vec<TaskId>>> {
        self.first(sql!(
            "read the list of tasks",
            "SELECT ids FROM task_list WHERE repository_id = ? AND source = ?",
            repository,
            source,
        ))
        .await
    }

    async fn set_task_list(
        &mut self,
        repository: &RepositoryId,
        source: &str,
        ids: &[TaskId],
        moved: &[(TaskId, TaskId)],
    ) -> Result<()> {
        const WHAT: &str = "record the list of tasks";
        transaction!(self, WHAT, |tx| {
            let mut states: Vec<(&TaskId, TaskHistory)> = Vec::new();
            for (was, is) in moved {
                let text = "DELETE FROM task_state WHERE repository_id = ? AND source = ? AND task_id = ? RETURNING state";
                let state = sql!(WHAT, text, repository, source, was.as_str());
                let state: Option<TaskHistory> = state.first(&mut tx).await?;
                states.extend(state.map(|state| (is, state)));
            }
            for (is, state) in &states {
                let state = upsert_state(repository, source, is.as_str(), state)?;
                state.run(&mut tx).await?;
            }
            sql!(
                WHAT,
                "INSERT INTO task_list (repository_id, source, ids) VALUES (?, ?, ?)
                 ON CONFLICT (repository_id, source) DO UPDATE SET ids = excluded.ids",
                repository,
                source,
                json(&ids.to_vec())?,
            )
            .run(&mut tx)
            .await?;
            Ok(())
        })
    }

    async fn all_suggestions(&mut self, repository: &RepositoryId) -> Result<Vec<Suggestion>> {
        self.all(sql!(
            "list the suggestions",
            format!("SELECT {SUGGESTION} FROM suggestion WHERE repository_id = ? ORDER BY id"),
            repository,
        ))
        .await
    }

    async fn take_suggestion(&mut self, id: i64, task: &str) -> Result<()> {
        let take = "UPDATE suggestion SET taken_as = ? WHERE id = ?";
        self.write(sql!("take a suggestion", take, task, id)).await
    }
}

/// The statement that writes the history of a task.
pub(crate) fn upsert_state(
    repository: &RepositoryId,
    source: &str,
    task: &str,
    state: &TaskHistory,
) -> Result<Statement> {
    Ok(sql!(
        "record a task's history",
        "INSERT INTO task_state (repository_id, source, task_id, state) VALUES (?, ?, ?, ?)
         ON CONFLICT (repository_id, source, task_id) DO UPDATE SET state = excluded.state",
        repository,
        source,
        task,
        json(state)?,
    ))
}
