//! `retry` and `unblock`: a task that is held back is open again, with all its attempts.

use ralph_core::task::{Status, Task, TaskId, format::Change};

use super::{CommandExecutor, CommandOutcome, CommandRefusal};
use crate::store::{CommandRow, NewGuidance};

impl CommandExecutor<'_> {
    pub(super) async fn retry(
        &mut self,
        row: &CommandRow,
        id: &TaskId,
        feedback: Option<&str>,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let task = self.leaf(id)?;
        let mut outcome = self.open(row, &task).await?;
        if let Some(text) = feedback {
            outcome
                .sentence
                .push_str("; the next prompt has what you say");
            outcome.effects.guidance.push(NewGuidance {
                task: Some(id.clone()),
                text: text.to_owned(),
                who: row.who.clone(),
                at: row.at,
                iteration: None,
            });
        }
        outcome.effects.answered = self
            .closed_question(row, id, super::answer::retried)
            .await?;
        Ok(outcome)
    }

    pub(super) async fn unblock(
        &mut self,
        row: &CommandRow,
        id: &TaskId,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let task = self.leaf(id)?;
        let state = self.board.state(id);
        if state.is_some_and(|s| s.question.is_some()) {
            return Err(CommandRefusal::hinted(
                format!("{id} is not blocked: it waits for an answer"),
                format!(
                    "`ralph answer {id}` answers, `ralph retry --task {id}` tries again without"
                ),
            ));
        }
        let blocked = state.is_some_and(|s| s.blocked.is_some());
        match task.status {
            Status::Blocked | Status::Failed => {}
            Status::Open | Status::InProgress if blocked => {}
            Status::Open | Status::InProgress => {
                return Err(CommandRefusal::refused(format!("{id} is not blocked")));
            }
            Status::Skipped | Status::Completed => {
                return Err(CommandRefusal::hinted(
                    format!("{id} is not blocked, it is {}", task.status),
                    format!("`ralph retry --task {id}` opens a skipped task again"),
                ));
            }
        }
        self.open(row, &task).await
    }

    fn leaf(&self, id: &TaskId) -> Result<Task, CommandRefusal> {
        let task = self.task(id)?;
        if !self.board.graph().is_leaf(id) {
            return Err(CommandRefusal::refused(format!(
                "task {id} is a container: its leaves are worked on, not itself"
            )));
        }
        if id.is_for_person() {
            return Err(CommandRefusal::hinted(
                format!("{id} is for a person: no agent is given it"),
                format!(
                    "`ralph tasks done {id}` when it is done, `ralph skip --task {id} --reason TEXT` \
                     if it is not to be done"
                ),
            ));
        }
        if task.status == Status::Completed {
            return Err(CommandRefusal::hinted(
                format!("{id} is complete"),
                "open it again in its file if it has to be done again",
            ));
        }
        Ok(task)
    }

    /// Opens a task in its file where that says otherwise, and forgets its attempts.
    async fn open(
        &mut self,
        row: &CommandRow,
        task: &Task,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let id = &task.id;
        let mut changes = Vec::new();
        if task.status.is_stuck() {
            changes.push(Change::Status(Status::Open));
        }
        if task.attempts.made.is_some_and(|made| made > 0) {
            changes.push(Change::Attempts(0));
        }
        let mut written = String::new();
        if !changes.is_empty() {
            let title = format!("open {id} again");
            let body = format!("Asked for by {}.", row.who);
            written = self.write(task, changes, (&title, &body)).await?;
        }
        let sentence = format!("{id} is open, with all its attempts{written}");
        let mut outcome = CommandOutcome::saying(sentence);
        outcome.effects.states.push((id.clone(), self.opened(id)));
        Ok(outcome)
    }
}
