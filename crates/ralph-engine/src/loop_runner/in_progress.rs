//! Says in the file of a task that it is being worked on, while it is; people and other tools see it there.
//!
//! It never lands: what a task becomes is written before a commit is made, and what is not over is open again
//! at every end, and after a kill by the next start.

use std::path::PathBuf;

use ralph_core::{
    job::Job,
    task::{
        Status, Task,
        format::{self, Change, Edit, Format},
    },
};

use super::{LoopError, LoopRunner};
use crate::git::Oid;

/// The most of a task file that is read from a commit.
const MAX_BYTES: u64 = 64 * 1024 * 1024;

/// A task file that says of a task that it is in progress, and its bytes from before.
#[derive(Debug)]
pub(super) struct ProgressMark {
    task: Task,
    path: PathBuf,
    before: Vec<u8>,
    marked: Vec<u8>,
}

impl LoopRunner {
    /// Writes that a task is in progress, where its format has a word for that.
    pub(super) fn mark_in_progress(&mut self, job: &Job) -> Result<(), LoopError> {
        let task = &job.task;
        let Some((path, before)) = self.markable(task) else {
            return Ok(());
        };
        self.board
            .write_status(&task.id, Status::InProgress, None)?;
        let marked = self.board.source.bytes_of(&path).unwrap_or_default();
        self.marked = Some(ProgressMark {
            task: task.clone(),
            marked: marked.to_vec(),
            path,
            before,
        });
        Ok(())
    }

    /// The file of an open task that can say so, and its bytes.
    fn markable(&self, task: &Task) -> Option<(PathBuf, Vec<u8>)> {
        let path = self.board.file_of(&task.id)?;
        let mut files = self.board.source.files().iter();
        let file = files.find(|file| file.path == path)?;
        let has_word = matches!(file.format, Format::Native | Format::Artefacts);
        let is_open = task.status == Status::Open;
        (has_word && is_open).then(|| (path, file.bytes().to_vec()))
    }

    /// Opens the task again that was marked, if it still says so.
    pub(super) fn take_back_mark(&mut self) -> Result<(), LoopError> {
        let Some(mark) = self.marked.take() else {
            return Ok(());
        };
        let source = &mut self.board.source;
        if !source.exchange(&mark.path, &mark.marked, mark.before)? {
            self.reopen(&mark.task)?;
        }
        Ok(())
    }

    /// Opens a task again that a killed ralph left in progress.
    pub(super) async fn clear_mark(&mut self, task: &Task, base: &Oid) -> Result<(), LoopError> {
        self.board.mark(&task.id, Status::Open)?;
        let edit = Edit {
            task: task.id.clone(),
            change: Change::Status(Status::InProgress),
        };
        if let Some(path) = self.board.file_of(&task.id)
            && let Ok(inside) = path.strip_prefix(&self.place.root)
            && let Some(before) = self.place.repo.read_at(base, inside, MAX_BYTES).await?
            && let Ok(marked) = format::apply(&path.display().to_string(), &before, &[edit])
            && self.board.source.exchange(&path, &marked, before)?
        {
            return Ok(());
        }
        self.reopen(task)
    }

    fn reopen(&mut self, task: &Task) -> Result<(), LoopError> {
        self.board.write_status(&task.id, Status::Open, None)?;
        Ok(())
    }
}
