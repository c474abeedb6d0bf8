//! A task for a person, in the file of the tasks: a person has to look at one that is stuck.
//!
//! Blocked from the start, so that no agent is ever given it. Written twice it is the same.

use ralph_core::{
    gutter::Gutter,
    task::{
        FOR_PERSON, Status, TaskId,
        format::{Change, NewTask},
    },
};

use super::super::{LoopError, LoopRunner};
use crate::source::{Source, SourceError};

impl LoopRunner {
    /// Adds `HUMAN-<task>`. A file that can't take one more task is said, and no reason to stop.
    pub(super) fn add_human_task(
        &mut self,
        task: &TaskId,
        gutter: &Gutter,
    ) -> Result<(), LoopError> {
        let Ok(id) = TaskId::parse(&format!("{FOR_PERSON}{task}")) else {
            return Ok(());
        };
        self.reread_tasks()?;
        if self.board.task(&id).is_none() {
            match self.board.source.add(&new_task(&id, task, gutter)) {
                Ok(_) => self.reread()?,
                Err(error @ (SourceError::Format(_) | SourceError::Exists { .. })) => {
                    self.warn(format!("no task for a person could be added: {error}"));
                    return Ok(());
                }
                Err(other) => return Err(other.into()),
            }
        }
        self.board
            .edit(&id, vec![Change::Status(Status::Blocked)])?;
        self.reread()
    }

    pub(in crate::loop_runner) fn reread(&mut self) -> Result<(), LoopError> {
        let (source, tasks) = Source::read(self.board.source.path(), &self.place.root)?;
        self.board.replace_tasks(source, tasks)
    }
}

fn new_task(id: &TaskId, stuck: &TaskId, gutter: &Gutter) -> NewTask {
    NewTask {
        id: id.clone(),
        title: format!("Human intervention required: {stuck}"),
        description: format!(
            "{}. `ralph escalations` shows the question with what was found out, `ralph answer {stuck}` \
             answers it. No agent is given this task: `ralph tasks done {id}` when {stuck} is settled.",
            gutter.sentence()
        ),
        acceptance: Vec::new(),
        verify: Vec::new(),
        depends_on: Vec::new(),
        labels: Vec::new(),
        priority: None,
    }
}
