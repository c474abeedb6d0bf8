//! Files of ralph's own in the working tree: `.ralph/`, the progress file, and which paths they are.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

use ralph_core::{config::Config, memory::ProgressFeature, task::format::Format};

use super::{Board, LoopError, LoopRunner};
use crate::error::file_error;
use crate::{
    config_files::ConfigFiles,
    iteration::{DIAGNOSIS_FOLDER, LOGS},
    source::Source,
};

impl LoopRunner {
    /// Paths that are ralph's, relative to the root: never staged as an agent's work, never dirty.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        let mut own = self.source_files();
        own.extend(self.files.other_sources.iter().cloned());
        own.extend(self.files.artefacts.iter().map(|a| a.own_path().to_owned()));
        own.extend(own_files(
            &self.settings.config,
            &self.files.config_files,
            &self.place.root,
        ));
        own
    }

    /// The files of the board's tasks, relative to the root.
    pub(super) fn source_files(&self) -> Vec<PathBuf> {
        let files = self.board.source.files().iter();
        files
            .filter_map(|f| {
                f.path
                    .strip_prefix(&self.place.root)
                    .ok()
                    .map(Path::to_owned)
            })
            .collect()
    }

    /// Takes away what a killed ralph was writing.
    pub(super) fn sweep(&self) -> Result<(), LoopError> {
        let tasks = self.board.source.files().iter().map(|f| f.path.clone());
        let folders: HashSet<PathBuf> = tasks
            .chain(self.files.config_files.paths())
            .filter_map(|f| Some(f.canonicalize().unwrap_or(f).parent()?.to_owned()))
            .collect();
        for folder in folders {
            crate::atomic::sweep(&folder).map_err(|e| file_error("look through", &folder, e))?;
        }
        Ok(())
    }

    pub(super) fn ensure_dot_ralph(&self) -> Result<(), LoopError> {
        crate::dot_ralph::ensure(&self.place.root).map_err(|source| LoopError::File {
            what: "make",
            path: self.place.root.join(".ralph"),
            source,
        })
    }

    pub(super) fn feature(&self) -> ProgressFeature {
        feature(&self.board, &self.place.root)
    }
}

/// Returns what a loop is about: names the branch and the progress file.
pub(super) fn feature(board: &Board, root: &Path) -> ProgressFeature {
    let meta = board.source.meta();
    let parent = board.parent();
    let folder = root.file_name().map(|n| n.to_string_lossy().into_owned());
    let name = parent
        .map(|t| t.text.title.clone())
        .or(meta.project)
        .or(meta.title)
        .or(folder)
        .unwrap_or_else(|| "project".into());
    ProgressFeature {
        name,
        parent: parent.map(|t| t.id.to_string()),
    }
}

/// The project's own template of a prompt, where it has one.
pub(crate) const TEMPLATE: &str = ".ralph/prompts/iteration.md";
/// The instructions of a person to every agent, beside a PRD.
const INSTRUCTIONS: &str = "PROMPT.md";

/// Where the instructions of a PRD are, if there are any. Other sources have none.
pub(super) fn instructions_path(source: &Source) -> Option<PathBuf> {
    let [file] = source.files() else {
        return None;
    };
    (file.format == Format::Prd).then(|| file.path.with_file_name(INSTRUCTIONS))
}

/// Refuses configured paths that name something else than what ralph would write there: nothing of a
/// person's is ever moved out of the way for it.
pub(super) fn refuse_wrong_paths(config: &Config, root: &Path) -> Result<(), LoopError> {
    let wrong = |key, path: &Path, problem| LoopError::ConfiguredPath {
        key,
        path: path.to_owned(),
        problem,
    };
    let files = [
        ("memory.progress_file", Some(&config.memory.progress_file)),
        ("tasks.parent_id_file", Some(&config.tasks.parent_id_file)),
        (
            "economics.prices_file",
            config.economics.prices_file.as_ref(),
        ),
    ];
    for (key, path) in files {
        let Some(path) = path else { continue };
        if root.join(path).is_dir() {
            return Err(wrong(key, path, "is a folder, not a file"));
        }
    }
    let archive = &config.memory.archive_dir;
    if root.join(archive).exists() && !root.join(archive).is_dir() {
        return Err(wrong("memory.archive_dir", archive, "is not a folder"));
    }
    Ok(())
}

/// The same without the task files.
pub(super) fn own_files(config: &Config, config_files: &ConfigFiles, root: &Path) -> Vec<PathBuf> {
    let mut own = vec![
        config.memory.progress_file.clone(),
        config.memory.archive_dir.clone(),
        PathBuf::from(LOGS),
        PathBuf::from(DIAGNOSIS_FOLDER),
        PathBuf::from(".ralph/.gitignore"),
        config.tasks.parent_id_file.clone(),
    ];
    own.extend(of_projects(root));
    let configs = config_files.paths();
    own.extend(configs.filter_map(|f| f.strip_prefix(root).ok().map(Path::to_owned)));
    own
}

/// Returns what ralph and its agents write down about artefacts projects: it is no work of any loop.
fn of_projects(root: &Path) -> Vec<PathBuf> {
    let folders = std::fs::read_dir(root.join(PROJECTS)).into_iter().flatten();
    let folders =
        folders.filter_map(|entry| Some(Path::new(PROJECTS).join(entry.ok()?.file_name())));
    folders
        .flat_map(|folder| KEPT.map(|name| folder.join(name)))
        .collect()
}

const PROJECTS: &str = ".artefacts";
const KEPT: [&str; 4] = ["tasks.json", "state.json", "obstacles.json", "results.md"];
