//! Takes the tasks that an agent wrote, where `tasks.accept_new` says so: those that leave the graph right. The
//! others stay suggestions, with the reason.

use ralph_core::{
    job::Outcome,
    task::{format::NewTask, suggested::accept},
};

use super::{LoopError, LoopRunner};
use crate::source::SourceError;

impl LoopRunner {
    /// Adds them to the task file, which lands with the work. Returns those that were added.
    pub(super) fn accept_new(&mut self, outcome: &mut Outcome) -> Result<Vec<NewTask>, LoopError> {
        let suggested = &mut outcome.log.suggested;
        if suggested.is_empty() || !self.settings.config.tasks.accept_new {
            return Ok(Vec::new());
        }
        // A file that a person is in the midst of editing is none to add to.
        if self.reread_tasks().is_err() {
            return Ok(Vec::new());
        }
        let mut added = Vec::new();
        for task in accept(self.board.graph().tasks(), suggested) {
            match self.board.source.add(&task) {
                Ok(_) => added.push(task),
                Err(error @ (SourceError::Format(_) | SourceError::Exists { .. })) => {
                    let one = suggested.iter_mut().find(|one| one.task.id == task.id);
                    if let Some(one) = one {
                        one.not_taken = Some(error.to_string());
                    }
                }
                Err(other) => return Err(other.into()),
            }
        }
        if !added.is_empty() {
            self.reread()?;
            let ids: Vec<&str> = added.iter().map(|task| task.id.as_str()).collect();
            self.notice(format!(
                "the agent added {}: `tasks.accept_new` takes {}",
                ids.join(", "),
                if ids.len() == 1 { "it" } else { "them" }
            ));
        }
        Ok(added)
    }

    /// Notes in the journal that these are no suggestions any more.
    pub(super) async fn take_accepted(&mut self, added: &[NewTask]) -> Result<(), LoopError> {
        if added.is_empty() {
            return Ok(());
        }
        let suggestions = self.journal.suggestions(&self.place.repository).await?;
        for task in added {
            let one = suggestions.iter().find(|one| one.title == task.title);
            if let Some(one) = one {
                self.journal
                    .take_suggestion(one.id, task.id.as_str())
                    .await?;
            }
        }
        Ok(())
    }
}
