//! What the journal says about the tasks of a source, as far as choosing the next one goes.
//!
//! Only reads. Nothing here is needed for a project in which ralph never ran.

use std::collections::{BTreeMap, HashSet};

use ralph_core::{
    select::History,
    task::{Status, Task, TaskId, graph::Graph},
};
use ralph_engine::store::{Journal, JournalError, LoopRow, RepositoryId, TaskState};

#[derive(Debug, Default)]
pub(crate) struct Past {
    /// Tasks that wait for a person, by the journal.
    pub(crate) held: BTreeMap<TaskId, TaskState>,
    /// Those of them that would not be chosen.
    pub(crate) set_aside: HashSet<TaskId>,
    pub(crate) last_area: Option<String>,
    /// What a person skipped, and why.
    pub(crate) skipped: Vec<(TaskId, String)>,
}

impl Past {
    pub(crate) async fn read(
        journal: &mut Journal,
        repository: &RepositoryId,
        source: &str,
        graph: &Graph,
        last_loop: Option<&LoopRow>,
    ) -> Result<Self, JournalError> {
        let mut past = Self::default();
        for (id, state) in journal.held_tasks(repository, source).await? {
            // A task that is gone from its file waits for nobody.
            let Some(task) = TaskId::parse(&id).ok().and_then(|id| graph.get(&id)) else {
                continue;
            };
            // A task that was blocked and is open in its file was opened by a person: it starts
            // afresh, and its history counts no more.
            match (task.status, &state.blocked, &state.question) {
                (Status::Open | Status::InProgress, None, Some(_)) => {
                    past.set_aside.insert(task.id.clone());
                }
                (Status::Blocked | Status::Failed, Some(_), _) => {}
                (_, _, _) => continue,
            }
            past.held.insert(task.id.clone(), state);
        }
        for (id, reason) in journal.skipped_tasks(repository, source).await? {
            let task = TaskId::parse(&id).ok().and_then(|id| graph.get(&id));
            // One that is open again in its file is skipped no more.
            if let Some(task) = task.filter(|task| task.status == Status::Skipped) {
                past.skipped.push((task.id.clone(), reason));
            }
        }
        if let Some(row) = last_loop.filter(|row| row.source == source) {
            let last = journal.last_completed(&row.id).await?;
            past.last_area = last
                .and_then(|id| TaskId::parse(&id).ok())
                .and_then(|id| Some(graph.get(&id)?.area.clone()?));
        }
        Ok(past)
    }

    pub(crate) fn history(&self) -> History<'_> {
        History {
            last_area: self.last_area.as_deref(),
            set_aside: &self.set_aside,
        }
    }
}

/// Which attempt the next one at a task would be, as the loop counts them.
pub(crate) fn next_attempt(task: &Task, state: Option<&TaskState>) -> u32 {
    let counted = match state {
        Some(state) if state.blocked.is_none() => state.attempts,
        Some(_) | None => 0,
    };
    task.attempts.made.unwrap_or(0).max(counted) + 1
}
