//! Opens tasks again whose work was taken back, in files that people have gone on writing in.
//!
//! Changes the status of a task that is complete, and its count of attempts, and nothing else: what a
//! person changed since stays. A file that is gone, or a task, is not brought back.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use ralph_core::task::{
    Status, Task,
    format::{self, Change, Edit},
};

use super::{super::files::instructions_path, Ground, RewriteError};
use crate::{
    source::{Source, SourceError},
    store::{ReopenedTask, RewriteBody},
};

/// A task file as it will be.
pub(super) struct TaskFile {
    /// Relative to the root.
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

/// The edits that open tasks again.
#[derive(Default)]
pub(super) struct Reopening {
    pub(super) tasks: Vec<ReopenedTask>,
    pub(super) files: Vec<TaskFile>,
    /// Instructions beside the tasks, relative to the root: a person's, and no part of the work.
    pub(super) instructions: Vec<PathBuf>,
    /// Sources that are folders, relative to the root.
    pub(super) folders: Vec<PathBuf>,
    /// Sources that are not there any more.
    pub(super) gone: Vec<String>,
}

/// Works out which of the tasks are complete now, and what their files will hold.
pub(super) fn plan(root: &Path, wanted: &[ReopenedTask]) -> Result<Reopening, RewriteError> {
    let mut reopening = Reopening::default();
    for name in sources(wanted) {
        let Some((source, tasks)) = read(root, name)? else {
            reopening.gone.push(name.to_owned());
            continue;
        };
        let ids: HashSet<&str> = wanted
            .iter()
            .filter(|one| one.source == name)
            .map(|one| one.task_id.as_str())
            .collect();
        let open = |task: &&Task| is_complete(task) && ids.contains(task.id.as_str());
        let opened: Vec<&Task> = tasks.iter().filter(open).collect();
        for (index, file) in source.files().iter().enumerate() {
            let edits: Vec<Edit> = opened
                .iter()
                .filter(|task| task.place.file as usize == index)
                .flat_map(|task| edits(task))
                .collect();
            let bytes = format::apply(&file.name, file.bytes(), &edits);
            if let Ok(path) = file.path.strip_prefix(root) {
                reopening.files.push(TaskFile {
                    path: path.to_owned(),
                    bytes: bytes.map_err(SourceError::from)?,
                });
            }
        }
        let instructions = instructions_path(&source);
        let relative = instructions.and_then(|path| Some(path.strip_prefix(root).ok()?.to_owned()));
        reopening.instructions.extend(relative);
        if source.path().is_dir() {
            let folder = source.path().strip_prefix(root).map(Path::to_owned);
            reopening.folders.extend(folder);
        }
        reopening
            .tasks
            .extend(opened.iter().map(|task| ReopenedTask {
                source: name.to_owned(),
                task_id: task.id.clone(),
                title: task.text.title.clone(),
            }));
    }
    Ok(reopening)
}

/// Writes it, whatever the files hold by now.
pub(super) fn write(root: &Path, body: &RewriteBody) -> Result<(), RewriteError> {
    for name in sources(&body.reopened) {
        let Some((mut source, tasks)) = read(root, name)? else {
            continue;
        };
        let wanted = body.reopened.iter().filter(|one| one.source == name);
        let ids: HashSet<&str> = wanted.map(|one| one.task_id.as_str()).collect();
        let opened: Vec<&Task> = tasks
            .iter()
            .filter(|task| is_complete(task) && ids.contains(task.id.as_str()))
            .collect();
        let edits: Vec<Edit> = opened.iter().flat_map(|task| edits(task)).collect();
        source.write(&edits, &|id| {
            let task = opened.iter().find(|task| task.id == *id);
            task.map(|task| task.place)
        })?;
    }
    Ok(())
}

/// Files that stay as they are while the tree goes elsewhere: ralph's own, those of the tasks among
/// them.
pub(super) fn own_paths(
    ground: &Ground<'_>,
    body: &RewriteBody,
) -> Result<Vec<PathBuf>, RewriteError> {
    let reopening = plan(ground.root, &body.reopened)?;
    Ok(reopening.own_paths(ground.own))
}

impl Reopening {
    pub(super) fn own_paths(&self, own: &[PathBuf]) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| file.path.clone());
        let instructions = self.instructions.iter().cloned();
        let tasks = files.chain(instructions);
        own.iter().cloned().chain(tasks).collect()
    }
}

fn sources(wanted: &[ReopenedTask]) -> BTreeSet<&str> {
    wanted.iter().map(|one| one.source.as_str()).collect()
}

fn read(root: &Path, name: &str) -> Result<Option<(Source, Vec<Task>)>, RewriteError> {
    let path = root.join(name);
    if !path.exists() {
        return Ok(None);
    }
    Ok(Some(Source::read(&path, root)?))
}

fn is_complete(task: &Task) -> bool {
    task.status == Status::Completed
}

/// It starts afresh: attempts are counted since a task was opened.
fn edits(task: &Task) -> Vec<Edit> {
    let mut changes = vec![Change::Status(Status::Open)];
    if task.attempts.made.is_some_and(|made| made > 0) {
        changes.push(Change::Attempts(0));
    }
    let edit = |change| Edit {
        task: task.id.clone(),
        change,
    };
    changes.into_iter().map(edit).collect()
}
