//! Task files that an agent made: what is in them are suggestions, and the files never stand in the way of a
//! later run.
//!
//! Files are set aside only where ralph alone looks: the folder of the source, the local task store, and places whose
//! names are ralph's. A `tasks.json` at the top may be what the project is about: it lands, and is no source of tasks
//! unless a person names it. `places` says which is which.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ralph_core::{
    config::TasksConfig,
    task::{format, suggested::SuggestedTask},
};

use super::{
    Source, SourceError, name_of,
    places::{NewFileRule, files_in_places, new_file_rule},
    suggestion,
};
use crate::plain_file;

/// The task files that there are, beside those of the source.
#[derive(Debug, Clone, Default)]
pub(crate) struct TaskFiles(HashSet<PathBuf>);

/// The findings when new task files were set aside.
#[derive(Debug, Default)]
pub(crate) struct NewTaskFiles {
    pub(crate) flags: Vec<String>,
    pub(crate) suggested: Vec<SuggestedTask>,
}

impl TaskFiles {
    /// Finds all but those in folders that are to be passed by.
    pub(crate) fn find(
        root: &Path,
        tasks: &TasksConfig,
        source: &Source,
        is_passed_by: impl Fn(&Path) -> bool,
    ) -> Self {
        let mut found: HashSet<PathBuf> = HashSet::new();
        let folders = folders(root, tasks, source).into_iter();
        for folder in folders.filter(|folder| !is_passed_by(folder)) {
            let names = source.list_names(&folder).map(|names| names.others);
            let names = names.unwrap_or_default().into_iter();
            found.extend(names.map(|name| folder.join(name)));
        }
        let own = files_in_places(root, |place| place.new_file == NewFileRule::SetAside);
        found.extend(own.into_iter().map(|file| file.path));
        Self(found)
    }

    /// Moves the files that were not among `known` to the logs.
    pub(crate) fn set_new_aside(
        &self,
        known: &Self,
        root: &Path,
        logs: &Path,
        iteration: u64,
    ) -> Result<NewTaskFiles, SourceError> {
        let mut found = NewTaskFiles::default();
        let mut new: Vec<&Path> = self.0.difference(&known.0).map(PathBuf::as_path).collect();
        new.sort();
        for path in new {
            let name = name_of(path, root);
            let bytes = plain_file::read(path).unwrap_or_default();
            let tasks = format::parse_loosely(&name, &bytes);
            found
                .suggested
                .extend(tasks.into_iter().map(|task| suggestion(task, &name)));
            let kept = set_aside(path, logs, iteration).map_err(|source| SourceError::Write {
                path: path.to_owned(),
                source,
            })?;
            let kept = name_of(&kept, root);
            found.flags.push(format!(
                "{name} was added, whose tasks are suggestions; it is kept as {kept}"
            ));
        }
        Ok(found)
    }
}

/// The tasks in a new file that lands although ralph would look for tasks there: suggestions.
pub(crate) fn suggested_in_content(path: &Path, bytes: &[u8]) -> Vec<SuggestedTask> {
    let suggests = new_file_rule(path) == Some(NewFileRule::Suggests);
    let Some(name) = path.to_str().filter(|_| suggests) else {
        return Vec::new();
    };
    let tasks = format::parse_loosely(name, bytes).into_iter();
    tasks.map(|task| suggestion(task, name)).collect()
}

/// Tells if ralph would look for tasks in a file with this path from the root.
pub(crate) fn is_task_place(
    path: &Path,
    tasks: &TasksConfig,
    root: &Path,
    source: &Source,
) -> bool {
    let extension = path.extension().and_then(|ending| ending.to_str());
    let is_in_folder = matches!(extension, Some("json" | "yaml" | "yml")) && {
        let whole = root.join(path);
        let folders = folders(root, tasks, source);
        folders.iter().any(|folder| whole.parent() == Some(folder))
    };
    is_in_folder || new_file_rule(path) == Some(NewFileRule::SetAside)
}

/// The folders of task files, each once.
fn folders(root: &Path, tasks: &TasksConfig, source: &Source) -> Vec<PathBuf> {
    let store = root.join(&tasks.path);
    let own = source.folder().filter(|own| *own != store);
    own.map(Path::to_owned).into_iter().chain([store]).collect()
}

/// Moves a file to the logs, under a name that is free.
fn set_aside(path: &Path, logs: &Path, iteration: u64) -> std::io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let free = |nth: u32| {
        let again = if nth == 1 {
            String::new()
        } else {
            format!("-{nth}")
        };
        logs.join(format!("iteration-{iteration}{again}.{name}"))
    };
    std::fs::create_dir_all(logs)?;
    let to = (1..).map(free).find(|to| to.symlink_metadata().is_err());
    let to = to.unwrap_or_else(|| free(1));
    if std::fs::rename(path, &to).is_err() {
        std::fs::copy(path, &to)?;
        std::fs::remove_file(path)?;
    }
    Ok(to)
}
