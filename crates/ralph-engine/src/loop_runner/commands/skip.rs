//! `skip`: a task that is not to be done, and why, in its file and for those that wait for it.

use ralph_core::{
    sanitize,
    task::{Status, Task, TaskId, format::Change},
};

use super::{CommandExecutor, CommandOutcome, CommandRefusal, note_of, with_line};
use crate::store::{CommandRow, TaskHistory};

/// Tasks that are named as waiting for the skipped one.
const MOST_NAMED: usize = 5;

impl CommandExecutor<'_> {
    pub(super) async fn skip(
        &mut self,
        row: &CommandRow,
        id: &TaskId,
        reason: &str,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let task = self.task(id)?;
        let reason = sanitize::fold(reason);
        let note = format!("{}: {reason}", note_of(row, "Skipped"));
        let notes = task.text.notes.as_deref();
        let noted = notes.is_some_and(|notes| notes.contains(&note));
        match task.status {
            Status::Completed => {
                return Err(CommandRefusal::refused(format!(
                    "{id} is complete: there is nothing to skip"
                )));
            }
            Status::Skipped if !noted => {
                return Err(CommandRefusal::refused(format!("{id} is skipped already")));
            }
            Status::Skipped
            | Status::Open
            | Status::InProgress
            | Status::Blocked
            | Status::Failed => {}
        }
        let mut changes = vec![Change::Status(Status::Skipped)];
        if !noted {
            changes.push(Change::Notes(with_line(notes, &note)));
        }
        let title = format!("skip {id}");
        let written = self.write(&task, changes, (&title, &reason)).await?;
        let waiting = self.waiting_for(&task);
        let mut outcome = CommandOutcome::saying(format!("{id} is skipped: {reason}{written}"));
        if !waiting.is_empty() {
            outcome.sentence.push_str(&format!(
                "; {} depends on it and can't be taken",
                waiting.join(", ")
            ));
            outcome.hint = Some(
                "skip what depends on it too, or take the dependency out of its task".to_owned(),
            );
        }
        let before = self.board.state(id).cloned().unwrap_or_default();
        let state = TaskHistory {
            kept_ref: before.kept_ref,
            skipped: Some(reason),
            ..TaskHistory::default()
        };
        outcome.effects.states.push((id.clone(), state));
        outcome.effects.answered = self
            .closed_question(row, id, super::answer::skipped)
            .await?;
        Ok(outcome)
    }

    /// Tasks that wait for this one, which is never complete now.
    fn waiting_for(&self, task: &Task) -> Vec<String> {
        let dependants = self.board.graph().dependants(&task.id);
        let waiting = dependants.filter(|t| t.status.is_workable());
        let mut named: Vec<String> = waiting.map(|t| t.id.to_string()).collect();
        let more = named.len().saturating_sub(MOST_NAMED);
        named.truncate(MOST_NAMED);
        if more > 0 {
            named.push(format!("{more} more"));
        }
        named
    }
}
