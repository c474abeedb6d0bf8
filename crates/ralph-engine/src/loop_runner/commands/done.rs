//! `tasks done`: a task that a person has done, in its file and in the journal.

use ralph_core::{
    sanitize,
    task::{Status, TaskId, format::Change},
};

use super::{CommandExecutor, CommandOutcome, CommandRefusal, note_of, with_line};
use crate::store::{CommandRow, TaskHistory};

impl CommandExecutor<'_> {
    pub(super) async fn done(
        &mut self,
        row: &CommandRow,
        id: &TaskId,
        note: Option<&str>,
    ) -> Result<CommandOutcome, CommandRefusal> {
        let task = self.task(id)?;
        if !self.board.graph().is_leaf(id) {
            return Err(CommandRefusal::refused(format!(
                "task {id} is a container: it is done when all tasks in it are"
            )));
        }
        let mut line = note_of(row, "Done");
        if let Some(note) = note {
            line.push_str(&format!(": {}", sanitize::fold(note)));
        }
        let notes = task.text.notes.as_deref();
        let noted = notes.is_some_and(|notes| notes.lines().any(|known| known == line));
        // Noted: this very command was carried out before a crash.
        if task.status == Status::Completed && !noted {
            return Err(CommandRefusal::hinted(
                format!("{id} is complete already"),
                "open it again in its file if it has to be done again",
            ));
        }
        let mut changes = vec![Change::Status(Status::Completed)];
        if !noted {
            changes.push(Change::Notes(with_line(notes, &line)));
        }
        let title = format!("{id} is done");
        let written = self.write(&task, changes, (&title, &line)).await?;
        let for_person = id.is_for_person();
        let by = if for_person {
            ""
        } else {
            "; no command verified it"
        };
        let mut outcome = CommandOutcome::saying(format!("{id} is done{by}{written}"));
        let before = self.board.state(id).cloned().unwrap_or_default();
        let state = TaskHistory {
            kept_ref: before.kept_ref,
            unverified: !for_person,
            ..TaskHistory::default()
        };
        outcome.effects.states.push((id.clone(), state));
        outcome.effects.answered = self.closed_question(row, id, super::answer::done).await?;
        Ok(outcome)
    }
}
